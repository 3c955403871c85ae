//! Interfaces: one entry for an agent that catalogues name several times, once for each protocol.
//!
//! Promises: pure. Two forms are the same agent only when one says so or both have the same publisher, name
//! and description, and when both lie at the same host; the A2A form describes the entry, and the others
//! become its further interfaces. It does not read or write entries.

use std::collections::BTreeMap;

use agentsite_protocol::listing::{A2A_CARD, ListedInterface, Listing, ListingId, MCP_SERVER_CARD};
use agentsite_store::Registration;
use url::Url;

use super::Candidate;
use super::draft::{Draft, MAX_INTERFACES};

/// The namespace of agents in identifiers, and those of the same agents as tool servers: this program's own,
/// and the registry's.
const AGENTS: &str = "agents";
const SERVERS: [&str; 2] = ["mcp", "servers"];

/// Candidates of a batch by identifier, each with its place in what was sent.
pub(super) type Batch = BTreeMap<ListingId, (usize, Candidate)>;

/// The identifiers under which the entry of the same agent may be, if this draft is a further interface: the
/// one that it names, and the one that an agent of the same publisher and name has.
pub(super) fn main_ids(id: &ListingId, draft: &Draft) -> Vec<ListingId> {
    let named = draft.interface_of.as_deref().and_then(|named| named.parse().ok());
    let derived = match parts(id) {
        Some((publisher, namespace, name))
            if draft.media_type == MCP_SERVER_CARD && SERVERS.contains(&namespace) =>
        {
            format!("urn:air:{publisher}:{AGENTS}:{name}").parse().ok()
        }
        _ => None,
    };
    named.into_iter().chain(derived).filter(|main| main != id).collect()
}

/// The identifiers under which entries for further interfaces of this draft's agent would be.
pub(super) fn further_ids(id: &ListingId, draft: &Draft) -> Vec<ListingId> {
    match parts(id) {
        Some((publisher, AGENTS, name)) if draft.media_type == A2A_CARD => {
            let further =
                SERVERS.map(|namespace| format!("urn:air:{publisher}:{namespace}:{name}").parse().ok());
            further.into_iter().flatten().collect()
        }
        _ => Vec::new(),
    }
}

/// Whether a draft is a further interface of this entry.
pub(super) fn is_same_agent(draft: &Draft, entry: &Listing) -> bool {
    let told = draft.interface_of.as_deref() == Some(entry.id.as_str());
    let alike = draft.name == entry.name && draft.description == entry.description;
    (told || alike) && is_same_host(draft.url.as_deref(), entry.url.as_deref())
}

/// Whether an entry is one for a further interface of a draft's agent.
pub(super) fn is_further(entry: &Registration, draft: &Draft) -> bool {
    let listing = &entry.listing;
    listing.media_type == MCP_SERVER_CARD
        && listing.name == draft.name
        && listing.description == draft.description
        && is_same_host(listing.url.as_deref(), draft.url.as_deref())
}

/// Joins the further interfaces of a batch to the entries of the same agents in it; gives how many were
/// joined.
pub(super) fn join(batch: &mut Batch) -> usize {
    let main_of = |id: &ListingId, one: &Draft| {
        let is_main = |main: &ListingId| {
            let Some((_, candidate)) = batch.get(main) else { return false };
            let main_draft = &candidate.draft;
            let told = one
                .interface_of
                .as_ref()
                .is_some_and(|told| told == main.as_str() || main_draft.id.as_ref() == Some(told));
            let alike = one.name == main_draft.name && one.description == main_draft.description;
            (told || alike) && is_same_host(one.url.as_deref(), main_draft.url.as_deref())
        };
        main_ids(id, one).into_iter().find(is_main)
    };
    let further: Vec<(ListingId, ListingId)> =
        batch.iter().filter_map(|(id, (_, one))| Some((id.clone(), main_of(id, &one.draft)?))).collect();
    let mut joined = 0;
    for (id, main) in further {
        let Some((_, one)) = batch.remove(&id) else { continue };
        if let Some((_, main)) = batch.get_mut(&main) {
            add(&mut main.draft.interfaces, &mut main.draft.protocols, interface(&id, &one.draft));
            joined += 1;
        }
    }
    joined
}

/// Whether two documents lie at the same host and port; an interface at another one is another's word.
fn is_same_host(one: Option<&str>, other: Option<&str>) -> bool {
    let origin = |url: Option<&str>| Some(Url::parse(url?).ok()?.origin());
    origin(one).is_some() && origin(one) == origin(other)
}

