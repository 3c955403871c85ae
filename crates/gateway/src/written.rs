//! Written: shapes of the document that no type of the gateway has, as types that others can name.
//!
//! Promises: a reference to a shape in `openapi/schemas.json`, or a plain form that several shapes share.
//! They are never made: `#[schemars(with = "…")]` names them where the type of another crate has no schema of
//! its own.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};

/// Types that stand for a schema: one in `openapi/schemas.json` by its name there, or the one that is given.
macro_rules! schemas {
    (@schema $name:ident) => {
        Schema::new_ref(concat!("#/components/schemas/", stringify!($name)).into())
    };
    (@schema $name:ident $schema:tt) => {
        json_schema!($schema)
    };
    ($($(#[$doc:meta])* $name:ident $(= $schema:tt)?),* $(,)?) => {$(
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
                schemas!(@schema $name $($schema)?)
            }
        }
    )*};
}

schemas!(
    /// An agent of the site, as its callers see it.
    Agent,
    /// An agent that appeared for a kept query.
    Appeared,
    /// What explore takes as its query.
    ArdQuery,
    /// A folder that is not an agent, and why.
    BrokenAgent,
    /// A conversation without its turns.
    Conversation,
    /// An entry of the catalogue.
    Entry,
    /// A line of the journal.
    JournalLine,
    /// An API key without its secret.
    Key,
    /// A kept query.
    KeptQuery,
    /// What has to leave the site.
    Letter,
    /// As whom a browser is signed in.
    Presence,
    /// A name that is reserved.
    ReleasedName,
    /// What search takes as its query.
    SearchQuery,
    /// An entry that was found.
    SearchResult,
    /// A challenge that the site serves.
    ServedChallenge,
    /// A detached signature, as a card has them.
    SignedAnswer,
    /// An event of a task in its stored form.
    TaskEvent,
    /// A turn of a conversation.
    Turn,
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
    /// A query that can be kept: only for this site, and shorter than others.
    QueryHere = {
        "allOf": [
            { "$ref": "#/components/schemas/Query" },
            {
                "type": "object",
                "properties": {
                    "reach": { "type": "string", "enum": ["here"] },
                    "text": { "type": "string", "maxLength": 1024 },
                },
            },
        ],
    },
    /// Where the matches of a kept query are pushed.
    QueryReceiver = {
        "type": ["object", "null"],
        "required": ["url"],
        "properties": { "url": { "type": "string", "format": "uri" } },
    },
    /// A path into an entry of the catalogue.
    EntryField = {
        "type": "string",
        "maxLength": 200,
        "pattern": "^(publisher|publisherId|identifier|displayName|type|url|description|tags|capabilities|representativeQueries|version|updatedAt|(metadata|trustManifest|data)(\\.[^.:]+){1,7})$",
    },
    /// A task as A2A has it.
    TaskOfA2a = {
        "type": "object",
        "required": ["id", "contextId", "status"],
        "properties": {
            "id": { "type": "string" },
            "contextId": { "type": "string" },
            "status": { "type": "object" },
            "artifacts": { "type": "array", "items": { "type": "object" } },
            "history": { "type": "array", "items": { "type": "object" } },
        },
    },
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
