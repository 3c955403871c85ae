//! Fetching an agent's card and finding in it the address to call.
//!
//! Promises: a card is bounded in size and depth before it is read; an address out of it is absolute, http or https, and never
//! weaker than the card's own. An agent that speaks nothing we speak is told apart from a broken card, with what it offers.

use agentsite_protocol::{AgentCard, AgentInterface};
use serde_json::Value;
use url::Url;

use super::call::read_json;
use crate::{ClientError, Egress, Token};

/// Where a card lies below an agent's address.
const WELL_KNOWN: &str = ".well-known/agent-card.json";

/// Largest card that is read; the largest seen has 9 kB.
pub(crate) const MAX_CARD: usize = 1 << 20;

/// Most interfaces named in an error; more help nobody.
const SHOWN: usize = 5;

/// The address of a card: the given one when it names a JSON file, else the well-known one below it.
pub(crate) fn card_url(url: &Url) -> Url {
    if url.path().ends_with(".json") {
        return url.clone();
    }
    let mut card = url.clone();
    card.set_path(&format!("{}/{WELL_KNOWN}", url.path().trim_end_matches('/')));
    card
}

/// Fetches the card at this address.
pub(super) async fn fetch(
    egress: &Egress,
    url: &Url,
    token: Option<&Token>,
) -> Result<AgentCard, ClientError> {
    let mut request = egress.get(url.clone()).limit(MAX_CARD);
    if let Some(token) = token {
        request = request.bearer(token.secret());
    }
    let answer = request.send().await?;
    let status = answer.status();
    if !status.is_success() {
        let message = match status.as_u16() {
            401 | 403 => format!("{url} wants a valid token ({status})"),
            404 => format!("there is no agent card at {url} ({status}); check the address"),
            _ => format!("{url} answered {status} instead of an agent card"),
        };
        return Err(ClientError::Status { status: status.as_u16(), code: None, message });
    }
    let from = url.to_string();
    let card: Value = read_json(&from, &answer.bytes().await?)?;
    serde_json::from_value(card)
        .map_err(|error| ClientError::BadAnswer { from, what: format!("no agent card: {error}") })
}

/// The address to call: the first JSON-RPC interface of A2A 1.
pub(super) fn choose(card: &AgentCard, from: &Url) -> Result<(Url, Option<String>), ClientError> {
    let speaks = |offer: &&AgentInterface| {
        offer.protocol_binding.eq_ignore_ascii_case("JSONRPC") && is_version_1(&offer.protocol_version)
    };
    let Some(offer) = card.supported_interfaces.iter().find(speaks) else {
        let offers = offers(card);
        return Err(ClientError::Unsupported(format!(
            "`{}` at {from} offers {offers}; only JSONRPC of A2A 1.x can be called",
            card.name
        )));
    };
    let bad = |what: &str| {
        let what = format!("the card's address `{}` {what}", offer.url.chars().take(200).collect::<String>());
        ClientError::BadAnswer { from: from.to_string(), what }
    };
    let url = Url::parse(&offer.url).map_err(|_| bad("is not an absolute one"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("is neither http nor https"));
    }
    if from.scheme() == "https" && url.scheme() == "http" {
        return Err(bad("is without encryption, while the card itself came with it"));
    }
    Ok((url, offer.tenant.clone().filter(|tenant| !tenant.is_empty())))
}

fn is_version_1(version: &str) -> bool {
    version.split('.').next() == Some("1")
}

/// What a card offers, in words; old cards say it at the top.
fn offers(card: &AgentCard) -> String {
    let named = |binding: &str, version: &str| format!("{binding} {version}").trim().to_owned();
    let mut offers: Vec<String> = card
        .supported_interfaces
        .iter()
        .take(SHOWN)
        .map(|offer| named(&offer.protocol_binding, &offer.protocol_version))
        .collect();
    let text = |key: &str| card.extra.get(key).and_then(Value::as_str);
    if offers.is_empty() && text("url").is_some() {
        offers.push(named(
            text("preferredTransport").unwrap_or("JSONRPC"),
            text("protocolVersion").unwrap_or("0.3"),
        ));
    }
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
    fn the_first_json_rpc_interface_of_version_1_is_taken() {
        let card = card(
            r#""supportedInterfaces":[{"url":"http://g","protocolBinding":"GRPC","protocolVersion":"1.0"},{"url":"http://old/","protocolBinding":"JSONRPC","protocolVersion":"0.3"},{"url":"http://new/rpc","protocolBinding":"JSONRPC","protocolVersion":"1.0","tenant":"t"}]"#,
        );
        let (endpoint, tenant) = choose(&card, &url("http://h/")).unwrap();
        assert_eq!((endpoint.as_str(), tenant.as_deref()), ("http://new/rpc", Some("t")));
    }

    #[test]
    fn an_agent_that_speaks_otherwise_is_told_with_what_it_offers() {
        let told = |interfaces: &str| choose(&card(interfaces), &url("http://h/")).unwrap_err().to_string();
        let other =
            told(r#""supportedInterfaces":[{"url":"h:1","protocolBinding":"GRPC","protocolVersion":"1.0"}]"#);
        assert!(other.contains("offers GRPC 1.0; only JSONRPC of A2A 1.x"), "{other}");
        let old = told(r#""url":"http://h/","preferredTransport":"JSONRPC","protocolVersion":"0.3.0""#);
        assert!(old.contains("offers JSONRPC 0.3.0"), "{old}");
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
            let error = choose(&card(&interfaces), &url(from)).unwrap_err();
            assert!(matches!(error, ClientError::BadAnswer { .. }), "{odd}: {error}");
        }
    }
}
