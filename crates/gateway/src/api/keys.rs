//! `/api/keys`, `/api/admin-token` and `/api/signin-links`: who may come in.
//!
//! Promises: only admins get past the site's own check; the secret of a key is in the answer to its making and nowhere
//! else. It does not keep anything.

use std::sync::Arc;

use agentsite_protocol::{KeyId, Period, Scope, Timestamp};
use agentsite_site::KeyRecord;
use axum::extract::{Path, State};
use http::StatusCode;
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, bad, json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;

#[derive(Serialize)]
struct Keys {
    keys: Vec<KeyRecord>,
}

pub(super) async fn list(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    json(StatusCode::OK, &Keys { keys: front.site.keys(&asking.caller).await? })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct KeyGiven {
    #[serde(default)]
    label: String,
    scopes: Vec<Scope>,
    #[serde(default)]
    expires_at: Option<Timestamp>,
    /// Such as `30d`; instead of `expiresAt`.
    #[serde(default)]
    expires_in: Option<Period>,
}

#[derive(Serialize)]
struct KeyMade {
    key: KeyRecord,
    secret: String,
}

pub(super) async fn make(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<KeyGiven>,
) -> Answer {
    let expires_at = match (given.expires_at, given.expires_in) {
        (Some(_), Some(_)) => return Err(bad("send expiresAt or expiresIn, not both".into())),
        (at, None) => at,
        (None, Some(period)) => Some(front.site.ids().clock().now().plus(period.0)),
    };
    let made = front.site.new_key(&asking.caller, &given.label, given.scopes, expires_at).await?;
    json(StatusCode::CREATED, &KeyMade { key: made.record, secret: made.secret })
}

pub(super) async fn revoke(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    let missing =
        || Failure::new(Fault::NoSuchKey, "there is no key of this id; list the keys to see which there are");
    let id: KeyId = id.parse().map_err(|_| missing())?;
    if !front.site.revoke_key(&asking.caller, &id).await? {
        return Err(missing());
    }
    Ok(nothing())
}

/// The command line writes the new token into the data folder, where it reads it from.
pub(super) async fn replace_admin_token(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    let made = front.site.replace_admin_token(&asking.caller).await?;
    json(StatusCode::CREATED, &KeyMade { key: made.record, secret: made.secret })
}

#[derive(Serialize)]
struct Link {
    url: String,
}

pub(super) async fn sign_in_link(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    let token = front.site.new_sign_in(&asking.caller).await?;
    json(StatusCode::CREATED, &Link { url: format!("{}/signin?token={token}", front.base(&asking.parts)) })
}
