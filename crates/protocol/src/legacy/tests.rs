//! What each shape of A2A 0.3 looks like in 1.0 and back, and that nothing is lost between them.
//!
//! Promises: the shapes are those that the official SDK of 0.3 writes. What it reads is proved elsewhere,
//! with that SDK itself.

mod generated;

use serde_json::{Value, json};

use super::*;

/// A task of 1.0 in which every kind of content is, and what it is in 0.3.
fn tasks() -> (Value, Value) {
    let modern = json!({
        "id": "t", "contextId": "c",
        "status": {
            "state": "TASK_STATE_INPUT_REQUIRED", "timestamp": "2026-01-01T00:00:00Z",
            "message": {"messageId": "m2", "role": "ROLE_AGENT", "parts": [{"text": "Which one?", "metadata": {"a": null}}]},
        },
        "history": [{
            "messageId": "m1", "role": "ROLE_USER", "contextId": "c", "taskId": "t", "extensions": ["urn:x"],
            "referenceTaskIds": ["o"], "mood": 7,
            "parts": [
                {"raw": "aGk=", "mediaType": "text/plain", "filename": "a.txt"},
                {"url": "https://x.example/y", "mediaType": "image/png"},
                {"data": {"k": [1, null]}, "metadata": {"b": 2}},
                {"data": [1, 2], "metadata": {"b": 2}},
                {"data": "bare"},
            ],
        }],
        "artifacts": [{"artifactId": "a", "name": "A", "parts": [{"text": "x", "mediaType": "text/csv"}]}],
        "metadata": {"kind": "stays"}, "later": true,
    });
    let old = json!({
        "kind": "task", "id": "t", "contextId": "c",
        "status": {
            "state": "input-required", "timestamp": "2026-01-01T00:00:00Z",
            "message": {
                "kind": "message", "messageId": "m2", "role": "agent",
                "parts": [{"kind": "text", "text": "Which one?", "metadata": {"a": null}}],
            },
        },
        "history": [{
            "kind": "message", "messageId": "m1", "role": "user", "contextId": "c", "taskId": "t", "extensions": ["urn:x"],
            "referenceTaskIds": ["o"], "mood": 7,
            "parts": [
                {"kind": "file", "file": {"bytes": "aGk=", "mimeType": "text/plain", "name": "a.txt"}},
                {"kind": "file", "file": {"uri": "https://x.example/y", "mimeType": "image/png"}},
                {"kind": "data", "data": {"k": [1, null]}, "metadata": {"b": 2}},
                {"kind": "data", "data": {"value": [1, 2]}, "metadata": {"b": 2, "data_part_compat": true}},
                {"kind": "data", "data": {"value": "bare"}, "metadata": {"data_part_compat": true}},
            ],
        }],
        "artifacts": [
            {"artifactId": "a", "name": "A", "parts": [{"kind": "text", "text": "x", "mediaType": "text/csv"}]},
        ],
        "metadata": {"kind": "stays"}, "later": true,
    });
    (modern, old)
}

#[test]
fn a_task_is_told_in_both_versions() {
    let (modern, old) = tasks();
    assert_eq!(downgrade_result("GetTask", modern.clone()), old);
    assert_eq!(upgrade_result("GetTask", old.clone()).unwrap(), modern);
    assert_eq!(downgrade_result("SendMessage", json!({ "task": modern })), old);
    assert_eq!(upgrade_result("SendMessage", old).unwrap(), json!({ "task": modern }));
}

#[test]
fn events_of_a_stream_are_told_by_their_kind() {
    let status =
        |state: &str| json!({"statusUpdate": {"taskId": "t", "contextId": "c", "status": {"state": state}}});
    for (state, word, last) in [
        ("TASK_STATE_WORKING", "working", false),
        ("TASK_STATE_AUTH_REQUIRED", "auth-required", true),
        ("TASK_STATE_COMPLETED", "completed", true),
        ("TASK_STATE_REJECTED", "rejected", true),
        ("TASK_STATE_UNSPECIFIED", "unknown", false),
    ] {
        let old = json!({
            "kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": word}, "final": last,
        });
        assert_eq!(downgrade_item(status(state)), old);
        assert_eq!(upgrade_item(old).unwrap(), status(state));
    }
    let modern = json!({"artifactUpdate": {
        "taskId": "t", "contextId": "c", "artifact": {"artifactId": "a", "parts": [{"text": "x"}]}, "append": true,
    }});
    let old = json!({
        "kind": "artifact-update", "taskId": "t", "contextId": "c", "append": true,
        "artifact": {"artifactId": "a", "parts": [{"kind": "text", "text": "x"}]},
    });
    assert_eq!(downgrade_item(modern.clone()), old);
    assert_eq!(upgrade_item(old).unwrap(), modern);
}

