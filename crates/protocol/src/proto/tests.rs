//! Nouns go into protobuf bytes and come back as they were; what cannot go or come is named by its field.
//!
//! The bytes of a few messages are encoded manually from the field numbers of the specification, so that a
//! wrong number here would be seen; the official SDK reads and writes the same in the end-to-end tests.

use proptest::prelude::*;
use prost::Message as _;
use serde_json::{Value as Json, json};

use super::*;
use crate::{JsonMap, TaskId, Timestamp};

/// Text that is there: protobuf does not tell an empty one from none.
fn word() -> impl Strategy<Value = String> {
    "[a-zé🦀 _-]{1,12}"
}

fn free_json() -> impl Strategy<Value = Json> {
    let leaf = prop_oneof![
        Just(Json::Null),
        any::<bool>().prop_map(Json::from),
        (-9_007_199_254_740_992_i64..=9_007_199_254_740_992).prop_map(Json::from),
        (-1e12..1e12_f64)
            .prop_filter("whole doubles come back as integers", |number| number.fract() != 0.0)
            .prop_map(Json::from),
        word().prop_map(Json::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Json::from),
            prop::collection::btree_map(word(), inner, 0..5)
                .prop_map(|map| Json::Object(map.into_iter().collect())),
        ]
    })
}

fn metadata() -> impl Strategy<Value = JsonMap> {
    let some = prop::collection::btree_map(word(), free_json(), 0..3)
        .prop_map(|map| JsonMap::from_iter([("metadata".into(), Json::Object(map.into_iter().collect()))]));
    prop_oneof![Just(JsonMap::new()), some]
}

fn part() -> impl Strategy<Value = crate::Part> {
    let content = prop_oneof![
        ".{0,8}".prop_map(crate::Part::text),
        free_json().prop_map(crate::Part::data),
        word().prop_map(|url| crate::Part { url: Some(url), ..crate::Part::default() }),
        prop::collection::vec(any::<u8>(), 0..20)
            .prop_map(|raw| crate::Part { raw: Some(json::base64(&raw)), ..crate::Part::default() }),
    ];
    (content, prop::option::of(word()), prop::option::of(word()), metadata())
        .prop_map(|(part, media_type, filename, extra)| crate::Part { media_type, filename, extra, ..part })
}

fn message() -> impl Strategy<Value = crate::Message> {
    let texts = || prop::collection::vec(word(), 0..3);
    let ids = ("[a-z0-9]{1,40}", prop::option::of("[a-z0-9]{1,40}"), prop::option::of(word()));
    let role = prop_oneof![Just(crate::Role::User), Just(crate::Role::Agent)];
    (ids, role, prop::collection::vec(part(), 0..4), metadata(), texts(), texts()).prop_map(
        |((id, context, task_id), role, parts, mut extra, extensions, references)| {
            super::message::keep_texts(&mut extra, "extensions", extensions);
            super::message::keep_texts(&mut extra, "referenceTaskIds", references);
            crate::Message {
                message_id: id.parse().unwrap(),
                context_id: context.map(|id| id.parse().unwrap()),
                task_id,
                role,
                parts,
                extra,
            }
        },
    )
}

fn artifact() -> impl Strategy<Value = crate::Artifact> {
    let names = (word(), prop::option::of(word()), prop::option::of(word()));
    (names, prop::collection::vec(part(), 0..4), metadata()).prop_map(
        |((artifact_id, name, description), parts, extra)| crate::Artifact {
            artifact_id,
            name,
            description,
            parts,
            extra,
        },
    )
}

fn status() -> impl Strategy<Value = crate::TaskStatus> {
    let state = prop::sample::select(crate::TaskState::ALL.to_vec());
    let time = -62_135_596_800_000_i64..=253_402_300_799_999;
    (state, prop::option::of(message()), time).prop_map(|(state, message, time)| crate::TaskStatus {
        state,
        message,
        timestamp: Timestamp::from_millis(time),
    })
}

/// Writes a message into bytes and reads it again.
fn sent<M: prost::Message + Default>(message: &M) -> M {
    M::decode(message.encode_to_vec().as_slice()).unwrap()
}

