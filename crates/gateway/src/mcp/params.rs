//! Params: the members of a request's parameters that MCP knows, and its `_meta`.
//!
//! Promises: one pass over the text, values stay text until somebody needs them; unknown members are ignored,
//! unknown keys of `_meta` are kept for the tool. It does not know which method needs what.

use std::borrow::Cow;
use std::fmt;

use agentsite_protocol::mcp::Abilities;
use agentsite_protocol::{JsonMap, TraceContext};
use agentsite_site::LogLevel;
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};
use serde_json::Value;
use serde_json::value::RawValue;

use super::message::{self, ClientMessage, Incoming, present};
use crate::failure::{Era, Failure, Fault};
use crate::jsonrpc::string;

/// The key of the protocol version in `_meta`.
pub(super) const VERSION_KEY: &str = "io.modelcontextprotocol/protocolVersion";

/// The key of the client's capabilities in `_meta`.
const CAPABILITIES_KEY: &str = "io.modelcontextprotocol/clientCapabilities";

/// The key of the client's name in `_meta`.
const CLIENT_KEY: &str = "io.modelcontextprotocol/clientInfo";

/// The key of the wanted log level in `_meta`.
const LOG_KEY: &str = "io.modelcontextprotocol/logLevel";

/// The extension by which calls become tasks.
pub(super) const TASKS: &str = "io.modelcontextprotocol/tasks";

/// Parameters of any method, still as text.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Params<'a> {
    #[serde(borrow, default, rename = "_meta")]
    pub(super) meta: Option<Meta<'a>>,
    #[serde(borrow, default)]
    pub(super) name: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) uri: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) arguments: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) cursor: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) input_responses: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    pub(super) request_state: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) task_id: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) notifications: Option<&'a RawValue>,
    #[serde(borrow, default, rename = "ref")]
    pub(super) reference: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) argument: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) context: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) level: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) protocol_version: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) capabilities: Option<&'a RawValue>,
    #[serde(borrow, default)]
    pub(super) request_id: Option<&'a RawValue>,
}

/// What a client says about a request besides its parameters.
#[derive(Debug, Default)]
pub(super) struct Meta<'a> {
    /// The protocol version, as JSON.
    pub(super) version: Option<&'a RawValue>,
    /// The client's capabilities, as JSON.
    pub(super) capabilities: Option<&'a RawValue>,
    /// Under which progress is reported, as JSON.
    pub(super) progress: Option<&'a RawValue>,
    log: Option<&'a RawValue>,
    parent: Option<&'a RawValue>,
    state: Option<&'a RawValue>,
    /// Everything that is not the protocol's own.
    pub(super) rest: JsonMap,
}

impl<'a> Params<'a> {
    /// Reads the parameters of a request.
    pub(super) fn read(asked: &ClientMessage<'a>) -> Result<Self, Failure> {
        serde_json::from_str(asked.params)
            .map_err(|error| wrong(format!("the parameters are not right: {error}")))
    }
}

impl Meta<'_> {
    /// The level from which on log lines are wanted.
    pub(super) fn log_level(&self) -> Result<Option<LogLevel>, Failure> {
        self.log.map(|raw| parse(raw, LOG_KEY)).transpose()
    }

    /// The trace that the request is part of.
    pub(super) fn trace(&self) -> Option<TraceContext> {
        let parent = string(self.parent?.get())?;
        let state = self.state.and_then(|raw| string(raw.get()));
        TraceContext::read(&parent, state.as_deref())
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Meta<'de>;

            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object for `_meta`")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<Meta<'de>, A::Error> {
                let mut meta = Meta::default();
                while let Some(Key(key)) = members.next_key()? {
                    match key.as_ref() {
                        VERSION_KEY => meta.version = Some(members.next_value()?),
                        CAPABILITIES_KEY => meta.capabilities = Some(members.next_value()?),
                        LOG_KEY => meta.log = Some(members.next_value()?),
                        CLIENT_KEY => drop(members.next_value::<serde::de::IgnoredAny>()?),
                        "progressToken" => meta.progress = Some(members.next_value()?),
                        "traceparent" => meta.parent = Some(members.next_value()?),
                        "tracestate" => meta.state = Some(members.next_value()?),
                        _ => drop(meta.rest.insert(key.into_owned(), members.next_value()?)),
                    }
                }
                Ok(meta)
            }
        }
        from.deserialize_map(Reader)
    }
}

/// A key, borrowed when it holds no escapes.
#[derive(Deserialize)]
#[serde(transparent)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

/// What the client can do, by its capabilities.
pub(super) fn abilities(capabilities: &RawValue, with_tasks: bool) -> Result<Abilities, Failure> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Declared {
        elicitation: Option<JsonMap>,
        sampling: Option<JsonMap>,
        roots: Option<JsonMap>,
        extensions: Option<JsonMap>,
    }
    if capabilities.get() == "{}" {
        return Ok(Abilities::default());
    }
    let declared: Declared = serde_json::from_str(capabilities.get())
        .map_err(|error| wrong(format!("the client's capabilities are not right: {error}")))?;
    let url = declared.elicitation.as_ref().is_some_and(|kinds| kinds.contains_key("url"));
    // Before there were two kinds, an empty object meant forms.
    let forms = declared.elicitation.as_ref().is_some_and(|kinds| kinds.contains_key("form") || !url);
    Ok(Abilities {
        forms,
        urls: url,
        sampling: declared.sampling.is_some(),
        roots: declared.roots.is_some(),
        tasks: with_tasks && declared.extensions.is_some_and(|extensions| extensions.contains_key(TASKS)),
    })
}

