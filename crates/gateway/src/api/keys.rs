//! `/api/keys`, `/api/admin-token` and `/api/signin-links`: who may come in.
//!
//! Promises: only admins get past the site's own check; the secret of a key is in the answer to its making
//! and nowhere else. It does not keep anything.

use std::sync::Arc;

use agentsite_protocol::{KeyId, Period, Scope, Timestamp};
use agentsite_site::KeyRecord;
use axum::extract::{Path, State};
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, REST, RestResult, bad};
use crate::document::{json, nothing};
use crate::failure::{Failure, Fault};
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written::{Key, Moment, ScopeWord};

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/keys", list).admin().operation("listKeys", "The API keys").gives(Shape::of::<Keys>()),
        REST.post("/api/keys", make)
            .admin()
            .operation("makeKey", "Make an API key; its secret is shown once")
            .takes(Shape::of::<KeyGiven>())
            .status("201")
            .gives(Shape::of::<KeyMade>()),
        REST.delete("/api/keys/{id}", revoke).admin().operation("revokeKey", "Revoke an API key"),
        REST.post("/api/admin-token", replace_admin_token)
            .admin()
            .operation("replaceAdminToken", "Replace the admin token; the one before ends at once")
            .status("201")
            .gives(Shape::of::<KeyMade>()),
        REST.post("/api/signin-links", sign_in_link)
            .admin()
            .operation("makeSignInLink", "Make a link by which a browser signs in once")
            .status("201")
            .gives(Shape::of::<SignInLink>()),
    ]
}

#[derive(Serialize, JsonSchema)]
struct Keys {
    #[schemars(with = "Vec<Key>")]
    keys: Vec<KeyRecord>,
}

async fn list(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    json(StatusCode::OK, &Keys { keys: front.site.keys().list(&admitted.caller).await? })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewKey", extend("not" = {
    "required": ["expiresAt", "expiresIn"],
    "properties": { "expiresAt": { "type": "string" }, "expiresIn": { "type": "string" } },
}))]
struct KeyGiven {
    #[serde(default)]
    label: String,
    #[schemars(with = "Vec<ScopeWord>", extend("minItems" = 1))]
    scopes: Vec<Scope>,
    #[serde(default)]
    #[schemars(with = "Option<Moment>")]
    expires_at: Option<Timestamp>,
    /// Such as `30d`; instead of `expiresAt`.
    #[serde(default)]
    #[schemars(
        with = "Option<String>",
        extend("pattern" = "^[1-9][0-9]{0,3}[smhd]$", "about" = "Such as 30d, instead of expiresAt")
    )]
    expires_in: Option<Period>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "MadeKey")]
struct KeyMade {
    #[schemars(with = "Key")]
    key: KeyRecord,
    secret: String,
}

async fn make(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<KeyGiven>,
) -> RestResult {
    let expires_at = match (given.expires_at, given.expires_in) {
        (Some(_), Some(_)) => return Err(bad("send expiresAt or expiresIn, not both".into())),
        (at, None) => at,
        (None, Some(period)) => Some(front.site.ids().clock().now().plus(period.0)),
    };
    let made = front.site.keys().create(&admitted.caller, &given.label, given.scopes, expires_at).await?;
    json(StatusCode::CREATED, &KeyMade { key: made.record, secret: made.secret })
}

async fn revoke(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    let missing =
        || Failure::new(Fault::NoSuchKey, "there is no key of this id; list the keys to see which there are");
    let id: KeyId = id.parse().map_err(|_| missing())?;
    if !front.site.keys().revoke(&admitted.caller, &id).await? {
        return Err(missing());
    }
    Ok(nothing())
}

/// The command line writes the new token into the data folder, where it reads it from.
async fn replace_admin_token(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let made = front.site.keys().replace_admin_token(&admitted.caller).await?;
    json(StatusCode::CREATED, &KeyMade { key: made.record, secret: made.secret })
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Link")]
struct SignInLink {
    url: String,
}

async fn sign_in_link(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let token = front.site.keys().new_sign_in(&admitted.caller).await?;
    json(
        StatusCode::CREATED,
        &SignInLink { url: format!("{}/signin?token={token}", front.base(&admitted.parts)) },
    )
}
