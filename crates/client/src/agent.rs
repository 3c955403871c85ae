//! Be an agent: makes this program an agent of a site by connecting to it, from anywhere and without an open
//! port.
//!
//! Promises: [`Agent::serve`] connects, works, and connects again when the connection is lost, waiting longer
//! each time; it comes back only when the site will not have the agent. Work is dropped when its connection
//! is lost or its caller gave it up. The protocol is `protocol::agent_session`.
//!
//! It does not store the resume token: a program that is started again takes its place by its key.

mod session;
mod work;

#[cfg(test)]
mod tests;

use std::future::Future;
use std::hash::{BuildHasher as _, RandomState};
use std::sync::Arc;
use std::time::Duration;

use agentsite_egress::{Egress, EgressError};
use agentsite_protocol::agent_session::{Assignment, Introduction, Welcome};
use agentsite_protocol::{AgentName, Skill, Visibility};
use futures::future::BoxFuture;
use url::Url;

use crate::Token;
use session::Session;

pub use agentsite_protocol::agent_session::{Ending, EndingWay};
pub use work::{Stopped, Work};

/// Where a site takes programs in.
const PATH: &str = "ws/agent";

/// Shortest and longest wait before the next attempt; a site is back after a restart within seconds.
const BACK_OFF: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

/// An agent that this program provides.
pub struct Agent {
    introduction: Introduction,
    news: Option<Listener>,
}

impl std::fmt::Debug for Agent {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Agent").field("introduction", &self.introduction).finish_non_exhaustive()
    }
}

/// What happens to the connection.
#[derive(Debug)]
pub enum News<'a> {
    /// The site took the agent in.
    Connected(&'a Welcome),
    /// The connection was lost or failed; the next attempt is made after this time.
    Lost(&'a AgentError, Duration),
    /// The site says something that people should look at.
    Notice(&'a str),
}

/// Why a program is not an agent of a site.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    /// The site refuses it; the text is the site's.
    #[error("{0}")]
    Refused(String),
    /// The connection ended.
    #[error("the connection ended: {0}")]
    Closed(String),
    /// No connection was established.
    #[error(transparent)]
    Egress(#[from] EgressError),
}

impl AgentError {
    /// Whether it would be the same the next time.
    #[must_use]
    pub const fn is_lasting(&self) -> bool {
        use EgressError::{Address, Private, Settings};
        matches!(self, Self::Refused(_) | Self::Egress(Address { .. } | Private { .. } | Settings(_)))
    }
}

/// Gets the events of the connection.
type Listener = Box<dyn Fn(News<'_>) + Send + Sync>;

/// What does the work.
pub(crate) type Handler = Arc<dyn Fn(Assignment, Work) -> BoxFuture<'static, Ending> + Send + Sync>;

impl Agent {
    /// An agent of this name; `description` says in a sentence what it does.
    #[must_use]
    pub fn new(name: AgentName, description: impl Into<String>) -> Self {
        Self { introduction: Introduction::new(name, description), news: None }
    }

    /// An agent that says this of itself.
    #[must_use]
    pub const fn introduced(introduction: Introduction) -> Self {
        Self { introduction, news: None }
    }

    /// Something that it can do.
    #[must_use]
    pub fn skill(mut self, skill: Skill) -> Self {
        self.introduction.skills.push(skill);
        self
    }

    /// Who may find and call it; only admins and its owner by default.
    #[must_use]
    pub const fn visibility(mut self, visibility: Visibility) -> Self {
        self.introduction.visibility = visibility;
        self
    }

    /// Tasks that it works on at once.
    #[must_use]
    pub const fn concurrency(mut self, tasks: usize) -> Self {
        self.introduction.concurrency = Some(tasks);
        self
    }

    /// How often a task is begun again when its connection was lost.
    #[must_use]
    pub const fn retry(mut self, times: u32) -> Self {
        self.introduction.retry = times;
        self
    }

    /// Gets the events of the connection.
    #[must_use]
    pub fn on_news(mut self, news: impl Fn(News<'_>) + Send + Sync + 'static) -> Self {
        self.news = Some(Box::new(news));
        self
    }

    /// Connects to the site at this address and works until the site will not have the agent any more; gives
    /// the reason. Dropping the future ends the connection and all work.
    pub async fn serve<H, F>(
        mut self,
        egress: &Egress,
        site: &Url,
        key: Option<&Token>,
        handler: H,
    ) -> AgentError
    where
        H: Fn(Assignment, Work) -> F + Send + Sync + 'static,
        F: Future<Output = Ending> + Send + 'static,
    {
        let handler: Handler = Arc::new(move |assignment, work| Box::pin(handler(assignment, work)));
        let address = match address(site) {
            Ok(address) => address,
            Err(error) => return error,
        };
        let mut failures = 0;
        loop {
            let error = match Session::open(egress, &address, key, &self.introduction).await {
                Ok((mut session, welcome)) => {
                    failures = 0;
                    self.introduction.resume = Some(welcome.resume.clone());
                    self.tell(News::Connected(&welcome));
                    session.work(&handler, |text| self.tell(News::Notice(text))).await
                }
                Err(error) => error,
            };
            if error.is_lasting() {
                return error;
            }
            let wait = back_off(failures, RandomState::new().hash_one(failures));
            failures += 1;
            self.tell(News::Lost(&error, wait));
            tokio::time::sleep(wait).await;
        }
    }

    fn tell(&self, news: News<'_>) {
        if let Some(told) = &self.news {
            told(news);
        }
    }
}

/// How long to wait before the next attempt: twice as long each time, and up to half less by chance, so that
/// not all agents of a site that was away come at once.
fn back_off(failures: u32, chance: u64) -> Duration {
    let whole = BACK_OFF.0.saturating_mul(1 << failures.min(10)).min(BACK_OFF.1);
    let less = whole.mul_f64(0.5 * (chance % 1_000) as f64 / 1_000.0);
    whole - less
}

/// Where the site takes programs in; its address may be written for a browser or for a socket.
fn address(site: &Url) -> Result<Url, AgentError> {
    let scheme = match site.scheme() {
        "ws" => "http",
        "wss" => "https",
        other => other,
    };
    let rest = site.as_str().split_once(':').map_or("", |(_, rest)| rest);
    let whole = format!("{scheme}:{}/{PATH}", rest.trim_end_matches('/'));
    let whole = if rest.ends_with(PATH) { format!("{scheme}:{rest}") } else { whole };
    Url::parse(&whole).map_err(|error| AgentError::Refused(format!("`{site}` is not an address: {error}")))
}
