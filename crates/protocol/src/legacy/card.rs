//! Cards: one that both versions read, and 1.0 made of one of 0.3.
//!
//! Promises: a hybrid card is the 1.0 card with members added, of which 1.0 defines none, so that readers of
//! either version find what they look for; taking them out gives the 1.0 card again, which is what its
//! signatures are over. Only addresses that serve 0.3 appear in the members of 0.3. It neither fetches nor
//! signs cards.

use serde_json::{Value, json};

use super::member::{change_each, change_object, drop_nulls, object};
use super::method::is_legacy_version;
use super::security::{
    add_old_scheme, downgrade_requirements, remove_old_scheme, upgrade_requirements, upgrade_scheme,
};
use crate::JsonMap;

/// The version that the members of 0.3 name.
const OLD_VERSION: &str = "0.3.0";

/// What 1.0 calls that version.
const OLD_INTERFACE: &str = "0.3";

/// The binding of 0.3 when none is named.
const DEFAULT_BINDING: &str = "JSONRPC";

/// Members at the top of a card of 0.3 that 1.0 does not have.
const OLD_MEMBERS: [&str; 6] = [
    "protocolVersion",
    "url",
    "preferredTransport",
    "additionalInterfaces",
    "supportsAuthenticatedExtendedCard",
    "security",
];

/// Adds to a card of 1.0 what readers of 0.3 look for; unchanged when none of its addresses serves 0.3.
#[must_use]
pub fn hybrid_card(card: Value) -> Value {
    let Value::Object(mut card) = card else { return card };
    let interfaces = old_interfaces(&card);
    let Some((url, binding)) = interfaces.first().cloned() else { return card.into() };
    card.insert("protocolVersion".into(), OLD_VERSION.into());
    card.insert("url".into(), url);
    card.insert("preferredTransport".into(), binding);
    let all = interfaces.into_iter().map(|(url, binding)| json!({ "url": url, "transport": binding }));
    let all: Value = all.collect();
    card.insert("additionalInterfaces".into(), all);
    if card.get("capabilities").is_some_and(|of| of["extendedAgentCard"] == true) {
        card.insert("supportsAuthenticatedExtendedCard".into(), true.into());
    }
    add_security(&mut card);
    change_each(&mut card, "skills", add_security);
    each_scheme(&mut card, add_old_scheme);
    card.into()
}

/// Takes out of a hybrid card what [`hybrid_card`] added. A card of 0.3 alone, and one of 1.0 alone, stay as
/// they are.
#[must_use]
pub fn without_legacy_members(card: &Value) -> Value {
    let mut card = card.clone();
    let Some(members) = card.as_object_mut().filter(|card| has_interfaces(card)) else { return card };
    members.retain(|name, _| !OLD_MEMBERS.contains(&name.as_str()));
    change_each(members, "skills", |skill| {
        skill.remove("security");
    });
    each_scheme(members, remove_old_scheme);
    card
}

/// Makes a card of 1.0 of one of 0.3; a card of 1.0, or a hybrid one, becomes the 1.0 card that it holds.
///
/// Signatures stay, but they cover the original card: verify that one.
#[must_use]
pub fn upgrade_card(card: Value) -> Value {
    if card.as_object().is_none_or(has_interfaces) {
        return without_legacy_members(&card);
    }
    let mut card = object(card);
    drop_nulls(&mut card);
    let interfaces = upgraded_interfaces(&mut card);
    card.insert("supportedInterfaces".into(), interfaces.into());
    if let Some(extended) = card.remove("supportsAuthenticatedExtendedCard") {
        let mut capabilities = card.remove("capabilities").map(object).unwrap_or_default();
        capabilities.entry("extendedAgentCard").or_insert(extended);
        card.insert("capabilities".into(), capabilities.into());
    }
    change_object(&mut card, "capabilities", drop_nulls);
    upgrade_security(&mut card);
    change_each(&mut card, "skills", |skill| {
        drop_nulls(skill);
        upgrade_security(skill);
    });
    each_scheme(&mut card, upgrade_scheme);
    card.into()
}

fn has_interfaces(card: &JsonMap) -> bool {
    card.get("supportedInterfaces").and_then(Value::as_array).is_some_and(|list| !list.is_empty())
}

/// The addresses of a 1.0 card that serve 0.3, with their bindings.
fn old_interfaces(card: &JsonMap) -> Vec<(Value, Value)> {
    let all = card.get("supportedInterfaces").and_then(Value::as_array).into_iter().flatten();
    let old = all.filter(|one| one["protocolVersion"].as_str().is_some_and(is_legacy_version));
    old.map(|one| (one["url"].clone(), one["protocolBinding"].clone())).collect()
}

/// Takes the addresses out of a card of 0.3, each once, the preferred one first.
fn upgraded_interfaces(card: &mut JsonMap) -> Vec<Value> {
    let version = card.remove("protocolVersion").unwrap_or(Value::Null);
    let version = version
        .as_str()
        .map_or(OLD_INTERFACE, |version| if is_legacy_version(version) { OLD_INTERFACE } else { version });
    let binding = card.remove("preferredTransport").unwrap_or_else(|| DEFAULT_BINDING.into());
    let main = card.remove("url").map(|url| (url, binding));
    let more = card.remove("additionalInterfaces").unwrap_or_default();
    let more =
        more.as_array().into_iter().flatten().map(|one| (one["url"].clone(), one["transport"].clone()));
    let mut interfaces = Vec::new();
    for (url, binding) in
        main.into_iter().chain(more).filter(|(url, binding)| url.is_string() && binding.is_string())
    {
        let one = json!({ "url": url, "protocolBinding": binding, "protocolVersion": version });
        if !interfaces.contains(&one) {
            interfaces.push(one);
        }
    }
    interfaces
}

fn add_security(owner: &mut JsonMap) {
    if let Some(requirements) = owner.get("securityRequirements") {
        let security = downgrade_requirements(requirements);
        owner.insert("security".into(), security);
    }
}

fn upgrade_security(owner: &mut JsonMap) {
    if let Some(security) = owner.remove("security") {
        owner.entry("securityRequirements").or_insert_with(|| upgrade_requirements(security));
    }
}

fn each_scheme(card: &mut JsonMap, with: impl Fn(&mut JsonMap)) {
    let schemes = card.get_mut("securitySchemes").and_then(Value::as_object_mut).into_iter();
    schemes.flat_map(JsonMap::values_mut).filter_map(Value::as_object_mut).for_each(with);
}
