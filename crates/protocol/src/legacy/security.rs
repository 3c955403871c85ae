//! Security schemes and requirements of cards.
//!
//! Promises: 0.3 tells schemes apart by `type` and has their members flat, as OpenAPI does; 1.0 has one
//! member per kind of scheme. An entry can be both at once, which is how one card serves both versions.

use serde_json::{Map, Value, json};

use super::member::{drop_nulls, object, rename};
use crate::JsonMap;

/// The kinds of schemes: the member of 1.0, the `type` of 0.3.
const KINDS: [(&str, &str); 5] = [
    ("apiKeySecurityScheme", "apiKey"),
    ("httpAuthSecurityScheme", "http"),
    ("oauth2SecurityScheme", "oauth2"),
    ("openIdConnectSecurityScheme", "openIdConnect"),
    ("mtlsSecurityScheme", "mutualTLS"),
];

/// Adds the members of 0.3 to a scheme of 1.0.
pub(super) fn add_old_scheme(scheme: &mut JsonMap) {
    for (name, value) in old_members(scheme) {
        scheme.entry(name).or_insert(value);
    }
}

/// Takes out what [`add_old_scheme`] added.
pub(super) fn remove_old_scheme(scheme: &mut JsonMap) {
    for (name, value) in old_members(scheme) {
        if scheme.get(&name) == Some(&value) {
            scheme.remove(&name);
        }
    }
}

/// What a scheme of 1.0 is in 0.3; nothing when it is none.
fn old_members(scheme: &JsonMap) -> JsonMap {
    let found = KINDS.iter().find_map(|(name, kind)| Some((*kind, scheme.get(*name)?.as_object()?.clone())));
    let Some((kind, mut flat)) = found else { return JsonMap::new() };
    if kind == KINDS[0].1 {
        rename(&mut flat, "location", "in");
    }
    flat.insert("type".into(), kind.into());
    flat
}

/// Makes a scheme of 1.0 of one of 0.3; one that is of 1.0 already stays.
pub(super) fn upgrade_scheme(scheme: &mut JsonMap) {
    if KINDS.iter().any(|(name, _)| scheme.contains_key(*name)) {
        return;
    }
    drop_nulls(scheme);
    let kind = scheme.get("type").and_then(Value::as_str);
    let Some((name, _)) = KINDS.iter().find(|(_, old)| Some(*old) == kind) else { return };
    let mut inner = std::mem::take(scheme);
    inner.remove("type");
    if *name == KINDS[0].0 {
        rename(&mut inner, "in", "location");
    }
    scheme.insert((*name).into(), inner.into());
}

/// `securityRequirements` of 1.0 as the `security` of 0.3: names with the scopes that are needed.
pub(super) fn downgrade_requirements(requirements: &Value) -> Value {
    let one = |requirement: &Value| -> Value {
        let schemes = requirement["schemes"].as_object().into_iter().flatten();
        let scopes = |list: &Value| list.get("list").cloned().unwrap_or_else(|| json!([]));
        schemes.map(|(name, list)| (name.clone(), scopes(list))).collect::<Map<_, _>>().into()
    };
    requirements.as_array().into_iter().flatten().map(one).collect()
}

/// `security` of 0.3 as the `securityRequirements` of 1.0.
pub(super) fn upgrade_requirements(security: Value) -> Value {
    let Value::Array(requirements) = security else { return json!([]) };
    let one = |requirement: Value| {
        let schemes: Map<_, _> =
            object(requirement).into_iter().map(|(name, scopes)| (name, json!({ "list": scopes }))).collect();
        json!({ "schemes": schemes })
    };
    requirements.into_iter().map(one).collect()
}
