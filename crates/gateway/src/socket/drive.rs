//! The driver of one socket: reads, writes, pings and closes, and decides nothing.
//!
//! Promises: what the session gives is sent and what the program says reaches the session, in order; a
//! program that is silent, does not read, or sends what is not a frame loses its socket with a code and a
//! sentence. A frame that is wrong only for its task costs that task alone.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Caller;
use agentsite_protocol::agent_session::{
    AGENT_SESSION_VERSION, AgentUrls, BadFrame, FrameId, FromAgent, FromSite, Introduction, MAX_FRAME,
    Welcome,
};
use agentsite_site::{AgentSession, ConnectedAgent, SessionEnd};
use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use tokio::time::{Instant, MissedTickBehavior, interval_at, timeout};
use tokio_tungstenite::tungstenite::{self, Message, Utf8Bytes};

use super::FRAME_MARGIN;
use super::inlet;
use super::pace::Pace;
use crate::failure::{Closing, Failure, Fault};
use crate::front::Front;
use crate::meter::{Meter, Overrun};
use crate::metrics::RefusalReason;
use crate::shares::Share;

/// How often a program is asked whether it is still there; shorter than the minute after which home routers
/// forget a connection.
const PING_EVERY: Duration = Duration::from_secs(20);

/// How long nothing may be heard, and how long a frame may take to be sent: three pings unanswered.
const SILENCE: Duration = Duration::from_secs(60);

/// Bytes of a message above which its buffer is not kept.
const LARGE: usize = 16 << 10;

/// How long the other end may take to agree that the socket is closed.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Why a conversation is over: closed by this end with a reason, or by the other.
type Over = Option<Closing>;

/// The driver of one socket.
pub(super) struct Drive {
    front: Arc<Front>,
    /// `None` for a moment while it gets new buffers.
    socket: Option<Socket>,
    /// Counts what the program sends.
    meter: Arc<Meter>,
    /// The places among those that have not registered; given back when the program has.
    newcomer: Vec<Share>,
    pace: Pace,
    heard: Instant,
}

/// The socket of a program.
type Socket = inlet::Socket<TokioIo<Upgraded>>;

impl Drive {
    pub(super) fn new(front: Arc<Front>, socket: Socket, meter: Arc<Meter>, newcomer: Vec<Share>) -> Self {
        let now = Instant::now();
        Self { front, socket: Some(socket), meter, newcomer, pace: Pace::new(now), heard: now }
    }

    /// Speaks with the program until one of the two ends it.
    pub(super) async fn run(mut self, caller: Caller, base: String) {
        let over = match self.meet(&caller, &base).await {
            Ok(mut session) => {
                let over = self.converse(&mut session).await;
                // Tasks learn of the end before the other end does.
                drop(session);
                over
            }
            Err(over) => over,
        };
        let Some(closing) = over else {
            // The other end closes: it is answered, so that it need not wait.
            drop(timeout(LAST_WORDS, self.receive()).await);
            return;
        };
        tracing::debug!(code = closing.code(), reason = %closing.sentence(), "a socket is closed");
        let farewell = async {
            let Some(socket) = &mut self.socket else { return };
            if socket.send(Message::Close(Some(closing.frame()))).await.is_ok() {
                while let Some(Ok(_)) = socket.next().await {}
            }
        };
        // Whether the other end agrees or not, the socket is closed.
        drop(timeout(LAST_WORDS, farewell).await);
    }

    /// Learns who the program is and makes it an agent.
    async fn meet(&mut self, caller: &Caller, base: &str) -> Result<AgentSession, Over> {
        let (id, introduction) =
            match timeout(self.front.settings.limits.register_time, self.introduction()).await {
                Ok(met) => met?,
                Err(_) => {
                    self.front.settings.metrics.refused(RefusalReason::Unregistered);
                    return Err(Some(Closing::NoIntroduction));
                }
            };
        self.renew().await?;
        self.meter.settle();
        match self.front.site.connected().connect(caller, *introduction).await {
            Ok(ConnectedAgent { name, resume, lease, warnings, session }) => {
                self.newcomer.clear();
                self.meter.allow(MAX_FRAME + FRAME_MARGIN);
                let urls = AgentUrls { a2a: format!("{base}/a2a/{name}"), mcp: format!("{base}/mcp/{name}") };
                let lease_seconds = lease.as_secs();
                let welcome =
                    Welcome { protocol: AGENT_SESSION_VERSION, name, urls, lease_seconds, resume, warnings };
                self.say(&FromSite::Welcome { id, welcome: Box::new(welcome) }).await?;
                Ok(session)
            }
            Err(error) => {
                let failure = Failure::from(error);
                self.refuse(&failure, Some(&id)).await?;
                let is_full = failure.fault == Fault::QuotaExceeded;
                let sentence = failure.sentence.into_owned();
                Err(Some(if is_full { Closing::Full(sentence) } else { Closing::Refused(sentence) }))
            }
        }
    }

    async fn introduction(&mut self) -> Result<(FrameId, Box<Introduction>), Over> {
        let text = loop {
            if let Some(text) = self.hear().await? {
                break text;
            }
        };
        match FromAgent::read(text.as_bytes()) {
            Ok(FromAgent::Register { id, introduction }) => Ok((id, introduction)),
            Ok(_) => Err(Some(Closing::NoIntroduction)),
            Err(BadFrame::NoFrame(what)) => Err(Some(Closing::NoFrame(what))),
            Err(BadFrame::Params { id, what, .. }) => {
                self.refuse(&Failure::new(Fault::BadParams, what.clone()), id.as_ref()).await?;
                Err(Some(Closing::Refused(what)))
            }
        }
    }