/// The refusal of parameters.
pub(super) fn wrong(sentence: impl Into<Cow<'static, str>>) -> Failure {
    Failure::new(Fault::BadParams, sentence)
}

/// A member that must be a string.
pub(super) fn text<'a>(member: Option<&'a RawValue>, name: &str) -> Result<Cow<'a, str>, Failure> {
    member
        .and_then(|raw| string(raw.get()))
        .ok_or_else(|| wrong(format!("`{name}` is missing or no string; send it as a string")))
}

/// A member read into its type.
pub(super) fn parse<T: DeserializeOwned>(raw: &RawValue, name: &str) -> Result<T, Failure> {
    serde_json::from_str(raw.get()).map_err(|error| wrong(format!("`{name}` is not right: {error}")))
}

/// A member that is an object, empty when it is not there.
pub(super) fn object(member: Option<&RawValue>, name: &str) -> Result<JsonMap, Failure> {
    match member.map(RawValue::get) {
        None | Some("{}" | "null") => Ok(JsonMap::new()),
        Some(json) => match serde_json::from_str(json) {
            Ok(Value::Object(map)) => Ok(map),
            _ => Err(wrong(format!("`{name}` must be an object"))),
        },
    }
}

/// Decodes any bytes and forgets the result; the fuzz target calls it.
#[doc(hidden)]
pub fn fuzz_mcp(bytes: &[u8]) {
    match message::decode(bytes) {
        Ok(Incoming::Request(asked)) => {
            assert!(serde_json::from_str::<Value>(asked.id).is_ok());
            fuzz(&asked);
        }
        Ok(Incoming::Notification(asked)) => fuzz(&asked),
        Ok(Incoming::Response(answered)) => {
            let json = answered.outcome.unwrap_or_else(|error| error);
            assert!(serde_json::from_str::<&RawValue>(json).is_ok());
        }
        Err(refused) => {
            let body = refused.failure.mcp_body(Era::Stateless, refused.id);
            assert!(serde_json::from_slice::<Value>(&body).is_ok());
        }
    }
}

/// Reads the parameters of a foreign message in every way there is.
fn fuzz(asked: &ClientMessage<'_>) {
    let Ok(params) = Params::read(asked) else { return };
    if let Some(meta) = &params.meta {
        let _ = (meta.log_level(), meta.trace());
        if let Some(capabilities) = meta.capabilities {
            let _ = abilities(capabilities, true);
        }
    }
    let _ = (object(params.arguments, "arguments"), text(params.name, "name"));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(params: &str) -> Result<Params<'_>, Failure> {
        Params::read(&ClientMessage { id: "1", method: "x".into(), params })
    }

    #[test]
    fn the_protocols_own_keys_do_not_reach_a_tool() {
        let params = read(
            r#"{"name":"a","_meta":{"io.modelcontextprotocol/protocolVersion":"v","progressToken":7,
                "io.modelcontextprotocol/clientInfo":{"name":"c"},"mine":{"a":1},"io.modelcontextprotocol/logLevel":"info",
                "traceparent":"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}}"#,
        )
        .unwrap();
        let meta = params.meta.unwrap();
        assert_eq!(meta.version.unwrap().get(), r#""v""#);
        assert_eq!(meta.progress.unwrap().get(), "7");
        assert_eq!(meta.log_level().unwrap(), Some(LogLevel::Info));
        assert!(meta.trace().is_some());
        assert_eq!(serde_json::to_string(&meta.rest).unwrap(), r#"{"mine":{"a":1}}"#);
    }

    #[test]
    fn parameters_of_the_wrong_kind_are_refused() {
        for bad in [r#"{"_meta":7}"#, r#"{"_meta":{"progressToken":1},"_meta":{}}"#] {
            assert_eq!(read(bad).unwrap_err().fault, Fault::BadParams, "{bad}");
        }
        assert!(read(r#"{"inputResponses":null}"#).unwrap().input_responses.is_some());
        let list = read(r#"{"arguments":[1]}"#).unwrap();
        assert!(object(list.arguments, "arguments").is_err());
        assert!(text(read(r#"{"name":1}"#).unwrap().name, "name").is_err());
    }

    #[test]
    fn abilities_are_what_the_client_declares() {
        let of = |json: &str| abilities(serde_json::from_str(json).unwrap(), true).unwrap();
        assert_eq!(of("{}"), Abilities::default());
        assert_eq!(of(r#"{"elicitation":{}}"#), Abilities { forms: true, ..Abilities::default() });
        assert_eq!(of(r#"{"elicitation":{"url":{}}}"#), Abilities { urls: true, ..Abilities::default() });
        let all =
            of(r#"{"elicitation":{"form":{},"url":{}},"sampling":{"tools":{}},"roots":{"listChanged":true},
            "extensions":{"io.modelcontextprotocol/tasks":{}},"other":1}"#);
        assert_eq!(all, Abilities::ALL);
    }
}
