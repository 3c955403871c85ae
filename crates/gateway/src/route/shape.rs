//! Shape: what goes in or out of a route, as JSON Schema.
//!
//! Promises: the shape of a type is derived from the type that the handler reads or writes, as that side of
//! the wire sees it: a request may leave out what has a default, an answer has every member that is always
//! written. Each shape stands once in the document, by its name. Shapes that no type of ours has are written
//! by hand (`openapi/schemas.json`).

use std::borrow::Cow;

use schemars::generate::{Contract, SchemaSettings};
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value};

/// Where the document keeps its shapes.
const PLACE: &str = "/components/schemas";

/// The shape of a request or an answer.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// One that is written by hand, by its name.
    Named(&'static str),
    /// That of a type.
    Derived {
        /// Its name in the document.
        name: fn() -> Cow<'static, str>,
        /// Adds it to those of the document.
        add: fn(&mut SchemaGenerator) -> Schema,
    },
}

impl Shape {
    /// The shape of this type.
    pub(crate) fn of<T: JsonSchema>() -> Self {
        Self::Derived { name: T::schema_name, add: SchemaGenerator::subschema_for::<T> }
    }

    /// Its name in the document.
    pub(crate) fn name(self) -> Cow<'static, str> {
        match self {
            Self::Named(name) => name.into(),
            Self::Derived { name, .. } => name(),
        }
    }
}

impl From<&'static str> for Shape {
    fn from(name: &'static str) -> Self {
        Self::Named(name)
    }
}

/// The shapes of one document, gathered.
pub(crate) struct Shapes {
    requests: SchemaGenerator,
    answers: SchemaGenerator,
}

impl Default for Shapes {
    fn default() -> Self {
        let settings = |contract| {
            let mut settings = SchemaSettings::draft2020_12();
            settings.definitions_path = PLACE.into();
            settings.contract = contract;
            settings.meta_schema = None;
            settings.into_generator()
        };
        Self { requests: settings(Contract::Deserialize), answers: settings(Contract::Serialize) }
    }
}

impl Shapes {
    /// Adds the shape of a request.
    pub(crate) fn request(&mut self, shape: Shape) {
        add(&mut self.requests, shape);
    }

    /// Adds the shape of an answer.
    pub(crate) fn answer(&mut self, shape: Shape) {
        add(&mut self.answers, shape);
    }

    /// All that were derived, by name. A type that is both read and written is described as it is read.
    pub(crate) fn into_definitions(mut self) -> Map<String, Value> {
        let mut all = self.answers.take_definitions(true);
        for schema in all.values_mut() {
            plain(schema, true);
        }
        let mut requests = self.requests.take_definitions(true);
        for schema in requests.values_mut() {
            plain(schema, false);
        }
        all.append(&mut requests);
        all
    }
}

fn add(generator: &mut SchemaGenerator, shape: Shape) {
    if let Shape::Derived { add, .. } = shape {
        add(generator);
    }
}

/// Leaves out what says more about our types than about the wire.
fn plain(schema: &mut Value, is_answer: bool) {
    if let Ok(schema) = <&mut Schema>::try_from(schema) {
        Plain { is_answer }.transform(schema);
    }
}

/// Numbers without the width they have in memory, and members that are left out instead of being null.
struct Plain {
    is_answer: bool,
}

impl Transform for Plain {
    fn transform(&mut self, schema: &mut Schema) {
        // The docs of a type are for its developers; what the document says to its readers is in `about`.
        schema.remove("description");
        if let Some(about) = schema.remove("about") {
            schema.insert("description".into(), about);
        }
        if schema.get("additionalProperties") == Some(&Value::Bool(true)) {
            schema.remove("additionalProperties");
        }
        if schema.get("default").is_some_and(says_nothing) {
            schema.remove("default");
        }
        if schema.get("format").and_then(Value::as_str).is_some_and(|word| NUMBERS.contains(&word)) {
            schema.remove("format");
            if self.is_answer {
                schema.remove("minimum");
                schema.remove("maximum");
            }
        }
        if self.is_answer {
            drop_null_of_optional(schema);
        }
        transform_subschemas(self, schema);
    }
}

/// Whether a default is what everybody expects of a member that is left out.
fn says_nothing(default: &Value) -> bool {
    match default {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// What schemars calls the widths of numbers.
const NUMBERS: [&str; 10] =
    ["uint8", "uint16", "uint32", "uint64", "uint", "int32", "int64", "int", "double", "float"];

/// An answer leaves out an optional member; it never writes null there.
fn drop_null_of_optional(schema: &mut Schema) {
    let required: Vec<String> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect())
        .unwrap_or_default();
    let Some(Value::Object(members)) = schema.get_mut("properties") else { return };
    for (_, member) in members.iter_mut().filter(|(name, _)| !required.contains(name)) {
        without_null(member);
    }
}

fn without_null(member: &mut Value) {
    if let Some(Value::Array(kinds)) = member.get_mut("type") {
        kinds.retain(|kind| kind != "null");
        if let [only] = kinds.as_slice() {
            member["type"] = only.clone();
        }
    }
    if let Some(Value::Array(choices)) = member.get_mut("anyOf") {
        choices.retain(|choice| choice.get("type").is_none_or(|kind| kind != "null"));
        if let [only] = choices.as_slice() {
            let mut only = only.clone();
            for words in ["description", "about"] {
                if let (Some(said), Value::Object(members)) = (member.get(words), &mut only) {
                    members.insert(words.into(), said.clone());
                }
            }
            *member = only;
        }
    }
}
