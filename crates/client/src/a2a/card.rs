//! Fetching an agent's card and finding in it the address to call.
//!
//! Promises: a card is bounded in size and depth before it is read; an address out of it is absolute, http or
//! https, and never weaker than the card's own. An agent without a supported binding is distinguished from a
//! broken card, with what it offers.

use agentsite_egress::Egress;
use agentsite_protocol::extension::{RESUME, SEND_ONCE};
use agentsite_protocol::{AgentCard, AgentInterface, legacy};
use serde_json::Value;
use url::Url;

use super::endpoint::{Dialect, Endpoint};
use super::jsonrpc::read_json;
use crate::{ClientError, Token};

/// The path of a card below an agent's address.
const WELL_KNOWN: &str = ".well-known/agent-card.json";

/// Where agents before A2A 0.3 had it.
const OLD_WELL_KNOWN: &str = ".well-known/agent.json";

/// Largest card that is read; the largest seen has 9 kB.
pub(crate) const MAX_CARD: usize = 1 << 20;

/// Most interfaces of a card that are read; three bindings in two versions are six.
const MAX_INTERFACES: usize = 16;

/// Most interfaces named in an error; more would not help.
const SHOWN: usize = 5;

/// The address of a card: the given one when it names a JSON file, else the well-known one below it.
#[must_use]
pub fn card_url(url: &Url) -> Url {
    if url.path().ends_with(".json") {
        return url.clone();
    }
    let mut card = url.clone();
    card.set_path(&format!("{}/{WELL_KNOWN}", url.path().trim_end_matches('/')));
    card
}

/// Finds the card of the agent at this address, and where it lies: agents of the older version may have it
/// under the older name.
pub(super) async fn find(
    egress: &Egress,
    url: &Url,
    token: Option<&Token>,
) -> Result<(AgentCard, Url), ClientError> {
    let from = card_url(url);
    let missing = match fetch(egress, &from, token).await {
        Err(error @ ClientError::Status { status: 404, .. }) if from != *url => error,
        found => return found.map(|card| (card, from)),
    };
    let mut older = from.clone();
    older.set_path(&from.path().replace(WELL_KNOWN, OLD_WELL_KNOWN));
    match fetch(egress, &older, token).await {
        Err(ClientError::Status { status: 404, .. }) => Err(missing),
        found => found.map(|card| (card, older)),
    }
}

/// Fetches the card at this address.
async fn fetch(egress: &Egress, url: &Url, token: Option<&Token>) -> Result<AgentCard, ClientError> {
    let mut request = egress.get(url.clone()).limit(MAX_CARD);
    if let Some(token) = token {
        request = request.bearer(token.secret());
    }
    let answer = request.send().await?;
    let status = answer.status();
    if !status.is_success() {
        let message = match status.as_u16() {
            401 | 403 => format!("{url} requires a valid token ({status})"),
            404 => format!("there is no agent card at {url} ({status}); check the address"),
            _ => format!("{url} answered {status} instead of an agent card"),
        };
        return Err(ClientError::Status { status: status.as_u16(), code: None, message });
    }
    let from = url.to_string();
    let card: Value = read_json(&from, &answer.bytes().await?)?;
    serde_json::from_value(legacy::upgrade_card(card))
        .map_err(|error| ClientError::BadAnswer { from, what: format!("no agent card: {error}") })
}

/// The addresses that we can call, the preferred one first: in the order of the card, those of the older
/// version last.
pub(super) fn endpoints(card: &AgentCard, from: &Url) -> Result<Vec<Endpoint>, ClientError> {
    let spoken = card.supported_interfaces.iter().filter_map(|offer| Some((Dialect::of(offer)?, offer)));
    let (older, newer): (Vec<_>, Vec<_>) =
        spoken.take(MAX_INTERFACES).partition(|(dialect, _)| dialect.is_older());
    let read = newer.into_iter().chain(older).map(|(dialect, offer)| Endpoint::read(dialect, offer, from));
    let (found, odd): (Vec<_>, Vec<_>) = read.partition(Result::is_ok);
    let found: Vec<Endpoint> = found.into_iter().flatten().collect();
    if !found.is_empty() {
        return Ok(found);
    }
    Err(match odd.into_iter().find_map(Result::err) {
        Some(what) => ClientError::BadAnswer { from: from.to_string(), what },
        None => ClientError::Unsupported(format!(
            "`{}` at {from} offers {}; JSONRPC, HTTP+JSON and GRPC of A2A 1.x and JSONRPC of 0.3 can be called",
            card.name,
            offers(card)
        )),
    })
}