proptest! {
    #[test]
    fn a_message_comes_back_as_it_went(noun in message()) {
        let proto = sent(&Message::try_from(&noun).unwrap());
        prop_assert_eq!(to_json(&proto).unwrap(), serde_json::to_value(&noun).unwrap());
        prop_assert_eq!(crate::Message::try_from(proto).unwrap(), noun);
    }

    #[test]
    fn an_artifact_comes_back_as_it_went(noun in artifact()) {
        let proto = sent(&Artifact::try_from(&noun).unwrap());
        prop_assert_eq!(to_json(&proto).unwrap(), serde_json::to_value(&noun).unwrap());
        prop_assert_eq!(crate::Artifact::try_from(proto).unwrap(), noun);
    }

    #[test]
    fn a_status_comes_back_as_it_went(noun in status()) {
        let proto = sent(&TaskStatus::try_from(&noun).unwrap());
        prop_assert_eq!(to_json(&proto).unwrap(), serde_json::to_value(&noun).unwrap());
        prop_assert_eq!(crate::TaskStatus::try_from(proto).unwrap(), noun);
    }

    #[test]
    fn a_stream_tells_the_same_in_protobuf_and_in_json(
        status in status(),
        artifacts in prop::collection::vec(artifact(), 0..3),
        history in prop::collection::vec(message(), 0..3),
    ) {
        let (task_id, context) = (TaskId::from_bytes([7; 16]), "c1".parse().unwrap());
        let mut items = vec![
            crate::WireStreamItem::StatusUpdate { task_id, context_id: &context, status: status.clone(), metadata: JsonMap::from_iter([("n".into(), 7.into())]) },
            crate::WireStreamItem::Task(crate::WireTask {
                id: task_id,
                context_id: &context,
                status: &status,
                artifacts: &artifacts,
                history: &history,
                metadata: JsonMap::from_iter([("usage".into(), json!({ "calls": 3 }))]),
            }),
        ];
        items.extend(history.iter().map(crate::WireStreamItem::Message));
        items.extend(artifacts.iter().map(|artifact| crate::WireStreamItem::ArtifactUpdate {
            task_id,
            context_id: &context,
            artifact,
            append: true,
            last_chunk: false,
            metadata: JsonMap::new(),
        }));
        for item in items {
            let proto = sent(&StreamResponse::try_from(&item).unwrap());
            prop_assert_eq!(to_json(&proto).unwrap(), serde_json::to_value(&item).unwrap());
        }
    }

    #[test]
    fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(request) = SendMessageRequest::decode(bytes.as_slice()) {
            let _ = request.message.map(crate::Message::try_from);
        }
        if let Ok(card) = AgentCard::decode(bytes.as_slice()) {
            let _ = crate::AgentCard::try_from(card);
        }
        if let Ok(item) = StreamResponse::decode(bytes.as_slice()) {
            let _ = to_json(&item);
        }
    }
}

/// A card with everything that A2A 1.0 names.
fn card() -> Json {
    let flow = |url: &str| json!({ url: "https://a", "tokenUrl": "https://t", "scopes": { "s": "S" } });
    json!({
        "name": "n", "description": "d", "version": "1",
        "supportedInterfaces": [
            { "url": "https://x", "protocolBinding": "JSONRPC", "protocolVersion": "1.0" },
            { "url": "x:443", "protocolBinding": "GRPC", "protocolVersion": "1.0", "tenant": "n" },
        ],
        "provider": { "organization": "o", "url": "https://o" },
        "documentationUrl": "https://docs", "iconUrl": "https://icon",
        "capabilities": {
            "streaming": true, "pushNotifications": false, "extendedAgentCard": true,
            "extensions": [{ "uri": "urn:e", "description": "d", "required": true, "params": { "a": [1, null] } }],
        },
        "securitySchemes": {
            "key": { "apiKeySecurityScheme": { "location": "header", "name": "X-Key", "description": "d" } },
            "bearer": { "httpAuthSecurityScheme": { "scheme": "Bearer", "bearerFormat": "JWT" } },
            "oidc": { "openIdConnectSecurityScheme": { "openIdConnectUrl": "https://oidc" } },
            "mtls": { "mtlsSecurityScheme": {} },
            "code": { "oauth2SecurityScheme": {
                "flows": { "authorizationCode": flow("authorizationUrl") }, "oauth2MetadataUrl": "https://m" } },
            "device": { "oauth2SecurityScheme": { "flows": { "deviceCode": flow("deviceAuthorizationUrl") } } },
        },
        "securityRequirements": [{ "schemes": { "code": { "list": ["s"] }, "key": {} } }],
        "defaultInputModes": ["text/plain"], "defaultOutputModes": ["text/plain"],
        "skills": [{
            "id": "s", "name": "S", "description": "d", "tags": ["t"], "examples": ["e"],
            "inputModes": ["a/b"], "outputModes": ["c/d"],
            "securityRequirements": [{ "schemes": { "key": {} } }],
        }],
        "signatures": [{ "protected": "cA", "signature": "cw", "header": { "kid": "k" } }],
    })
}

