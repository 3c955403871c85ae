//! Push configs: the receivers of pushes about a task, their addresses, and their credentials.
//!
//! Promises: the wire form is A2A's `TaskPushNotificationConfig`; an empty text and `null` both mean "left
//! out", as ProtoJSON has it. `Debug` never shows a token, a credential or the query of an address. What
//! [`PushConfig::check`] lets through can be sent in the head of an HTTP request. It does not judge where an
//! address leads: the egress does. Members that are not known here have no effect and are not kept.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize};

use crate::id::MAX_FOREIGN_ID;

/// Longest address that is taken; servers commonly refuse more, and real ones have a tenth of it.
const MAX_URL: usize = 2_048;

/// Longest token or credential: signed tokens of large identity providers stay below, and servers refuse
/// longer heads.
const MAX_SECRET: usize = 4_096;

/// Longest name of an authentication scheme; the longest registered one has 18 letters.
const MAX_SCHEME: usize = 64;

/// One receiver of pushes about a task.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushConfig {
    /// Its name within the task; empty until it has one.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// The task; empty until it is known.
    #[serde(default, alias = "task_id", deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub task_id: String,
    /// Where the receiver listens.
    #[serde(default, deserialize_with = "text")]
    pub url: String,
    /// Lets the receiver recognise its pushes; empty for none.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub token: String,
    /// How the site shows itself to the receiver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub authentication: Option<PushAuthentication>,
    /// Whether it was registered through A2A 0.3 and receives the form of that version. Only stored, never
    /// shown.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_old: bool,
}

/// How the site shows itself to a receiver: the content of an `Authorization` header.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PushAuthentication {
    /// The scheme, such as `Bearer`.
    #[serde(default, deserialize_with = "text")]
    pub scheme: String,
    /// What follows it; empty for nothing.
    #[serde(default, deserialize_with = "text", skip_serializing_if = "String::is_empty")]
    pub credentials: String,
}

/// What is wrong with a push config.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{field}` {what}")]
pub struct BadPushConfig {
    /// The member, by its name on the wire.
    pub field: &'static str,
    /// What is wrong with it.
    pub what: String,
}

impl BadPushConfig {
    /// Names a member and what is wrong with it.
    pub fn new(field: &'static str, what: impl Into<String>) -> Self {
        Self { field, what: what.into() }
    }
}

impl PushConfig {
    /// Checks sizes and letters, so that everything fits into the head of a request.
    ///
    /// # Errors
    /// [`BadPushConfig`] names the first member that does not.
    pub fn check(&self) -> Result<(), BadPushConfig> {
        if self.id.len() > MAX_FOREIGN_ID
            || self.id.chars().any(|letter| letter.is_control() || letter == '/')
        {
            let what =
                format!("must have at most {MAX_FOREIGN_ID} characters, no slash and no control characters");
            return Err(BadPushConfig::new("id", what));
        }
        if self.url.is_empty() {
            return Err(BadPushConfig::new("url", "is required"));
        }
        if self.url.len() > MAX_URL {
            return Err(BadPushConfig::new("url", format!("must have at most {MAX_URL} bytes")));
        }
        secret("token", &self.token)?;
        let Some(authentication) = &self.authentication else { return Ok(()) };
        let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        let scheme = &authentication.scheme;
        if scheme.is_empty() || scheme.len() > MAX_SCHEME || !scheme.bytes().all(is_token) {
            return Err(BadPushConfig::new(
                "authentication.scheme",
                "must be the name of a scheme, such as Bearer",
            ));
        }
        secret("authentication.credentials", &authentication.credentials)
    }

    /// The version of A2A of the pushes.
    #[must_use]
    pub const fn version(&self) -> &'static str {
        if self.is_old { "0.3" } else { "1.0" }
    }

    /// The media type of the pushes.
    #[must_use]
    pub const fn media_type(&self) -> &'static str {
        if self.is_old { "application/json" } else { "application/a2a+json" }
    }

    /// The same without anything secret, for those whose config it is not.
    #[must_use]
    pub fn without_secrets(mut self) -> Self {
        self.token.clear();
        if let Some(authentication) = &mut self.authentication {
            authentication.credentials.clear();
        }
        self.url = plain_url(&self.url).to_owned();
        self
    }
}