/// Whether the agent says that the same message sent twice begins one task.
pub(super) fn sends_once(card: &AgentCard) -> bool {
    declares(card, SEND_ONCE)
}

/// Whether the agent numbers its events, so that a cut stream can be resumed.
pub(super) fn resumes(card: &AgentCard) -> bool {
    declares(card, RESUME)
}

fn declares(card: &AgentCard, uri: &str) -> bool {
    card.capabilities.extensions.iter().any(|extension| extension.uri == uri)
}

/// What a card offers, as text.
pub(super) fn offers(card: &AgentCard) -> String {
    let named = |offer: &AgentInterface| {
        format!("{} {}", offer.protocol_binding, offer.protocol_version).trim().to_owned()
    };
    let offers: Vec<String> = card.supported_interfaces.iter().take(SHOWN).map(named).collect();
    if offers.is_empty() { "no interface".into() } else { offers.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> Url {
        Url::parse(text).unwrap()
    }

    fn card(interfaces: &str) -> AgentCard {
        let text = format!(r#"{{"name":"n","description":"d","version":"1",{interfaces}}}"#);
        serde_json::from_str(&text).unwrap()
    }

    #[test]
    fn the_card_lies_below_the_agent_unless_it_is_named() {
        assert_eq!(card_url(&url("http://h:1")).as_str(), "http://h:1/.well-known/agent-card.json");
        assert_eq!(
            card_url(&url("http://h/a2a/echo/")).as_str(),
            "http://h/a2a/echo/.well-known/agent-card.json"
        );
        assert_eq!(card_url(&url("http://h/cards/x.json")).as_str(), "http://h/cards/x.json");
    }

    #[test]
    fn interfaces_are_taken_in_the_order_of_the_card_and_older_ones_last() {
        let card = card(
            r#""supportedInterfaces":[{"url":"http://old/","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"g:1","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"/odd","protocolBinding":"HTTP+JSON","protocolVersion":"1.0"},{"url":"http://new/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"t"},{"url":"x","protocolBinding":"SLIM","protocolVersion":"1.0"}]"#,
        );
        let found = endpoints(&card, &url("http://h/")).unwrap();
        let named: Vec<String> = found.iter().map(Endpoint::name).collect();
        assert_eq!(named, ["grpc http://g:1/", "jsonrpc http://new/rpc", "jsonrpc 0.3 http://old/"]);
        assert_eq!(found[1].tenant.as_deref(), Some("t"));
    }

    #[test]
    fn an_agent_says_by_an_extension_that_it_takes_a_message_once() {
        let with = |uri: &str| card(&format!(r#""capabilities":{{"extensions":[{{"uri":"{uri}"}}]}}"#));
        assert!(sends_once(&with(SEND_ONCE)));
        assert!(!sends_once(&with("urn:other")) && !sends_once(&card(r#""x":1"#)));
    }

    #[test]
    fn an_agent_that_speaks_otherwise_is_told_with_what_it_offers() {
        let told =
            |interfaces: &str| endpoints(&card(interfaces), &url("http://h/")).unwrap_err().to_string();
        let other =
            told(r#""supportedInterfaces":[{"url":"h:1","protocolBinding":"GRPC","protocolVersion":"0.3"}]"#);
        assert!(other.contains("offers GRPC 0.3; JSONRPC, HTTP+JSON and GRPC of A2A 1.x"), "{other}");
        assert!(told(r#""x":1"#).contains("offers no interface"));
    }

    #[test]
    fn odd_addresses_in_a_card_are_refused() {
        for (odd, from) in
            [("/rpc", "http://h"), ("ftp://h/", "http://h"), ("h:80", "http://h"), ("http://h/", "https://h")]
        {
            let interfaces = format!(
                r#""supportedInterfaces":[{{"url":"{odd}","protocolBinding":"JSONRPC","protocolVersion":"1.0"}}]"#
            );
            let error = endpoints(&card(&interfaces), &url(from)).unwrap_err();
            assert!(matches!(error, ClientError::BadAnswer { .. }), "{odd}: {error}");
        }
    }
}