#[test]
fn a_whole_card_comes_back_as_it_went() {
    let noun: crate::AgentCard = serde_json::from_value(card()).unwrap();
    let proto = sent(&AgentCard::try_from(&noun).unwrap());
    assert_eq!(to_json(&proto).unwrap(), card());
    assert_eq!(crate::AgentCard::try_from(proto).unwrap(), noun);
}

#[test]
fn fields_that_protobuf_does_not_name_are_left_out() {
    let text = r#"{"messageId":"m","role":"ROLE_USER","parts":[{"text":"a","tone":"kind"}],"mood":7,"extensions":7}"#;
    let noun: crate::Message = serde_json::from_str(text).unwrap();
    let proto = Message::try_from(&noun).unwrap();
    assert_eq!(
        to_json(&proto).unwrap(),
        json!({ "messageId": "m", "role": "ROLE_USER", "parts": [{ "text": "a" }] })
    );
}

#[test]
fn the_numbers_of_the_fields_are_those_of_the_specification() {
    let noun: crate::Message = serde_json::from_value(json!({
        "messageId": "m", "contextId": "c", "taskId": "t", "role": "ROLE_AGENT",
        "parts": [{ "text": "x", "filename": "f", "mediaType": "y" }, { "url": "u" }, { "raw": "/w==" }],
        "extensions": ["e"], "referenceTaskIds": ["r"],
    }))
    .unwrap();
    let request = SendMessageRequest {
        tenant: "a".into(),
        message: Some(Message::try_from(&noun).unwrap()),
        configuration: Some(SendMessageConfiguration {
            history_length: Some(0),
            return_immediately: true,
            ..SendMessageConfiguration::default()
        }),
        metadata: None,
    };
    let message = b"\x0a\x01m\x12\x01c\x1a\x01t\x20\x02\
        \x2a\x09\x0a\x01x\x32\x01f\x3a\x01y\x2a\x03\x1a\x01u\x2a\x03\x12\x01\xff\x3a\x01e\x42\x01r";
    let mut bytes = b"\x0a\x01a\x12".to_vec();
    bytes.push(u8::try_from(message.len()).unwrap());
    bytes.extend_from_slice(message);
    bytes.extend_from_slice(b"\x1a\x04\x18\x00\x20\x01");
    assert_eq!(request.encode_to_vec(), bytes);
}

