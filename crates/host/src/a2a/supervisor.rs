//! Supervisor: the driver that keeps an agent reachable and reports its health.
//!
//! Promises: it alone starts, probes and stops the agent's server, and it alone writes the standing. It
//! decides nothing itself: `supervision` does. Stopping it ends the server with it.

use std::time::Duration;

use agentsite_client::{A2aClient, Binding, ClientError, Dialect, Token};
use agentsite_egress::{Circuits, Egress};
use agentsite_protocol::Period;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::server::{Server, ServerCommand};
use crate::child::{Bulletin, Supervision, Watch, bulletin};
use crate::{AgentLog, LogSource};

/// How often the card of an agent elsewhere is fetched again: its skills change rarely.
const REFRESH: Duration = Duration::from_secs(300);

/// How often our own server is probed for its card; also the pause after a missed probe.
const PROBE: Duration = Duration::from_secs(10);

/// Between two looks at a server that is starting; doubled each time up to [`SLOWEST_LOOK`].
const FIRST_LOOK: Duration = Duration::from_millis(50);
const SLOWEST_LOOK: Duration = Duration::from_millis(500);

/// How the agent is had.
#[derive(Debug)]
pub(super) enum AgentLocation {
    /// It lives elsewhere.
    Elsewhere {
        /// At this address.
        card: Url,
        /// And at this one, by JSON-RPC, when that does not answer.
        second_way: Option<Url>,
    },
    /// We start it.
    Here(Box<ServerCommand>),
}

/// How the agent is called, wherever it is.
#[derive(Debug)]
pub(super) struct AgentAccess {
    pub(super) egress: Egress,
    pub(super) circuits: Circuits,
    pub(super) token: Option<Token>,
    /// The only binding that is used, if one was chosen.
    pub(super) binding: Option<Binding>,
}

impl AgentAccess {
    /// The client of an agent elsewhere. Where it has a second way, requests go both ways: first the one by
    /// which its card came.
    async fn elsewhere(&self, card: &Url, second_way: Option<&Url>) -> Result<A2aClient, ClientError> {
        let found = A2aClient::resolve(&self.egress, card, self.token.clone()).await;
        let Some(second) = second_way else { return self.ready(found?) };
        let (client, is_first) = match found {
            Ok(client) => (client, false),
            Err(error) => {
                tracing::info!(%error, %second, "the agent is asked for its card by its second way");
                let found = A2aClient::resolve(&self.egress, second, self.token.clone()).await;
                (found.map_err(|_| error)?, true)
            }
        };
        self.ready(client.also_at(Dialect::JsonRpc, second.clone(), is_first))
    }

    /// The client of a server that we started.
    async fn here(&self, origin: &Url) -> Result<A2aClient, ClientError> {
        let egress = self.egress.trusting(origin);
        self.ready(A2aClient::resolve_at(&egress, origin, self.token.clone()).await?)
    }

    fn ready(&self, client: A2aClient) -> Result<A2aClient, ClientError> {
        let client = client.with_circuits(self.circuits.clone());
        match self.binding {
            Some(binding) => client.only(binding),
            None => Ok(client),
        }
    }
}

/// Keeps one agent reachable.
#[derive(Debug)]
pub(super) struct Supervisor {
    way: AgentLocation,
    approach: AgentAccess,
    start_timeout: Duration,
    bulletin: Bulletin<A2aClient>,
    log: AgentLog,
    stop: CancellationToken,
    supervision: Supervision,
    began: Instant,
    server: Option<Server>,
}

impl Supervisor {
    /// A supervisor that has not begun, and where its findings can be read.
    pub(super) fn new(
        way: AgentLocation,
        approach: AgentAccess,
        start_timeout: Duration,
        log: AgentLog,
        stop: CancellationToken,
    ) -> (Self, Watch<A2aClient>) {
        let (bulletin, watch) = bulletin(&log);
        let (supervision, began) = (Supervision::default(), Instant::now());
        let server = None;
        (Self { way, approach, start_timeout, bulletin, log, stop, supervision, began, server }, watch)
    }

