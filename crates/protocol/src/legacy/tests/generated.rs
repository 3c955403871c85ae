//! Properties over generated values: nothing is lost between the versions, and no value makes the translation
//! panic.
//!
//! Promises: the values are of every shape that both versions have, with members that neither knows. It
//! checks no single shape.

use proptest::prelude::*;
use serde_json::{Map, Value, json};

use crate::legacy::*;

/// Any JSON, of the names that the protocol uses more often than by chance.
fn any_json() -> impl Strategy<Value = Value> {
    let name = prop_oneof![
        Just("kind"),
        Just("status"),
        Just("message"),
        Just("parts"),
        Just("file"),
        Just("data"),
        Just("task"),
        Just("artifact"),
        Just("artifacts"),
        Just("history"),
        Just("metadata"),
        Just("configuration"),
        Just("role"),
        Just("pushNotificationConfig"),
        Just("authentication"),
        Just("schemes"),
        Just("supportedInterfaces"),
        Just("securitySchemes"),
        Just("security"),
        Just("skills"),
        Just("url"),
        Just("capabilities"),
        Just("additionalInterfaces"),
        Just("statusUpdate"),
        Just("artifactUpdate"),
        Just("state"),
        Just("value"),
    ]
    .prop_map(str::to_owned);
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        prop_oneof![
            Just("text"),
            Just("file"),
            Just("data"),
            Just("task"),
            Just("user"),
            Just("0.3"),
            Just("x")
        ]
        .prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map(name.clone(), inner, 0..6)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// Content that belongs to the callers, nulls and all.
fn free() -> impl Strategy<Value = Value> {
    prop::collection::hash_map("[a-z]{1,6}", any_json(), 0..3)
        .prop_map(|members| Value::Object(members.into_iter().collect()))
}

fn with(mut object: Value, more: impl IntoIterator<Item = (&'static str, Option<Value>)>) -> Value {
    for (name, value) in more {
        if let Some(value) = value {
            object[name] = value;
        }
    }
    object
}

fn text() -> impl Strategy<Value = Value> {
    "[a-zé ]{0,8}".prop_map(Value::from)
}

fn maybe(of: impl Strategy<Value = Value>) -> impl Strategy<Value = Option<Value>> {
    prop::option::of(of)
}

fn part() -> impl Strategy<Value = Value> {
    let not_null = any_json().prop_filter("null is absent", |value| !value.is_null());
    let file = (prop_oneof![Just("raw"), Just("url")], text(), maybe(text()), maybe(text()));
    let file = file.prop_map(|(name, content, media, filename)| {
        with(json!({ name: content }), [("mediaType", media), ("filename", filename)])
    });
    let content = prop_oneof![
        text().prop_map(|text| json!({ "text": text })),
        not_null.prop_map(|data| json!({ "data": data })),
        file,
    ];
    let metadata = prop::option::of(free().prop_filter("an empty one may go", |map| map != &json!({})));
    (content, metadata, maybe(text()))
        .prop_map(|(part, metadata, later)| with(part, [("metadata", metadata), ("later", later)]))
}

fn parts() -> impl Strategy<Value = Value> {
    prop::collection::vec(part(), 0..4).prop_map(Value::from)
}

fn message() -> impl Strategy<Value = Value> {
    let role = prop_oneof![Just("ROLE_USER"), Just("ROLE_AGENT")];
    (role, parts(), maybe(text()), maybe(free()), maybe(text())).prop_map(
        |(role, parts, task, metadata, later)| {
            let message = json!({ "messageId": "m", "role": role, "parts": parts });
            with(message, [("taskId", task), ("metadata", metadata), ("later", later)])
        },
    )
}

fn status() -> impl Strategy<Value = Value> {
    let state = prop::sample::select(crate::TaskState::ALL.to_vec());
    (state, maybe(message())).prop_map(|(state, message)| {
        with(json!({ "state": state, "timestamp": "2026-01-01T00:00:00Z" }), [("message", message)])
    })
}

fn artifact() -> impl Strategy<Value = Value> {
    (parts(), maybe(text()), maybe(free())).prop_map(|(parts, name, metadata)| {
        with(json!({ "artifactId": "a", "parts": parts }), [("name", name), ("metadata", metadata)])
    })
}

fn item() -> impl Strategy<Value = Value> {
    let list = |of: BoxedStrategy<Value>| prop::collection::vec(of, 0..3).prop_map(Value::from);
    let task = (status(), maybe(list(artifact().boxed())), maybe(list(message().boxed())), maybe(free()));
    let task = task.prop_map(|(status, artifacts, history, metadata)| {
        let task = json!({ "id": "t", "contextId": "c", "status": status });
        let task = with(task, [("artifacts", artifacts), ("history", history), ("metadata", metadata)]);
        json!({ "task": task })
    });
    let update = |name: &'static str, inner: &'static str, of: BoxedStrategy<Value>| {
        (of, maybe(free()), maybe(any::<bool>().prop_map(Value::from))).prop_map(
            move |(value, metadata, append)| {
                let append = append.filter(|_| inner == "artifact");
                let update = json!({ "taskId": "t", "contextId": "c", inner: value });
                json!({ name: with(update, [("metadata", metadata), ("append", append)]) })
            },
        )
    };
    prop_oneof![
        task,
        message().prop_map(|message| json!({ "message": message })),
        update("statusUpdate", "status", status().boxed()),
        update("artifactUpdate", "artifact", artifact().boxed()),
    ]
}

fn card() -> impl Strategy<Value = Value> {
    let version = prop_oneof![Just("1.0"), Just("0.3"), Just("0.3.0")];
    let interface = version
        .prop_map(|version| json!({ "url": "https://x.example", "protocolBinding": "JSONRPC", "protocolVersion": version }));
    let scheme = prop_oneof![
        Just(json!({ "httpAuthSecurityScheme": { "scheme": "Bearer" } })),
        Just(json!({ "apiKeySecurityScheme": { "location": "query", "name": "k" }, "later": 7 })),
        Just(json!({ "mtlsSecurityScheme": {} })),
        Just(json!({ "later": {} })),
    ];
    let schemes = prop::collection::hash_map("[a-z]{1,4}", scheme, 0..3)
        .prop_map(|all| Value::Object(all.into_iter().collect::<Map<_, _>>()));
    (prop::collection::vec(interface, 1..4), maybe(schemes), maybe(free())).prop_map(|(interfaces, schemes, later)| {
        let requirements = schemes.as_ref().map(|_| json!([{ "schemes": { "a": { "list": [] } } }]));
        let card = json!({ "name": "n", "supportedInterfaces": interfaces, "skills": [{ "id": "s" }], "capabilities": {} });
        with(card, [("securitySchemes", schemes), ("later", later), ("securityRequirements", requirements)])
    })
}

proptest! {
    #[test]
    fn whatever_both_versions_can_say_comes_back_the_same(item in item()) {
        prop_assert_eq!(upgrade_item(downgrade_item(item.clone())), Ok(item));
    }

    #[test]
    fn a_request_comes_back_the_same(message in message(), at_once in maybe(Just(json!(true))), most in maybe((1_i64..9).prop_map(Value::from))) {
        let configuration = with(json!({}), [("returnImmediately", at_once), ("historyLength", most)]);
        let configuration = Some(configuration).filter(|all| all != &json!({}));
        let params = with(json!({ "message": message }), [("configuration", configuration)]);
        let (method, old) = downgrade_request("SendMessage", params.clone()).unwrap();
        prop_assert_eq!(upgrade_request(method, old), Ok(("SendMessage", params)));
    }

    #[test]
    fn a_hybrid_card_holds_the_card_it_was_made_of(card in card()) {
        prop_assert_eq!(without_legacy_members(&hybrid_card(card.clone())), card);
    }

    #[test]
    fn no_value_makes_it_panic(value in any_json()) {
        survive(&value);
    }
}
