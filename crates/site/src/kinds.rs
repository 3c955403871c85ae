//! The kinds of journal lines, declared in one place for each capability; those of a crate of its own are
//! declared there.
//!
//! Promises: a kind is never used for another event, and never changes its text, because readers filter by
//! it. The sentences are written where the events happen.

/// Declares the kinds of a capability, and the list of all of them.
macro_rules! kinds {
    ($($(#[$about:meta])* $capability:ident { $($name:ident = $text:literal),+ $(,)? })+) => {
        $($(#[$about])* pub(crate) mod $capability {
            use agentsite_protocol::JournalKind;

            $(pub(crate) const $name: JournalKind = JournalKind::new($text);)+
        })+

        #[cfg(test)]
        const ALL: &[&str] = &[$($($text),+),+];
    };
}

kinds! {
    /// Receivers of tasks.
    push {
        ADDED = "push.receiver_added",
        REMOVED = "push.receiver_removed",
    }
    /// What leaves the site.
    delivery {
        GIVEN_UP = "delivery.given_up",
        CHANGED = "delivery.changed",
    }
    /// API keys and the sessions of browsers.
    key {
        CREATED = "key.created",
        REVOKED = "key.revoked",
        SIGNED_IN = "key.signed_in",
        ADMIN_TOKEN = "key.admin_token",
    }
    /// Agents that connect, and logins of agents.
    agent {
        CONNECTED = "agent.connected",
        DISCONNECTED = "agent.disconnected",
        LOGIN = "agent.login",
    }
    /// Saved queries.
    query {
        SAVED = "query.saved",
        MATCHED = "query.matched",
        REMOVED = "query.removed",
    }
    /// The site itself.
    site {
        FOUNDED = "site.founded",
        KEYS_CHANGED = "site.keys_changed",
        NOTE = "site.note",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_declared_once_and_names_its_capability() {
        let mut seen = std::collections::BTreeSet::new();
        for kind in ALL {
            assert!(seen.insert(kind), "{kind} is declared twice");
            let plain =
                |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_lowercase() || c == '_');
            assert!(kind.split_once('.').is_some_and(|(one, two)| plain(one) && plain(two)), "{kind}");
        }
    }
}