#[test]
fn what_an_old_agent_leaves_out_is_guessed_from_the_rest() {
    let named = |item: Value| upgrade_item(item).unwrap().as_object().unwrap().keys().next().unwrap().clone();
    assert_eq!(named(json!({"id": "t", "contextId": "c", "status": {"state": "working"}})), "task");
    assert_eq!(
        named(json!({"taskId": "t", "contextId": "c", "status": {"state": "working"}})),
        "statusUpdate"
    );
    assert_eq!(named(json!({"taskId": "t", "contextId": "c", "artifact": {}})), "artifactUpdate");
    assert_eq!(named(json!({"messageId": "m", "role": "agent", "parts": []})), "message");
    for nothing in [json!({}), json!(null), json!([1]), json!({"kind": "song", "id": "t", "status": {}})] {
        assert_eq!(upgrade_item(nothing), Err(NotLegacy::Answer));
    }
    let update =
        json!({"kind": "status-update", "taskId": "t", "contextId": "c", "status": {"state": "working"}});
    assert_eq!(upgrade_result("SendMessage", update), Err(NotLegacy::Answer));
    assert_eq!(upgrade_result("GetTask", json!({"messageId": "m"})), Err(NotLegacy::Answer));
}

#[test]
fn nulls_of_old_agents_are_absent_and_their_times_in_the_right_form() {
    let old = json!({
        "kind": "task", "id": "t", "contextId": "", "history": null, "artifacts": null, "metadata": null,
        "status": {"state": "completed", "message": null, "timestamp": "2026-01-01T00:00:00.5+00:00"},
    });
    let modern = json!({"id": "t", "status": {"state": "TASK_STATE_COMPLETED", "timestamp": "2026-01-01T00:00:00.5Z"}});
    assert_eq!(upgrade_result("GetTask", old).unwrap(), modern);
}

#[test]
fn sending_is_asked_in_both_versions() {
    let modern = json!({
        "message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]},
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "returnImmediately": true,
            "taskPushNotificationConfig": {"url": "https://h.example", "authentication": {"scheme": "Bearer", "credentials": "s"}},
        },
        "metadata": {"x": 1}, "tenant": "u",
    });
    let old = json!({
        "message": {"kind": "message", "messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "hi"}]},
        "configuration": {
            "acceptedOutputModes": ["text/plain"], "historyLength": 3, "blocking": false,
            "pushNotificationConfig": {"url": "https://h.example", "authentication": {"schemes": ["Bearer"], "credentials": "s"}},
        },
        "metadata": {"x": 1}, "tenant": "u",
    });
    assert_eq!(downgrade_request("SendMessage", modern.clone()).unwrap(), ("message/send", old.clone()));
    assert_eq!(upgrade_request("message/stream", old).unwrap(), ("SendStreamingMessage", modern));
}

