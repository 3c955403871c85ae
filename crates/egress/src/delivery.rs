//! Delivery: posts one notification about a task to a receiver, once, and says what became of it.
//!
//! Promises: only receivers that [`Egress::receiver`] accepts get a request, the address is checked again at
//! each try, and redirects are not followed. A receiver's answer is read by its status alone. A failure
//! message contains no token, no credential and no more of the address than its origin. It does not decide
//! when to try again.

use std::time::{Duration, UNIX_EPOCH};

use agentsite_protocol::{BadPushConfig, DeliveryProof, PushConfig, Timestamp};
use http::header::{AUTHORIZATION, RETRY_AFTER};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use url::Url;

use crate::{Egress, EgressError};

/// Longest wait that a receiver may ask for; a longer one is cut to this.
const MAX_WAIT: Duration = Duration::from_secs(3_600);

/// What became of one attempt to deliver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DeliveryOutcome {
    /// The receiver has taken it.
    Taken,
    /// Permanent failure: the receiver refuses it, or its address is not allowed.
    Refused(String),
    /// It may be taken later.
    Later {
        /// What happened.
        why: String,
        /// The shortest wait that the receiver asks for.
        wait: Option<Duration>,
        /// Whether the receiver answered; one that hangs or is gone did not.
        answered: bool,
    },
}

impl Egress {
    /// The address of a receiver, if a site may tell it something: https, or what the operator allowed by
    /// name.
    ///
    /// # Errors
    /// [`BadPushConfig`] says what to change.
    pub fn receiver(&self, config: &PushConfig) -> Result<Url, BadPushConfig> {
        let wrong = |what: String| BadPushConfig::new("url", what);
        let mut url = Url::parse(&config.url)
            .map_err(|error| wrong(format!("is not an address ({error}); write https://…")))?;
        url.set_fragment(None);
        self.check(&url).map_err(|error| wrong(refusal(&error)))?;
        if url.scheme() != "https" && !self.is_named(&url) {
            return Err(wrong("must begin with https://, so that the content stays confidential".into()));
        }
        Ok(url)
    }

    /// Tells a receiver.
    pub async fn tell(
        &self,
        config: &PushConfig,
        body: Vec<u8>,
        proof: &DeliveryProof,
        timeout: Duration,
        now: Timestamp,
    ) -> DeliveryOutcome {
        let url = match self.receiver(config) {
            Ok(url) => url,
            Err(error) => {
                return DeliveryOutcome::Refused(format!("the receiver's address is not allowed: {error}"));
            }
        };
        let Some(headers) = headers(config, proof) else {
            return DeliveryOutcome::Refused("the token or the credentials do not fit into a header".into());
        };
        let origin = url.origin().ascii_serialization();
        match self.post(url).headers(&headers).body(config.media_type(), body).timeout(timeout).send().await {
            Ok(answer) => judge(answer.status(), answer.headers(), &origin, now),
            Err(error @ (EgressError::Address { .. } | EgressError::Private { .. })) => {
                DeliveryOutcome::Refused(format!(
                    "the receiver's address is not allowed: {}",
                    refusal(&error)
                ))
            }
            Err(error) => DeliveryOutcome::Later { why: error.to_string(), wait: None, answered: false },
        }
    }
}

/// Why an address is refused, as text for callers: nothing about the private network.
fn refusal(error: &EgressError) -> String {
    match error {
        EgressError::Private { .. } => {
            "leads to an address outside the public internet; an admin of this site can allow it in its \
             configuration ([egress] allow)"
                .into()
        }
        EgressError::Address { what, .. } => format!("cannot be used: {what}"),
        other => other.to_string(),
    }
}

fn headers(config: &PushConfig, proof: &DeliveryProof) -> Option<HeaderMap> {
    let mut headers = HeaderMap::new();
    let mut put = |name: HeaderName, value: &str, secret: bool| {
        let mut value = HeaderValue::from_str(value).ok()?;
        value.set_sensitive(secret);
        headers.insert(name, value);
        Some(())
    };
    put(HeaderName::from_static("a2a-version"), config.version(), false)?;
    put(HeaderName::from_static("content-digest"), &proof.content_digest, false)?;
    put(HeaderName::from_static("idempotency-key"), &proof.idempotency_key, false)?;
    put(HeaderName::from_static("signature-input"), &proof.signature_input, false)?;
    put(HeaderName::from_static("signature"), &proof.signature, false)?;
    if !config.token.is_empty() {
        put(HeaderName::from_static("x-a2a-notification-token"), &config.token, true)?;
    }
    if let Some(shown) = &config.authentication {
        let value = format!("{} {}", shown.scheme, shown.credentials);
        put(AUTHORIZATION, value.trim_end(), true)?;
    }
    Some(headers)
}

/// What an answer means. 2xx is success; a permanent refusal is final; everything else may be retried.
fn judge(status: StatusCode, headers: &HeaderMap, origin: &str, now: Timestamp) -> DeliveryOutcome {
    let passes =
        matches!(status, StatusCode::REQUEST_TIMEOUT | StatusCode::TOO_EARLY | StatusCode::TOO_MANY_REQUESTS);
    let why = format!("{origin} answered {status}");
    if status.is_success() {
        DeliveryOutcome::Taken
    } else if status.is_client_error() && !passes {
        DeliveryOutcome::Refused(why)
    } else {
        DeliveryOutcome::Later { why, wait: wait(headers, now), answered: true }
    }
}

/// How long the receiver asks to be paused.
fn wait(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let then = httpdate::parse_http_date(text).ok()?.duration_since(UNIX_EPOCH).ok()?;
            let then = Timestamp::from_millis(i64::try_from(then.as_millis()).ok()?);
            then.since(now)
        }
    };
    Some(wait.min(MAX_WAIT))
}

#[cfg(test)]
mod tests;
