//! Caller: who calls, and what they may do.
//!
//! Promises: every verb of the site takes a Caller and asks it; an id alone opens nothing. Powers only come
//! from here. The gateway recognises a Caller by keys, tokens and cookies, never by its address.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{AgentName, Grant, KeyId, Principal, TraceContext, Visibility};

/// One thing that an API key may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Scope {
    /// Everything.
    Admin,
    /// Call every agent that is not private.
    Call,
    /// Call this agent, private or not.
    CallAgent(AgentName),
}

/// An unknown scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("unknown scope `{0}`: use admin, call or call:AGENT")]
pub struct UnknownScope(pub String);

impl FromStr for Scope {
    type Err = UnknownScope;

    fn from_str(text: &str) -> Result<Self, UnknownScope> {
        match text.split_once(':') {
            None if text == "admin" => Ok(Self::Admin),
            None if text == "call" => Ok(Self::Call),
            Some(("call", name)) => {
                name.parse().map(Self::CallAgent).map_err(|_| UnknownScope(text.chars().take(80).collect()))
            }
            _ => Err(UnknownScope(text.chars().take(80).collect())),
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Admin => out.write_str("admin"),
            Self::Call => out.write_str("call"),
            Self::CallAgent(name) => write!(out, "call:{name}"),
        }
    }
}

impl TryFrom<String> for Scope {
    type Error = UnknownScope;

    fn try_from(text: String) -> Result<Self, UnknownScope> {
        text.parse()
    }
}

impl From<Scope> for String {
    fn from(scope: Scope) -> Self {
        scope.to_string()
    }
}

/// Who calls.
#[derive(Debug, Clone)]
pub struct Caller {
    owner: Principal,
    powers: Powers,
    /// In which trace they ask.
    trace: Option<Arc<TraceContext>>,
}

#[derive(Debug, Clone)]
enum Powers {
    Admin,
    Key(Arc<[Scope]>),
    Anonymous,
    Inside,
    /// Another site: whether an admin added it as a peer, and the agents that name it as a caller.
    Peer {
        added: bool,
        named: Arc<[AgentName]>,
    },
}

impl Caller {
    /// The same caller, asking in this trace. A trace grants no permissions.
    #[must_use]
    pub fn in_trace(mut self, trace: Option<TraceContext>) -> Self {
        self.trace = trace.map(Arc::new);
        self
    }

    /// In which trace they ask.
    #[must_use]
    pub fn trace(&self) -> Option<&TraceContext> {
        self.trace.as_deref()
    }

    /// The site's own process; the same owner and rights as [`Self::admin`]. No caller becomes this by its
    /// address.
    #[must_use]
    pub fn local() -> Self {
        Self::admin()
    }

    /// An admin: the holder of the admin token, of a key with the scope `admin`, or of a browser that signed
    /// in with one.
    #[must_use]
    pub fn admin() -> Self {
        Self { owner: Principal::admin(), powers: Powers::Admin, trace: None }
    }

    /// The holder of an API key.
    #[must_use]
    pub fn key(id: &KeyId, scopes: impl Into<Arc<[Scope]>>) -> Self {
        Self { owner: Principal::key(id), powers: Powers::Key(scopes.into()), trace: None }
    }

    /// The holder of a token of an authorization server.
    #[must_use]
    pub fn user(grant: &Grant, scopes: impl Into<Arc<[Scope]>>) -> Self {
        Self { owner: Principal::user(grant), powers: Powers::Key(scopes.into()), trace: None }
    }

    /// A caller without a key at this network address.
    #[must_use]
    pub fn anonymous(address: std::net::IpAddr) -> Self {
        Self { owner: Principal::anonymous(address), powers: Powers::Anonymous, trace: None }
    }

    /// An agent of this site that calls another one in the course of `owner`'s task.
    #[must_use]
    pub fn inside(owner: Principal) -> Self {
        Self { owner, powers: Powers::Inside, trace: None }
    }