    /// Passes on what is said, both ways.
    async fn converse(&mut self, session: &mut AgentSession) -> Over {
        let mut ping = interval_at(Instant::now() + PING_EVERY, PING_EVERY);
        ping.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let front = Arc::clone(&self.front);
        loop {
            let done = tokio::select! {
                frame = session.next() => match frame {
                    Ok(frame) => self.send(Message::Text(frame.into())).await,
                    Err(end) => return Some(Closing::Ended(end)),
                },
                heard = self.hear() => match heard {
                    Ok(Some(text)) => {
                        let mut taken = self.take(session, &text).await;
                        let is_large = text.len() > LARGE;
                        drop(text);
                        if is_large && taken.is_ok() {
                            taken = self.renew().await;
                        }
                        self.meter.settle();
                        taken
                    }
                    Ok(None) => Ok(()),
                    Err(over) => return over,
                },
                _ = ping.tick() => {
                    if self.heard.elapsed() > SILENCE {
                        return Some(Closing::Silent);
                    }
                    self.send(Message::Ping(bytes::Bytes::new())).await
                }
                () = front.closing.cancelled() => return Some(Closing::Ended(SessionEnd::Stopping)),
            };
            if let Err(over) = done {
                return over;
            }
        }
    }

    /// Takes one frame of the program.
    async fn take(&mut self, session: &AgentSession, text: &str) -> Result<(), Over> {
        if let Some(wait) = self.pace.frame(Instant::now()) {
            tokio::time::sleep(wait).await;
        }
        match FromAgent::read(text.as_bytes()) {
            Ok(FromAgent::Unknown { id: Some(id), method }) => {
                let sentence = format!("this site does not know `{method}`");
                self.refuse(&Failure::new(Fault::NoSuchMethod, sentence), Some(&id)).await
            }
            Ok(frame) => match session.receive(frame).await {
                Some(answer) => self.say(&answer).await,
                None => Ok(()),
            },
            Err(BadFrame::NoFrame(what)) => Err(Some(Closing::NoFrame(what))),
            Err(BadFrame::Params { task: Some(task), what, .. }) => {
                session.reject_frame(task, what).await;
                Ok(())
            }
            Err(BadFrame::Params { task: None, id, what }) => {
                self.refuse(&Failure::new(Fault::BadParams, what), id.as_ref()).await
            }
        }
    }

    /// Waits for the next text; `None` for a frame without one. Cancellation safe.
    async fn hear(&mut self) -> Result<Option<Utf8Bytes>, Over> {
        let received = self.receive().await;
        self.heard = Instant::now();
        match received {
            Some(Ok(Message::Text(text))) if text.len() > MAX_FRAME => Err(Some(Closing::TooLarge)),
            Some(Ok(Message::Text(text))) => Ok(Some(text)),
            // A bare frame is never given by the library.
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Ok(None),
            Some(Ok(Message::Binary(_))) => Err(Some(Closing::NotText)),
            Some(Ok(Message::Close(_))) | None => Err(None),
            // A frame that is larger than can be read, or a connection that broke: then no program hears the
            // reason.
            Some(Err(_)) => Err(Some(match self.meter.overrun() {
                Some(Overrun::NoRoom) => {
                    self.front.settings.metrics.refused(RefusalReason::SocketMemory);
                    Closing::Busy
                }
                Some(Overrun::TooLarge) | None => Closing::TooLarge,
            })),
        }
    }

    async fn receive(&mut self) -> Option<Result<Message, tungstenite::Error>> {
        self.socket.as_mut()?.next().await
    }

    /// Gives the socket new buffers: the library would keep the large one for as long as the socket lives.
    async fn renew(&mut self) -> Result<(), Over> {
        // An answer to a ping may wait to be sent.
        let flushed = match &mut self.socket {
            Some(socket) => timeout(SILENCE, socket.flush()).await,
            None => return Err(None),
        };
        match flushed {
            Ok(Ok(())) => {}
            Ok(Err(_)) => return Err(None),
            Err(_) => return Err(Some(Closing::Ended(SessionEnd::Overflow))),
        }
        if let Some(socket) = self.socket.take() {
            self.socket = Some(inlet::anew(socket).await);
        }
        Ok(())
    }

    async fn say(&mut self, frame: &FromSite) -> Result<(), Over> {
        match frame.write() {
            Some(text) => self.send(Message::Text(text.into())).await,
            None => Ok(()),
        }
    }

    async fn refuse(&mut self, failure: &Failure, id: Option<&FrameId>) -> Result<(), Over> {
        let id = id.map_or_else(|| "null".to_owned(), ToString::to_string);
        let text = String::from_utf8_lossy(&failure.rpc_body(&id)).into_owned();
        self.send(Message::Text(text.into())).await
    }

    async fn send(&mut self, message: Message) -> Result<(), Over> {
        let Some(socket) = &mut self.socket else { return Err(None) };
        match timeout(SILENCE, socket.send(message)).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(None),
            Err(_) => Err(Some(Closing::Ended(SessionEnd::Overflow))),
        }
    }
}