/// A draft as a further interface.
pub(super) fn interface(id: &ListingId, draft: &Draft) -> ListedInterface {
    ListedInterface { id: id.to_string(), media_type: draft.media_type.clone(), url: draft.url.clone() }
}

/// An entry as a further interface.
pub(super) fn interface_of_entry(entry: &Listing) -> ListedInterface {
    ListedInterface { id: entry.id.to_string(), media_type: entry.media_type.clone(), url: entry.url.clone() }
}

/// Adds an interface, or replaces the one of the same identifier; gives whether anything changed.
pub(super) fn add(
    interfaces: &mut Vec<ListedInterface>,
    protocols: &mut Vec<String>,
    one: ListedInterface,
) -> bool {
    if let Some(protocol) = one.protocol()
        && !protocols.iter().any(|known| known == protocol)
    {
        protocols.push(protocol.into());
    }
    match interfaces.iter().position(|known| known.id == one.id) {
        Some(at) if interfaces[at] == one => false,
        Some(at) => {
            interfaces[at] = one;
            true
        }
        None if interfaces.len() < MAX_INTERFACES => {
            interfaces.push(one);
            true
        }
        None => false,
    }
}

/// Publisher, namespace and name of an identifier with exactly these parts.
fn parts(id: &ListingId) -> Option<(&str, &str, &str)> {
    let mut parts = id.as_str().strip_prefix("urn:air:")?.split(':');
    let found = (parts.next()?, parts.next()?, parts.next()?);
    parts.next().is_none().then_some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(text: &str) -> ListingId {
        text.parse().unwrap()
    }

    fn draft(media_type: &str) -> Draft {
        Draft { name: "calc".into(), media_type: media_type.into(), ..Draft::default() }
    }

    #[test]
    fn a_tool_server_is_looked_for_as_the_agent_of_the_same_publisher_and_name() {
        let main = |text: &str, media: &str| main_ids(&id(text), &draft(media));
        assert_eq!(main("urn:air:a.org:mcp:calc", MCP_SERVER_CARD), ["urn:air:a.org:agents:calc"]);
        assert_eq!(main("urn:air:a.org:servers:calc", MCP_SERVER_CARD), ["urn:air:a.org:agents:calc"]);
        assert!(main("urn:air:a.org:mcp:calc", A2A_CARD).is_empty());
        assert!(main("urn:air:a.org:x:mcp:calc", MCP_SERVER_CARD).is_empty());
        let told = Draft { interface_of: Some("urn:air:b.org:y".into()), ..draft("x") };
        assert_eq!(main_ids(&id("urn:air:a.org:z"), &told), ["urn:air:b.org:y"]);
        assert_eq!(further_ids(&id("urn:air:a.org:agents:calc"), &draft(A2A_CARD)).len(), 2);
    }

    #[test]
    fn an_interface_at_another_host_is_not_joined() {
        let candidate = |draft: Draft| Candidate {
            draft,
            proof: agentsite_protocol::listing::Proof::None,
            key: None,
            etag: None,
            warnings: Vec::new(),
            at: None,
            contacted: false,
        };
        let at = |media: &str, url: &str| candidate(Draft { url: Some(url.into()), ..draft(media) });
        let batch = |tools: &str| {
            Batch::from([
                (id("urn:air:a.org:agents:calc"), (1, at(A2A_CARD, "https://a.org/card.json"))),
                (id("urn:air:a.org:mcp:calc"), (2, at(MCP_SERVER_CARD, tools))),
            ])
        };
        let mut good = batch("https://a.org/mcp");
        assert_eq!((join(&mut good), good.len()), (1, 1));
        let mut bad = batch("https://evil.example/mcp");
        assert_eq!((join(&mut bad), bad.len()), (0, 2));
    }

    #[test]
    fn an_interface_is_added_once() {
        let (mut interfaces, mut protocols) = (Vec::new(), vec!["a2a".to_owned()]);
        let one = interface(&id("urn:air:a.org:mcp:calc"), &draft(MCP_SERVER_CARD));
        assert!(add(&mut interfaces, &mut protocols, one.clone()));
        assert!(!add(&mut interfaces, &mut protocols, one));
        assert_eq!((interfaces.len(), protocols), (1, vec!["a2a".to_owned(), "mcp".to_owned()]));
    }
}