    /// Another site that proved who it is. Everybody can make an identity of a site, so one that was not
    /// `added` by an admin reaches no more than a caller without a key does, and the agents that name it.
    #[must_use]
    pub fn peer(owner: Principal, added: bool, named: impl Into<Arc<[AgentName]>>) -> Self {
        Self { owner, powers: Powers::Peer { added, named: named.into() }, trace: None }
    }

    /// The owner of this caller's tasks.
    #[must_use]
    pub fn owner(&self) -> &Principal {
        &self.owner
    }

    /// Whether this caller runs the site.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        match &self.powers {
            Powers::Admin => true,
            Powers::Key(scopes) => scopes.contains(&Scope::Admin),
            Powers::Anonymous | Powers::Inside | Powers::Peer { .. } => false,
        }
    }

    /// Whether another site calls.
    #[must_use]
    pub fn is_peer(&self) -> bool {
        matches!(self.powers, Powers::Peer { .. })
    }

    /// Whether the caller is anonymous.
    #[must_use]
    pub fn is_anonymous(&self) -> bool {
        matches!(self.powers, Powers::Anonymous)
    }

    /// Whether this caller may see and call the agent. To a caller without access the agent appears not to
    /// exist.
    #[must_use]
    pub fn may_call(&self, agent: &AgentName, visibility: Visibility) -> bool {
        match &self.powers {
            Powers::Admin | Powers::Inside => true,
            Powers::Anonymous => visibility == Visibility::Public,
            Powers::Key(scopes) => scopes.iter().any(|scope| match scope {
                Scope::Admin => true,
                Scope::Call => visibility != Visibility::Private,
                Scope::CallAgent(name) => name == agent,
            }),
            Powers::Peer { added, named } => match visibility {
                Visibility::Public => true,
                Visibility::Peers => *added || named.contains(agent),
                Visibility::Private => false,
            },
        }
    }

    /// How far this caller sees: agents of the visibility and of wider ones, and those that its scopes name.
    /// It may be a little more than [`Self::may_call`] grants to a key that names agents only, whose every
    /// match is therefore to be asked for.
    #[must_use]
    pub fn reach(&self) -> (Visibility, Vec<&AgentName>) {
        match &self.powers {
            Powers::Admin | Powers::Inside => (Visibility::Private, Vec::new()),
            Powers::Anonymous => (Visibility::Public, Vec::new()),
            Powers::Key(scopes) => {
                let widest = |scope: &Scope| match scope {
                    Scope::Admin => Visibility::Private,
                    Scope::Call => Visibility::Peers,
                    Scope::CallAgent(_) => Visibility::Public,
                };
                let named = scopes.iter().filter_map(|scope| match scope {
                    Scope::CallAgent(name) => Some(name),
                    Scope::Admin | Scope::Call => None,
                });
                (scopes.iter().map(widest).min().unwrap_or(Visibility::Public), named.collect())
            }
            Powers::Peer { added: true, .. } => (Visibility::Peers, Vec::new()),
            Powers::Peer { added: false, named } => (Visibility::Public, named.iter().collect()),
        }
    }

    /// Whether this caller may see a task of `owner`.
    #[must_use]
    pub fn may_see(&self, owner: &Principal) -> bool {
        self.is_admin() || self.owner == *owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agent() -> AgentName {
        "calc".parse().unwrap()
    }

    #[test]
    fn anonymous_callers_reach_public_agents_only() {
        let caller = Caller::anonymous("2001:db8::1".parse().unwrap());
        assert!(caller.may_call(&agent(), Visibility::Public));
        assert!(!caller.may_call(&agent(), Visibility::Peers));
        assert!(!caller.is_admin());
        assert_eq!(caller.owner().as_str(), "anon:2001:db8:0:0::");
    }

    #[test]
    fn a_key_reaches_what_its_scopes_name() {
        let id: KeyId = "k1".parse().unwrap();
        let caller = Caller::key(&id, [Scope::CallAgent(agent())]);
        assert!(caller.may_call(&agent(), Visibility::Private));
        assert!(!caller.may_call(&"echo".parse().unwrap(), Visibility::Public));
        let caller = Caller::key(&id, [Scope::Call]);
        assert!(!caller.may_call(&agent(), Visibility::Private));
        assert!(caller.may_call(&agent(), Visibility::Peers));
    }

    #[test]
    fn another_site_reaches_what_an_admin_or_an_agent_opened_to_it_and_never_what_is_private() {
        let of =
            |added, named: &[AgentName]| Caller::peer(Principal::peer("did:key:z6Mk").unwrap(), added, named);
        let (stranger, added, named) = (of(false, &[]), of(true, &[]), of(false, &[agent()]));
        for caller in [&stranger, &added, &named] {
            assert!(caller.may_call(&agent(), Visibility::Public));
            assert!(!caller.may_call(&agent(), Visibility::Private));
            assert!(!caller.is_admin() && !caller.is_anonymous() && caller.is_peer());
        }
        let echo = "echo".parse().unwrap();
        assert!(!stranger.may_call(&agent(), Visibility::Peers));
        assert!(added.may_call(&echo, Visibility::Peers));
        assert!(named.may_call(&agent(), Visibility::Peers) && !named.may_call(&echo, Visibility::Peers));
    }

    #[test]
    fn whoever_may_call_an_agent_reaches_it() {
        let id: KeyId = "k1".parse().unwrap();
        let callers = [
            Caller::local(),
            Caller::inside(Principal::anonymous("192.0.2.7".parse().unwrap())),
            Caller::anonymous("2001:db8::1".parse().unwrap()),
            Caller::key(&id, [Scope::Admin]),
            Caller::key(&id, [Scope::Call]),
            Caller::key(&id, [Scope::Call, Scope::CallAgent(agent())]),
            Caller::key(&id, [Scope::CallAgent(agent())]),
            Caller::key(&id, []),
            Caller::peer(Principal::peer("did:key:z6Mk").unwrap(), true, []),
            Caller::peer(Principal::peer("did:key:z6Mk").unwrap(), false, []),
        ];
        for caller in callers {
            let (sees, named) = caller.reach();
            for visibility in [Visibility::Private, Visibility::Peers, Visibility::Public] {
                let reached = visibility >= sees || named.contains(&&agent());
                assert!(reached || !caller.may_call(&agent(), visibility), "{caller:?} {visibility:?}");
                let beyond = visibility == Visibility::Private && !caller.may_call(&agent(), visibility);
                assert!(!(beyond && reached), "{caller:?}");
            }
        }
    }

    #[test]
    fn an_anonymous_caller_is_counted_by_address_and_owns_by_conversation() {
        let caller = Caller::anonymous("192.0.2.1".parse().unwrap());
        let (one, two) = (caller.owner().within("a"), caller.owner().within("b"));
        assert!(one != two && one == caller.owner().within("a") && one.is_anonymous());
        assert_eq!((one.account(), two.account()), ("anon:192.0.2.1", "anon:192.0.2.1"));
        assert!(!caller.may_see(&one) && !Caller::inside(two).may_see(&one));
    }

    #[test]
    fn tasks_are_seen_by_their_owner_and_by_admins() {
        let one = Caller::key(&"a".parse().unwrap(), [Scope::Call]);
        let two = Caller::key(&"b".parse().unwrap(), [Scope::Call]);
        assert!(one.may_see(one.owner()));
        assert!(!two.may_see(one.owner()));
        assert!(Caller::local().may_see(one.owner()));
    }

    #[test]
    fn scopes_are_written_as_they_are_read() {
        for text in ["admin", "call", "call:calc"] {
            assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
        }
        assert!("root".parse::<Scope>().is_err());
        assert!("call:../x".parse::<Scope>().is_err());
    }
}
