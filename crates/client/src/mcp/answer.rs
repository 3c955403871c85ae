//! Answers: what a server says, read into our own nouns; and what we say to a server that asks.
//!
//! Promises: a result is read into our types, and unknown members are ignored; questions go to the calls they
//! are about. It is independent of calls and transports.

use std::sync::Arc;

use agentsite_protocol::mcp::{Completions, Contents, InputNeeded, InputRequest, Reply};
use rmcp::RoleClient;
use rmcp::model::{
    ClientConfig, ClientResult, CustomResult, ErrorCode, ErrorData, ServerNotification, ServerRequest,
    ServerResult,
};
use rmcp::service::{InboundStreamOrigin, NotificationContext, RequestContext, Service};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::McpError;
use super::calls::{Calls, QuestionRefused};

/// The contents of a resource from an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Read {
    pub(super) contents: Vec<Contents>,
}

/// Completions from an answer.
#[derive(Debug, Deserialize)]
pub(super) struct Completed {
    pub(super) completion: Completions,
}

/// A question from an answer.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct RawInputNeeded {
    #[serde(default)]
    input_requests: std::collections::BTreeMap<String, InputRequest>,
    #[serde(default)]
    request_state: Option<String>,
}

/// Reads an answer, which may be a question.
pub(super) fn read<T: DeserializeOwned>(result: ServerResult) -> Result<Reply<T>, McpError> {
    let unread = |error: serde_json::Error| McpError::BadAnswer(error.to_string());
    let mut value = serde_json::to_value(result).map_err(unread)?;
    let kind = value.as_object_mut().and_then(|fields| fields.remove("resultType"));
    match kind.as_ref().and_then(Value::as_str) {
        Some("input_required") => {
            let RawInputNeeded { input_requests, request_state } =
                serde_json::from_value(value).map_err(unread)?;
            let state = request_state.map(Value::String);
            Ok(Reply::Input(InputNeeded { requests: input_requests, state }))
        }
        Some("task") => Err(McpError::BadAnswer("it returned a task that was not requested".into())),
        _ => serde_json::from_value(value).map(Reply::Done).map_err(unread),
    }
}

/// The question for our folders, which a server may ask at any time.
const ROOTS: &str = "roots/list";

/// Our side of a connection: who we are, and where questions go.
pub(super) struct QuestionRouter {
    pub(super) config: ClientConfig,
    pub(super) calls: Arc<Calls>,
    /// The answer to `roots/list` outside of a call.
    pub(super) roots: Value,
}

impl Service<RoleClient> for QuestionRouter {
    async fn handle_request(
        &self,
        request: ServerRequest,
        context: RequestContext<RoleClient>,
    ) -> Result<ClientResult, ErrorData> {
        if matches!(request, ServerRequest::PingRequest(_)) {
            return Ok(ClientResult::empty(()));
        }
        let origin = match context.extensions.get::<InboundStreamOrigin>() {
            Some(InboundStreamOrigin::OutboundRequest(id)) => Some(id.clone()),
            _ => None,
        };
        let mut value = serde_json::to_value(request).unwrap_or_default();
        if let Some(fields) = value.as_object_mut() {
            fields.retain(|_, field| !field.is_null());
        }
        let mut asked: InputRequest = serde_json::from_value(value)
            .map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        asked.params.remove("_meta");
        let method = asked.method.clone();
        if method == ROOTS && !self.calls.is_clear(origin.as_ref()) {
            return Ok(ClientResult::CustomResult(CustomResult::new(self.roots.clone())));
        }
        tokio::select! {
            answer = self.calls.ask(origin, asked) => match answer {
                Ok(answer) => Ok(ClientResult::CustomResult(CustomResult::new(answer))),
                Err(QuestionRefused::Unable) => Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, method, None)),
                Err(why) => Err(ErrorData::invalid_request(why.to_string(), None)),
            },
            () = context.ct.cancelled() => Err(ErrorData::invalid_request("the question was withdrawn", None)),
        }
    }

    async fn handle_notification(
        &self,
        _: ServerNotification,
        _: NotificationContext<RoleClient>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn get_info(&self) -> ClientConfig {
        self.config.clone()
    }
}