#[test]
fn what_is_wrong_is_named() {
    let sound = Message { message_id: "m".into(), role: 1, ..Message::default() };
    let nan = prost_types::Value { kind: Some(prost_types::value::Kind::NumberValue(f64::NAN)) };
    let data = Part { content: Some(Content::Data(nan)), ..Part::default() };
    for (message, sentence) in [
        (Message { message_id: String::new(), ..sound.clone() }, "`messageId` is required"),
        (
            Message { message_id: "a\nb".into(), ..sound.clone() },
            "`messageId` must have 1 to 128 characters and no control characters",
        ),
        (
            Message { context_id: "x".repeat(200), ..sound.clone() },
            "`contextId` must have 1 to 128 characters and no control characters",
        ),
        (Message { role: 0, ..sound.clone() }, "`role` is required"),
        (Message { role: 9, ..sound.clone() }, "`role` is not one of the values of A2A 1.0"),
        (Message { parts: vec![Part::default(), data], ..sound }, "`parts[1].data` must be a finite number"),
    ] {
        assert_eq!(crate::Message::try_from(message).unwrap_err().to_string(), sentence);
    }
    let part =
        |json: Json| Part::try_from(&serde_json::from_value::<crate::Part>(json).unwrap()).unwrap_err();
    assert_eq!(part(json!({ "raw": "?" })).to_string(), "`raw` is not base64");
    assert_eq!(part(json!({ "text": "a", "url": "b" })).problem, Problem::Contents);
    let late = ListTasksRequest {
        status_timestamp_after: Some(prost_types::Timestamp { seconds: i64::MAX, nanos: 0 }),
        ..ListTasksRequest::default()
    };
    assert_eq!(
        late.changed_since().unwrap_err().to_string(),
        "`statusTimestampAfter` is not a moment between the years 1 and 9999"
    );
}

/// JSON of this many levels.
fn nested(levels: usize, array: bool) -> Json {
    (0..levels).fold(json!(1), |inner, _| if array { json!([inner]) } else { json!({ "a": inner }) })
}

#[test]
fn what_is_as_deep_as_allowed_is_read_wherever_it_stands() {
    for array in [true, false] {
        let noun = |levels| crate::Message {
            parts: vec![crate::Part::data(nested(levels, array))],
            ..crate::Message::text("m".parse().unwrap(), crate::Role::Agent, "")
        };
        let status =
            TaskStatus { state: 1, message: Some((&noun(MAX_DEPTH)).try_into().unwrap()), timestamp: None };
        let task = Task { status: Some(status), ..Task::default() };
        let list = ListTasksResponse { tasks: vec![task.clone()], ..ListTasksResponse::default() };
        assert_eq!(sent(&list), list);
        let read = sent(&task).status.unwrap().message.unwrap();
        assert_eq!(crate::Message::try_from(read).unwrap(), noun(MAX_DEPTH));
        let deeper = Message::try_from(&noun(MAX_DEPTH + 1)).unwrap_err();
        assert_eq!((deeper.field.as_str(), deeper.problem), ("parts[0].data", Problem::Depth));
    }
}

#[test]
fn bytes_that_nest_without_end_are_refused() {
    // A list in a list in a list, each with its length in front, as deep as 100 kB allow.
    let mut bytes = Vec::new();
    while bytes.len() < 100_000 {
        let mut outer = vec![0x32];
        prost::encoding::encode_varint(bytes.len() as u64, &mut outer);
        let mut list = vec![0x0a];
        prost::encoding::encode_varint((outer.len() + bytes.len()) as u64, &mut list);
        bytes.splice(0..0, list.into_iter().chain(outer));
    }
    assert!(prost_types::ListValue::decode(bytes.as_slice()).is_err());
}

#[test]
fn whole_numbers_stay_whole_and_bytes_are_read_in_either_alphabet() {
    for (number, told) in [(1.0, "1"), (-0.0, "-0.0"), (1.5, "1.5"), (1e300, "1e+300"), (-7.0, "-7")] {
        let value = prost_types::Value { kind: Some(prost_types::value::Kind::NumberValue(number)) };
        assert_eq!(json::json(value).unwrap().to_string(), told);
    }
    for text in ["-_8=", "+/8=", "+/8", "-_8"] {
        assert_eq!(json::bytes(text).unwrap(), [0xfb, 0xff], "{text}");
    }
}

#[test]
fn a_configuration_of_push_notifications_is_the_same_in_json() {
    let json = json!({
        "id": "1", "taskId": "t", "url": "https://x", "token": "k",
        "authentication": { "scheme": "Bearer", "credentials": "c" },
    });
    let config: TaskPushNotificationConfig = from_json(json.clone()).unwrap();
    assert_eq!(to_json(&sent(&config)).unwrap(), json);
    assert!(from_json::<TaskPushNotificationConfig>(json!({ "url": 7 })).is_err());
}