fn secret(field: &'static str, value: &str) -> Result<(), BadPushConfig> {
    let fits = value.len() <= MAX_SECRET && value.bytes().all(|byte| matches!(byte, b' '..=b'~'));
    let trimmed = value.trim().len() == value.len();
    if fits && trimmed {
        return Ok(());
    }
    let what = format!("must have at most {MAX_SECRET} printable ASCII characters and no space at its ends");
    Err(BadPushConfig::new(field, what))
}

/// The address without its query and fragment, which often contain secrets.
fn plain_url(url: &str) -> &str {
    url.split(['?', '#']).next().unwrap_or_default()
}

/// Reads a text; `null` is how some writers leave one out.
fn text<'de, D: Deserializer<'de>>(input: D) -> Result<String, D::Error> {
    Ok(Option::<String>::deserialize(input)?.unwrap_or_default())
}

impl fmt::Debug for PushConfig {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PushConfig({:?} of {:?} to {:?})", self.id, self.task_id, plain_url(&self.url))
    }
}

impl fmt::Debug for PushAuthentication {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "PushAuthentication({:?})", self.scheme)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config() -> PushConfig {
        serde_json::from_value(json!({
            "id": "c", "taskId": "t", "url": "https://example.org/hook?key=s3cret", "token": "t0ken",
            "authentication": { "scheme": "Bearer", "credentials": "cr3d" }, "tenant": "x", "later": 1
        }))
        .unwrap()
    }

    #[test]
    fn the_wire_form_survives_but_for_what_has_no_effect() {
        let written = serde_json::to_value(config()).unwrap();
        assert_eq!(
            written,
            json!({
                "id": "c", "taskId": "t", "url": "https://example.org/hook?key=s3cret", "token": "t0ken",
                "authentication": { "scheme": "Bearer", "credentials": "cr3d" }
            })
        );
        let bare: PushConfig = serde_json::from_value(
            json!({ "url": "https://x", "id": null, "token": null, "authentication": null }),
        )
        .unwrap();
        assert_eq!(serde_json::to_value(bare).unwrap(), json!({ "url": "https://x" }));
    }

    #[test]
    fn nothing_secret_is_shown() {
        let shown = format!("{:?} {:?}", config(), config().authentication);
        let bare = serde_json::to_string(&config().without_secrets()).unwrap();
        for text in [shown, bare] {
            for secret in ["s3cret", "t0ken", "cr3d"] {
                assert!(!text.contains(secret), "{text}");
            }
        }
    }

    #[test]
    fn what_no_request_can_carry_is_refused() {
        type Spoil = fn(&mut PushConfig);
        let cases: [(&str, Spoil); 10] = [
            ("id", |c| c.id = "x".repeat(129)),
            ("id", |c| c.id = "a/b".into()),
            ("id", |c| c.id = "a\nb".into()),
            ("url", |c| c.url.clear()),
            ("url", |c| c.url = format!("https://example.org/{}", "x".repeat(2_048))),
            ("token", |c| c.token = "a\r\nEvil: 1".into()),
            ("token", |c| c.token = " a".into()),
            ("authentication.scheme", |c| c.authentication.as_mut().unwrap().scheme = "Bearer x".into()),
            ("authentication.scheme", |c| c.authentication.as_mut().unwrap().scheme.clear()),
            ("authentication.credentials", |c| c.authentication.as_mut().unwrap().credentials = "é".into()),
        ];
        assert_eq!(config().check(), Ok(()));
        for (field, spoil) in cases {
            let mut config = config();
            spoil(&mut config);
            assert_eq!(config.check().unwrap_err().field, field, "{config:?}");
        }
    }
}
