//! Written: shapes of the document that no type of the gateway has, as types that others can name.
//!
//! Promises: a reference to a shape in `openapi/schemas.json`, or a plain form that several shapes share.
//! They are never made: `#[schemars(with = "…")]` names them where the type of another crate has no schema of
//! its own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Shapes of `openapi/schemas.json`, by their names there.
macro_rules! written {
    ($($name:ident),* $(,)?) => {$(
        #[doc = concat!("The shape `", stringify!($name), "`.")]
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                Schema::new_ref(concat!("#/components/schemas/", stringify!($name)).into())
            }
        }
    )*};
}

/// Forms of text and the like, written where they occur.
macro_rules! form {
    ($($(#[$doc:meta])* $name:ident = $schema:tt),* $(,)?) => {$(
        $(#[$doc])*
        #[derive(Debug)]
        pub(crate) enum $name {}

        impl JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                json_schema!($schema)
            }
        }
    )*};
}

written!(Conversation, Key, KeptQuery, Letter, ReleasedName, ServedChallenge, Turn);

form!(
    /// A moment in time.
    Moment = { "type": "string", "format": "date-time" },
    /// An absolute URL.
    Address = { "type": "string", "format": "uri" },
    /// An id that the site made.
    Uuid = { "type": "string", "format": "uuid" },
    /// The name of an agent.
    NameOfAgent = { "type": "string", "pattern": "^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$" },
    /// An id that a caller chose for a message.
    NameOfMessage =
        { "type": "string", "minLength": 1, "maxLength": 128, "pattern": "^[^\\x00-\\x1F\\x7F-\\x9F]+$" },
    /// Who sees an agent.
    VisibilityWord = { "type": "string", "enum": ["private", "peers", "public"] },
    /// What a key may do.
    ScopeWord =
        { "type": "string", "pattern": "^(admin|call(:[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)?)$" },
    /// What is said to an agent.
    Said = {
        "about": "Plain words, or parts as A2A has them",
        "oneOf": [
            { "type": "string" },
            {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "about": "A part as A2A has it: one of text, data, url and raw",
                },
            },
            { "type": "null" },
        ],
    },
);
