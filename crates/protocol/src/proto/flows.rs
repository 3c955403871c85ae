//! The flows of OAuth 2 in a card: the ways in which a caller comes to a token.
//!
//! Promises: plain data, as the card states it. It does not follow any of them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::is_default;

/// The way to a token.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
pub struct OAuthFlows {
    /// The way.
    #[prost(oneof = "Flow", tags = "1, 2, 3, 4, 5")]
    #[serde(flatten)]
    pub flow: Option<Flow>,
}

/// The ways to a token.
#[derive(Clone, PartialEq, prost::Oneof, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Flow {
    /// By a code that a browser brings.
    #[prost(message, tag = "1")]
    AuthorizationCode(AuthorizationCodeOAuthFlow),
    /// By the program's own credentials.
    #[prost(message, tag = "2")]
    ClientCredentials(ClientCredentialsOAuthFlow),
    /// By the browser itself; no longer advised.
    #[prost(message, tag = "3")]
    Implicit(ImplicitOAuthFlow),
    /// By a person's password; no longer advised.
    #[prost(message, tag = "4")]
    Password(PasswordOAuthFlow),
    /// By a code that a person types elsewhere.
    #[prost(message, tag = "5")]
    DeviceCode(DeviceCodeOAuthFlow),
}

/// By a code that a browser brings.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AuthorizationCodeOAuthFlow {
    /// Where the person agrees.
    #[prost(string, tag = "1")]
    pub authorization_url: String,
    /// Where the code becomes a token.
    #[prost(string, tag = "2")]
    pub token_url: String,
    /// Where a token is renewed.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub refresh_url: String,
    /// What can be asked for, with a sentence each.
    #[prost(btree_map = "string, string", tag = "4")]
    pub scopes: BTreeMap<String, String>,
    /// Whether the code must be bound to its asker.
    #[prost(bool, tag = "5")]
    #[serde(skip_serializing_if = "is_default")]
    pub pkce_required: bool,
}

/// By the program's own credentials.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientCredentialsOAuthFlow {
    /// Where the credentials become a token.
    #[prost(string, tag = "1")]
    pub token_url: String,
    /// Where a token is renewed.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub refresh_url: String,
    /// What can be asked for, with a sentence each.
    #[prost(btree_map = "string, string", tag = "3")]
    pub scopes: BTreeMap<String, String>,
}

/// By the browser itself.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ImplicitOAuthFlow {
    /// Where the person agrees.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub authorization_url: String,
    /// Where a token is renewed.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub refresh_url: String,
    /// What can be asked for, with a sentence each.
    #[prost(btree_map = "string, string", tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub scopes: BTreeMap<String, String>,
}

/// By a person's password.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PasswordOAuthFlow {
    /// Where the password becomes a token.
    #[prost(string, tag = "1")]
    #[serde(skip_serializing_if = "is_default")]
    pub token_url: String,
    /// Where a token is renewed.
    #[prost(string, tag = "2")]
    #[serde(skip_serializing_if = "is_default")]
    pub refresh_url: String,
    /// What can be asked for, with a sentence each.
    #[prost(btree_map = "string, string", tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub scopes: BTreeMap<String, String>,
}

/// By a code that a person types elsewhere.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceCodeOAuthFlow {
    /// Where the code comes from.
    #[prost(string, tag = "1")]
    pub device_authorization_url: String,
    /// Where the code becomes a token.
    #[prost(string, tag = "2")]
    pub token_url: String,
    /// Where a token is renewed.
    #[prost(string, tag = "3")]
    #[serde(skip_serializing_if = "is_default")]
    pub refresh_url: String,
    /// What can be asked for, with a sentence each.
    #[prost(btree_map = "string, string", tag = "4")]
    pub scopes: BTreeMap<String, String>,
}
