//! Submission: a message and everything that comes with it.
//!
//! Promises: a credential in the metadata of a message is taken out before anything is written, so that it
//! reaches the agent and nothing else. What is foreign is bounded. It does not look at the message's content.

use std::time::Duration;

use agentsite_host::{Credential, Ephemeral};
use agentsite_protocol::extension::TASK_AUTH_CREDENTIAL;
use agentsite_protocol::{Message, Period, PushConfig};
use serde_json::Value;

use crate::error::TaskError;

/// Longest credential that is handed on; tokens of all kinds are shorter.
const MAX_CREDENTIAL: usize = 16 * 1024;

/// A message for an agent, and what comes with it.
#[derive(Debug, Clone)]
pub struct Submission {
    /// What is said.
    pub message: Message,
    /// How long the finished task shall be kept; the site's own rules may remove it earlier.
    pub ttl: Option<Period>,
    /// Extensions of the protocol that the caller wants to be used.
    pub extensions: Vec<String>,
    /// A receiver of pushes about the task, from its first event on or from now on; kept in the same
    /// transaction as the message. An agent that answers with a message has nothing to push.
    pub receiver: Option<PushConfig>,
}

impl From<Message> for Submission {
    fn from(message: Message) -> Self {
        Self { message, ttl: None, extensions: Vec::new(), receiver: None }
    }
}

impl Submission {
    /// Parts what is written down from what only the agent sees: the message, how long its task is kept, and
    /// the ephemeral input.
    ///
    /// # Errors
    /// [`TaskError::BadMessage`] when the metadata has a credential that is not one.
    pub fn part(mut self) -> Result<(Message, Option<Duration>, Ephemeral), TaskError> {
        let credential = take_credential(&mut self.message)?;
        let ephemeral = Ephemeral { credential, extensions: self.extensions, ..Ephemeral::default() };
        Ok((self.message, self.ttl.map(|ttl| ttl.0), ephemeral))
    }
}

fn take_credential(message: &mut Message) -> Result<Option<Credential>, TaskError> {
    let Some(Value::Object(metadata)) = message.extra.get_mut("metadata") else { return Ok(None) };
    let Some(found) = metadata.remove(TASK_AUTH_CREDENTIAL) else { return Ok(None) };
    if metadata.is_empty() {
        message.extra.remove("metadata");
    }
    match found {
        Value::String(secret) if !secret.is_empty() && secret.len() <= MAX_CREDENTIAL => {
            Ok(Some(Credential::new(secret)))
        }
        _ => Err(TaskError::BadMessage(format!(
            "`{TASK_AUTH_CREDENTIAL}` in the message's metadata must be a text of 1 to {MAX_CREDENTIAL} bytes"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use agentsite_protocol::Role;
    use serde_json::json;

    use super::*;

    fn with_metadata(metadata: &Value) -> Submission {
        let mut message = Message::text("m".parse().unwrap(), Role::User, "here");
        message.extra.insert("metadata".into(), metadata.clone());
        message.into()
    }

    #[test]
    fn a_credential_leaves_no_trace_in_the_message() {
        let (message, _, ephemeral) =
            with_metadata(&json!({ TASK_AUTH_CREDENTIAL: "s3cret", "mood": 1 })).part().unwrap();
        assert_eq!(ephemeral.credential.unwrap().secret(), "s3cret");
        assert_eq!(message.extra["metadata"], json!({ "mood": 1 }));
        let (message, ..) = with_metadata(&json!({ TASK_AUTH_CREDENTIAL: "s3cret" })).part().unwrap();
        assert!(message.extra.is_empty());
    }

    #[test]
    fn what_is_no_credential_is_refused_and_not_repeated() {
        for wrong in [json!(7), json!(""), json!("x".repeat(MAX_CREDENTIAL + 1))] {
            let error = with_metadata(&json!({ TASK_AUTH_CREDENTIAL: wrong })).part().unwrap_err();
            assert!(error.to_string().contains("must be a text"), "{error}");
            assert!(!error.to_string().contains("xxx"));
        }
    }

    #[test]
    fn other_metadata_stays() {
        for metadata in [json!({ "a": 1 }), json!([]), json!("text")] {
            let (message, ttl, ephemeral) = with_metadata(&metadata).part().unwrap();
            assert!(ephemeral.credential.is_none() && ttl.is_none());
            assert_eq!(message.extra["metadata"], metadata);
        }
    }
}
