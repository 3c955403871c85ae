//! Which members of an AgentCard count for its signature (A2A 1.0, section 8.4.1).
//!
//! Promises: members that protobuf would not write are left out: empty text, empty lists and false where the
//! schema neither requires the field nor marks it optional. Required and optional ones stay when given,
//! unknown ones always. The table holds only the fields that need treatment; it follows the messages of
//! `a2a.proto` from AgentCard down.

use serde_json::{Map, Value};

/// What is done with one field.
enum Treatment {
    /// Left out when it has its default.
    Plain,
    /// A message.
    One(Shape),
    /// A required list of messages: stays when empty.
    Many(Shape),
    /// A list of messages that is left out when empty.
    ManyOrNone(Shape),
    /// A map of messages that is left out when empty.
    Named(Shape),
}

use Treatment::{Many, ManyOrNone, Named, One, Plain};

/// The fields of a message that need treatment.
type Shape = &'static [(&'static str, Treatment)];

const CARD: Shape = &[
    ("supportedInterfaces", Many(INTERFACE)),
    ("capabilities", One(CAPABILITIES)),
    ("securitySchemes", Named(SCHEME)),
    ("securityRequirements", ManyOrNone(REQUIREMENT)),
    ("skills", Many(SKILL)),
];
const INTERFACE: Shape = &[("tenant", Plain)];
const CAPABILITIES: Shape = &[("extensions", ManyOrNone(EXTENSION))];
const EXTENSION: Shape = &[("uri", Plain), ("description", Plain), ("required", Plain)];
const SKILL: Shape = &[
    ("examples", Plain),
    ("inputModes", Plain),
    ("outputModes", Plain),
    ("securityRequirements", ManyOrNone(REQUIREMENT)),
];
const REQUIREMENT: Shape = &[("schemes", Named(&[("list", Plain)]))];
const SCHEME: Shape = &[
    ("apiKeySecurityScheme", One(DESCRIBED)),
    ("httpAuthSecurityScheme", One(&[("description", Plain), ("bearerFormat", Plain)])),
    ("oauth2SecurityScheme", One(OAUTH2)),
    ("openIdConnectSecurityScheme", One(DESCRIBED)),
    ("mtlsSecurityScheme", One(DESCRIBED)),
];
const DESCRIBED: Shape = &[("description", Plain)];
const OAUTH2: Shape = &[("description", Plain), ("oauth2MetadataUrl", Plain), ("flows", One(FLOWS))];
const FLOWS: Shape = &[
    ("authorizationCode", One(&[("refreshUrl", Plain), ("pkceRequired", Plain)])),
    ("clientCredentials", One(REFRESHED)),
    ("deviceCode", One(REFRESHED)),
    ("implicit", One(&[("authorizationUrl", Plain), ("refreshUrl", Plain), ("scopes", Plain)])),
    ("password", One(&[("tokenUrl", Plain), ("refreshUrl", Plain), ("scopes", Plain)])),
];
const REFRESHED: Shape = &[("refreshUrl", Plain)];

/// What of a card is signed by the letter of the specification: all but `signatures` and members that
/// protobuf would not write.
pub(crate) fn signed_members(card: &Value) -> Value {
    let mut card = card.clone();
    if let Value::Object(members) = &mut card {
        members.remove("signatures");
    }
    treat(&mut card, CARD);
    card
}

/// What of a card the Python SDK signs: besides, no empty text, list or object at any depth, required or not.
pub(crate) fn members_that_say_something(card: &Value) -> Value {
    without_empty(signed_members(card)).unwrap_or_else(|| Value::Object(Map::new()))
}

fn treat(message: &mut Value, shape: Shape) {
    let Value::Object(members) = message else { return };
    for (name, treatment) in shape {
        let Some(value) = members.get_mut(*name) else { continue };
        match treatment {
            Plain => {}
            One(shape) => treat(value, shape),
            Many(shape) | ManyOrNone(shape) => {
                value.as_array_mut().into_iter().flatten().for_each(|item| treat(item, shape));
            }
            Named(shape) => {
                let named = value.as_object_mut().into_iter();
                named.flat_map(Map::values_mut).for_each(|item| treat(item, shape));
            }
        }
        let stays_empty = matches!(treatment, One(_) | Many(_)) && !value.is_null();
        if !stays_empty && is_default(value) {
            members.remove(*name);
        }
    }
}

fn is_default(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(value) => !value,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(values) => values.is_empty(),
        Value::Object(members) => members.is_empty(),
    }
}

fn without_empty(value: Value) -> Option<Value> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::Array(values) => {
            let kept: Vec<Value> = values.into_iter().filter_map(without_empty).collect();
            (!kept.is_empty()).then_some(Value::Array(kept))
        }
        Value::Object(members) => {
            let kept: Map<String, Value> =
                members.into_iter().filter_map(|(name, value)| Some((name, without_empty(value)?))).collect();
            (!kept.is_empty()).then_some(Value::Object(kept))
        }
        other => Some(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_example_of_the_specification_keeps_what_is_required_or_optional() {
        let card = json!({
            "name": "Example Agent", "description": "",
            "capabilities": { "streaming": false, "pushNotifications": false, "extensions": [] },
            "skills": [], "signatures": [{ "protected": "x", "signature": "y" }],
        });
        let wanted = json!({
            "name": "Example Agent", "description": "",
            "capabilities": { "streaming": false, "pushNotifications": false }, "skills": [],
        });
        assert_eq!(signed_members(&card), wanted);
        let shorter = json!({
            "name": "Example Agent", "capabilities": { "streaming": false, "pushNotifications": false },
        });
        assert_eq!(members_that_say_something(&card), shorter);
    }

    #[test]
    fn defaults_go_at_every_depth_and_unknown_members_stay() {
        let card = json!({
            "telepathy": "", "securityRequirements": [], "iconUrl": "",
            "supportedInterfaces": [{ "url": "u", "tenant": "", "newer": false }],
            "capabilities": { "extensions": [{ "uri": "x", "required": false, "params": { "empty": "" } }] },
            "securitySchemes": { "k": { "httpAuthSecurityScheme": { "scheme": "", "bearerFormat": "" } } },
            "skills": [{ "id": "s", "tags": [], "examples": [], "securityRequirements": [{ "schemes": { "k": { "list": [] } } }] }],
        });
        let wanted = json!({
            "telepathy": "", "iconUrl": "",
            "supportedInterfaces": [{ "url": "u", "newer": false }],
            "capabilities": { "extensions": [{ "uri": "x", "params": { "empty": "" } }] },
            "securitySchemes": { "k": { "httpAuthSecurityScheme": { "scheme": "" } } },
            "skills": [{ "id": "s", "tags": [], "securityRequirements": [{ "schemes": { "k": {} } }] }],
        });
        assert_eq!(signed_members(&card), wanted);
    }
}