#[test]
fn an_old_server_is_told_to_wait() {
    let modern = json!({"message": {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hi"}]}});
    let (_, old) = downgrade_request("SendMessage", modern.clone()).unwrap();
    assert_eq!(old["configuration"], json!({"blocking": true}));
    assert_eq!(upgrade_request("message/send", old).unwrap().1, modern);
}

#[test]
fn a_history_of_none_means_all_of_it() {
    let (_, params) = upgrade_request("tasks/get", json!({"id": "t", "historyLength": 0})).unwrap();
    assert_eq!(params, json!({"id": "t"}));
    let (_, params) = upgrade_request("tasks/get", json!({"id": "t", "historyLength": -1})).unwrap();
    assert_eq!(params["historyLength"], -1);
}

#[test]
fn what_is_wrong_is_told_in_the_words_of_the_caller() {
    let told = |message: Value| {
        upgrade_request("message/send", json!({ "message": message })).unwrap_err().to_string()
    };
    let part = |part: Value| {
        told(json!({"messageId": "m", "role": "user", "parts": [{"kind": "text", "text": "a"}, part]}))
    };
    assert!(told(json!({"messageId": "m", "parts": []})).contains("`message.role` must be `user`"));
    assert!(told(json!({"messageId": "m", "role": "ROLE_USER", "parts": []})).contains("`message.role`"));
    assert!(told(json!({"kind": "task", "role": "user"})).contains("`message.kind` must be `message`"));
    for wrong in [
        json!({"kind": "video", "url": "x"}),
        json!({"kind": "text"}),
        json!({"text": "a"}),
        json!({"kind": null, "text": "a"}),
        json!({"data": {"a": 1}}),
        json!({"file": {"bytes": "aGk="}}),
        json!({"kind": "file", "file": {"name": "a"}}),
        json!({"kind": "file", "file": {"bytes": "aGk=", "uri": "https://example.org/a"}}),
        json!({"kind": "file", "file": "aGk="}),
        json!({"kind": "data", "data": null}),
        json!({"kind": 7, "text": "a"}),
        json!({}),
        json!(7),
    ] {
        assert!(part(wrong).contains("`message.parts[1]` must be of kind `text` with text"));
    }
    assert_eq!(upgrade_request("tasks/list", json!({})), Err(NotLegacy::Method));
    assert_eq!(downgrade_request("ListTasks", json!({})), Err(NotLegacy::Method));
}

#[test]
fn what_only_1_0_names_is_left_for_its_reader() {
    for params in [json!({}), json!({"message": 7}), json!({"message": null}), json!([1]), json!(null)] {
        assert_eq!(upgrade_request("message/send", params).unwrap().0, "SendMessage");
    }
}

#[test]
fn configurations_of_push_notifications_are_nested_in_0_3() {
    let modern = json!({
        "taskId": "t", "id": "p", "url": "https://h.example", "token": "k", "later": 1,
        "authentication": {"scheme": "Bearer", "schemes": ["Bearer", "Basic"], "credentials": "s"},
    });
    let old = json!({"taskId": "t", "pushNotificationConfig": {
        "id": "p", "url": "https://h.example", "token": "k", "later": 1,
        "authentication": {"schemes": ["Bearer", "Basic"], "credentials": "s"},
    }});
    let set = "tasks/pushNotificationConfig/set";
    let create = "CreateTaskPushNotificationConfig";
    assert_eq!(upgrade_request(set, old.clone()).unwrap(), (create, modern.clone()));
    assert_eq!(downgrade_request(create, modern.clone()).unwrap(), (set, old.clone()));
    for method in [create, "GetTaskPushNotificationConfig"] {
        assert_eq!(downgrade_result(method, modern.clone()), old);
        assert_eq!(upgrade_result(method, old.clone()).unwrap(), modern);
    }
    let list = "ListTaskPushNotificationConfigs";
    assert_eq!(downgrade_result(list, json!({"configs": [modern.clone()]})), json!([old.clone()]));
    assert_eq!(upgrade_result(list, json!([old])).unwrap(), json!({"configs": [modern]}));
    assert_eq!(downgrade_result(list, json!({})), json!([]));
    let delete = "DeleteTaskPushNotificationConfig";
    assert_eq!(downgrade_result(delete, json!({})), Value::Null);
    assert_eq!(upgrade_result(delete, Value::Null).unwrap(), json!({}));
    let missing = upgrade_request(set, json!({"taskId": "t"})).unwrap_err().to_string();
    assert!(missing.contains("`pushNotificationConfig` is required"));
}

#[test]
fn configurations_are_named_by_other_words() {
    for (method, old, modern) in [
        ("get", json!({"id": "t", "pushNotificationConfigId": "p"}), json!({"taskId": "t", "id": "p"})),
        ("get", json!({"id": "t"}), json!({"taskId": "t"})),
        ("delete", json!({"id": "t", "pushNotificationConfigId": "p"}), json!({"taskId": "t", "id": "p"})),
        ("list", json!({"id": "t"}), json!({"taskId": "t"})),
    ] {
        let (name, params) =
            upgrade_request(&format!("tasks/pushNotificationConfig/{method}"), old.clone()).unwrap();
        assert_eq!(params, modern);
        assert_eq!(downgrade_request(name, modern).unwrap().1, old);
    }
}

fn modern_card() -> Value {
    json!({
        "name": "n", "description": "d", "version": "1",
        "supportedInterfaces": [
            {"url": "https://x.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            {"url": "https://x.example/old", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": true, "extendedAgentCard": true},
        "securitySchemes": {
            "key": {"httpAuthSecurityScheme": {"scheme": "Bearer", "description": "a key"}, "later": 1},
            "header": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        },
        "securityRequirements": [{"schemes": {"key": {"list": ["read"]}, "header": {}}}],
        "skills": [{"id": "s", "securityRequirements": [{"schemes": {"key": {"list": []}}}]}],
    })
}

#[test]
fn one_card_serves_both_versions() {
    let hybrid = hybrid_card(modern_card());
    assert_eq!(hybrid["protocolVersion"], "0.3.0");
    assert_eq!(hybrid["url"], "https://x.example/old");
    assert_eq!(hybrid["preferredTransport"], "JSONRPC");
    assert_eq!(
        hybrid["additionalInterfaces"],
        json!([{"url": "https://x.example/old", "transport": "JSONRPC"}])
    );
    assert_eq!(hybrid["supportsAuthenticatedExtendedCard"], true);
    assert_eq!(hybrid["security"], json!([{"key": ["read"], "header": []}]));
    assert_eq!(hybrid["skills"][0]["security"], json!([{"key": []}]));
    assert_eq!(hybrid["securitySchemes"]["key"]["type"], "http");
    assert_eq!(hybrid["securitySchemes"]["key"]["scheme"], "Bearer");
    assert_eq!(hybrid["securitySchemes"]["header"]["in"], "header");
    assert_eq!(without_legacy_members(&hybrid), modern_card());
    assert_eq!(upgrade_card(hybrid), modern_card());
}

#[test]
fn a_card_that_does_not_speak_0_3_does_not_claim_to() {
    let mut card = modern_card();
    card["supportedInterfaces"].as_array_mut().unwrap().pop();
    assert_eq!(hybrid_card(card.clone()), card);
    assert_eq!(without_legacy_members(&card), card);
}

#[test]
fn an_old_card_becomes_one_of_1_0() {
    let old = json!({
        "name": "n", "description": "d", "version": "1", "url": "https://x.example/", "protocolVersion": "0.3.0",
        "additionalInterfaces": [
            {"url": "https://x.example/", "transport": "JSONRPC"}, {"url": "https://x.example/g", "transport": "GRPC"}, 7,
        ],
        "capabilities": {"streaming": true, "pushNotifications": null, "stateTransitionHistory": true},
        "supportsAuthenticatedExtendedCard": true, "iconUrl": null,
        "securitySchemes": {
            "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
            "mutual": {"type": "mutualTLS"}, "odd": {"type": "song"},
        },
        "security": [{"key": []}],
        "skills": [{"id": "s", "name": "S", "description": "d", "tags": [], "security": [{"key": ["a"]}]}],
    });
    let modern = json!({
        "name": "n", "description": "d", "version": "1",
        "supportedInterfaces": [
            {"url": "https://x.example/", "protocolBinding": "JSONRPC", "protocolVersion": "0.3"},
            {"url": "https://x.example/g", "protocolBinding": "GRPC", "protocolVersion": "0.3"},
        ],
        "capabilities": {"streaming": true, "stateTransitionHistory": true, "extendedAgentCard": true},
        "securitySchemes": {
            "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
            "mutual": {"mtlsSecurityScheme": {}}, "odd": {"type": "song"},
        },
        "securityRequirements": [{"schemes": {"key": {"list": []}}}],
        "skills": [{
            "id": "s", "name": "S", "description": "d", "tags": [],
            "securityRequirements": [{"schemes": {"key": {"list": ["a"]}}}],
        }],
    });
    assert_eq!(upgrade_card(old), modern);
    let card: crate::AgentCard = serde_json::from_value(modern).unwrap();
    assert_eq!(card.supported_interfaces.len(), 2);
}
