//! Address: what a path below `/a2a` stands for.
//!
//! Promises: pure and total; the same paths exist for the site itself (`/a2a/tasks`) and for each agent
//! (`/a2a/AGENT/tasks`); a trailing slash changes nothing. Names of agents have no colon and no capitals, so
//! operations cannot be taken for agents; the one word that is both, `tasks`, is sorted out here. It does not
//! know whether the agent or the task exists.

use http::Method;

/// An agent, or the site itself, and what is wanted there.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Address<'p> {
    /// The agent; none for the site itself.
    pub(super) agent: Option<&'p str>,
    pub(super) place: Target<'p>,
}

/// What lies below an agent.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Target<'p> {
    /// The agent itself: its card, and calls by JSON-RPC.
    Agent,
    Card,
    Send,
    Stream,
    Tasks,
    Task(&'p str),
    Cancel(&'p str),
    Subscribe(&'p str),
    PushConfigs(&'p str),
    PushConfig(&'p str, &'p str),
    ExtendedCard,
}

impl<'p> Address<'p> {
    /// Reads what stands after `/a2a/`; `None` when nothing is there.
    pub(super) fn of(method: &Method, path: &'p str) -> Option<Self> {
        let path = path.strip_suffix('/').unwrap_or(path);
        let segments: Vec<&str> = if path.is_empty() { Vec::new() } else { path.split('/').collect() };
        let for_site = Target::of(&segments).filter(|_| !is_of_agent_tasks(method, &segments));
        if let Some(place) = for_site {
            return Some(Self { agent: None, place });
        }
        let (agent, below) = segments.split_first()?;
        Some(Self { agent: Some(agent), place: Target::of(below)? })
    }
}

/// Whether a path that could be the site's own is meant for an agent of the name `tasks`.
fn is_of_agent_tasks(method: &Method, segments: &[&str]) -> bool {
    match segments {
        ["tasks"] => method == Method::POST,
        ["tasks", "tasks" | "extendedAgentCard", ..] => true,
        _ => false,
    }
}

impl<'p> Target<'p> {
    fn of(segments: &[&'p str]) -> Option<Self> {
        Some(match segments {
            [] => Self::Agent,
            [".well-known", "agent-card.json"] => Self::Card,
            ["message:send"] => Self::Send,
            ["message:stream"] => Self::Stream,
            ["extendedAgentCard"] => Self::ExtendedCard,
            ["tasks"] => Self::Tasks,
            ["tasks", task] => match task.split_once(':') {
                None => Self::Task(task),
                Some((id, "cancel")) => Self::Cancel(id),
                Some((id, "subscribe")) => Self::Subscribe(id),
                Some(_) => return None,
            },
            ["tasks", task, "pushNotificationConfigs"] => Self::PushConfigs(task),
            ["tasks", task, "pushNotificationConfigs", id] => Self::PushConfig(task, id),
            _ => return None,
        })
    }

    /// The methods that are possible here, as the Allow header names them.
    pub(super) fn methods(&self) -> &'static str {
        match self {
            Self::Agent | Self::PushConfigs(_) => "GET,HEAD,POST",
            Self::Card | Self::Tasks | Self::Task(_) | Self::ExtendedCard => "GET,HEAD",
            Self::Send | Self::Stream | Self::Cancel(_) => "POST",
            Self::Subscribe(_) => "GET,POST",
            Self::PushConfig(..) => "GET,HEAD,DELETE",
        }
    }

    /// Whether this method is possible here.
    pub(super) fn takes(&self, method: &Method) -> bool {
        self.methods().split(',').any(|known| known == method.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(method: &Method, path: &str) -> String {
        Address::of(method, path).map_or_else(
            || "nothing".into(),
            |found| format!("{} {:?}", found.agent.unwrap_or("-"), found.place),
        )
    }

    #[test]
    fn the_site_and_each_agent_have_the_same_places() {
        for (below, place) in [
            ("", "Agent"),
            ("/.well-known/agent-card.json", "Card"),
            ("/message:send", "Send"),
            ("/message:stream", "Stream"),
            ("/tasks", "Tasks"),
            ("/tasks/7", "Task(\"7\")"),
            ("/tasks/7:cancel", "Cancel(\"7\")"),
            ("/tasks/7:subscribe", "Subscribe(\"7\")"),
            ("/tasks/7/pushNotificationConfigs", "PushConfigs(\"7\")"),
            ("/tasks/7/pushNotificationConfigs/1", "PushConfig(\"7\", \"1\")"),
            ("/extendedAgentCard", "ExtendedCard"),
        ] {
            for slash in ["", "/"] {
                let (agent, site) = (format!("echo{below}{slash}"), format!("{below}{slash}"));
                assert_eq!(told(&Method::GET, &agent), format!("echo {place}"));
                assert_eq!(told(&Method::GET, site.trim_start_matches('/')), format!("- {place}"));
            }
        }
    }

    #[test]
    fn what_is_nowhere_is_nothing() {
        for path in
            ["echo/nothing", "echo/tasks/7:sing", "echo/tasks/7/other", "echo//tasks", "/echo", "a/b/c"]
        {
            assert_eq!(told(&Method::GET, path), "nothing", "{path}");
        }
        // Not an operation, so the name of an agent, which then is not there.
        assert_eq!(told(&Method::POST, "message:sing"), "message:sing Agent");
    }

    #[test]
    fn an_agent_of_the_name_tasks_can_be_called() {
        assert_eq!(told(&Method::GET, "tasks"), "- Tasks");
        assert_eq!(told(&Method::POST, "tasks"), "tasks Agent");
        assert_eq!(told(&Method::GET, "tasks/.well-known/agent-card.json"), "tasks Card");
        assert_eq!(told(&Method::POST, "tasks/message:send"), "tasks Send");
        assert_eq!(told(&Method::GET, "tasks/tasks"), "tasks Tasks");
        assert_eq!(told(&Method::GET, "tasks/tasks/7"), "tasks Task(\"7\")");
        assert_eq!(told(&Method::GET, "tasks/tasks/7/pushNotificationConfigs"), "tasks PushConfigs(\"7\")");
        assert_eq!(told(&Method::GET, "tasks/extendedAgentCard"), "tasks ExtendedCard");
    }

    #[test]
    fn methods_are_those_of_the_specification() {
        assert!(Target::Send.takes(&Method::POST) && !Target::Send.takes(&Method::GET));
        assert!(Target::Subscribe("7").takes(&Method::GET) && Target::Subscribe("7").takes(&Method::POST));
        let config = Target::PushConfig("7", "1");
        assert!(config.takes(&Method::DELETE) && !config.takes(&Method::PUT));
    }

    proptest::proptest! {
        #[test]
        fn no_path_makes_it_panic(path in "(tasks|message:send|echo|:|/|%|.|é){0,8}") {
            if let Some(found) = Address::of(&Method::GET, &path) {
                proptest::prop_assert!(found.agent.is_none_or(|agent| path.starts_with(agent)));
            }
        }
    }
}