    /// Works until it is stopped.
    pub(super) async fn run(mut self) {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => {}
            () = self.keep() => {}
        }
        self.bulletin.down("it was stopped".into());
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
    }

    async fn keep(&mut self) {
        match &self.way {
            AgentLocation::Elsewhere { card, second_way } => {
                let (card, second_way) = (card.clone(), second_way.clone());
                loop {
                    let wait = self.visit(&card, second_way.as_ref()).await;
                    tokio::time::sleep(wait).await;
                }
            }
            AgentLocation::Here(_) => loop {
                let reason = self.serve().await;
                if let Some(server) = self.server.take() {
                    server.stop().await;
                }
                let wait = self.supervision.lost(self.began.elapsed());
                self.fall(&reason, wait, "started");
                tokio::time::sleep(wait).await;
            },
        }
    }

    /// Asks an agent elsewhere for its card; gives the time until the next visit.
    async fn visit(&mut self, card: &Url, second_way: Option<&Url>) -> Duration {
        match self.approach.elsewhere(card, second_way).await {
            Ok(client) => {
                self.rise(client);
                REFRESH
            }
            Err(error) if self.supervision.missed() => {
                let wait = self.supervision.lost(self.began.elapsed());
                self.fall(&error.to_string(), wait, "asked");
                wait
            }
            Err(error) => {
                self.note(&format!("its card cannot be fetched: {error}; next attempt in {}", Period(PROBE)));
                PROBE
            }
        }
    }

    /// Starts our server and watches it until it is lost; says why it is.
    async fn serve(&mut self) -> String {
        let AgentLocation::Here(command) = &self.way else { return "it lives elsewhere".into() };
        self.bulletin.starting();
        match command.start(&self.log).await {
            Ok(server) => self.server = Some(server),
            Err(error) => return command.why_not(&error),
        }
        match self.first_answer().await {
            Ok(client) => {
                self.rise(client);
                self.watch().await
            }
            Err(reason) => reason,
        }
    }

    /// Waits until the server's card answers.
    async fn first_answer(&mut self) -> Result<A2aClient, String> {
        let patience = Instant::now() + self.start_timeout;
        let mut pause = FIRST_LOOK;
        loop {
            let error = match self.probe().await? {
                Ok(client) => return Ok(client),
                Err(error @ (ClientError::BadAnswer { .. } | ClientError::Unsupported(_))) => {
                    return Err(error.to_string());
                }
                Err(error) => error,
            };
            if Instant::now() + pause > patience {
                let limit = Period(self.start_timeout);
                return Err(format!("its server did not show its card within {limit}: {error}; see its log"));
            }
            self.pause(pause).await?;
            pause = (pause * 2).min(SLOWEST_LOOK);
        }
    }

    /// Asks the server now and then until it is lost; says why it is.
    async fn watch(&mut self) -> String {
        loop {
            if let Err(ended) = self.pause(PROBE).await {
                return ended;
            }
            match self.probe().await {
                Ok(Ok(client)) => self.rise(client),
                Ok(Err(error)) if self.supervision.missed() => {
                    return format!("its server does not answer: {error}");
                }
                Ok(Err(error)) => self.note(&format!("its server missed a health check: {error}")),
                Err(ended) => return ended,
            }
        }
    }

    /// Asks our server for its card; the outer error is that it ended.
    async fn probe(&mut self) -> Result<Result<A2aClient, ClientError>, String> {
        let server = self.server.as_mut().ok_or("its server is gone")?;
        let origin = server.origin().clone();
        let asking = self.approach.here(&origin);
        tokio::select! {
            biased;
            ended = server.ended() => Err(ended),
            found = asking => Ok(found),
        }
    }

    /// Waits, unless our server ends meanwhile.
    async fn pause(&mut self, wait: Duration) -> Result<(), String> {
        let server = self.server.as_mut().ok_or("its server is gone")?;
        tokio::select! {
            ended = server.ended() => Err(ended),
            () = tokio::time::sleep(wait) => Ok(()),
        }
    }

    fn rise(&mut self, client: A2aClient) {
        self.supervision.answered(self.began.elapsed());
        self.bulletin.ready(client);
    }

    fn fall(&self, reason: &str, wait: Duration, again: &str) {
        if let AgentLocation::Here(command) = &self.way
            && let Some(missing) = command.missing()
        {
            self.note(&missing);
            tracing::warn!("the agent needs setup: {missing}");
            return self.bulletin.needs(missing);
        }
        let told = format!("{reason}; it is {again} again in {}", Period(wait));
        self.note(&told);
        tracing::warn!("the agent is down: {told}");
        self.bulletin.down(told);
    }

    fn note(&self, text: &str) {
        self.log.push(LogSource::Site, text);
    }
}
