//! Tools that return each kind of content, fail, or only have arguments of a special form.
//!
//! Promises: they answer at once and ask for nothing.

use agentsite_protocol::mcp::{Content, Contents, ToolResult};
use serde_json::{Value, json};

use super::{Fixture, done};

/// A red dot of one pixel.
pub(super) const PNG: &str =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGP4z8AAAAMBAQDJ/pLvAAAAAElFTkSuQmCC";

/// Four samples of audio.
const WAV: &str = "UklGRiwAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQgAAAAAAEAfAADA4A==";

pub(super) fn fixtures() -> Vec<Fixture> {
    vec![
        Fixture::new("test_simple_text", "Gives back words", |_| {
            done(ToolResult::text("This is a simple text response for testing."))
        }),
        Fixture::new("test_image_content", "Gives back a picture", |_| done(of([picture()]))),
        Fixture::new("test_audio_content", "Gives back a sound", |_| {
            done(of([Content::audio(WAV, "audio/wav")]))
        }),
        Fixture::new("test_embedded_resource", "Gives back a resource with its content", |_| {
            let text = "This is an embedded resource content.";
            done(of([Content::resource(Contents::text("test://embedded-resource", "text/plain", text))]))
        }),
        Fixture::new("test_multiple_content_types", "Gives back words, a picture and a resource", |_| {
            let data = json!({ "test": "data", "value": 123 }).to_string();
            let resource = Contents::text("test://mixed-content-resource", "application/json", data);
            let words = Content::text("Multiple content types test:");
            done(of([words, picture(), Content::resource(resource)]))
        }),
        Fixture::new("test_error_handling", "Always fails", |_| {
            done(ToolResult::error("This tool intentionally returns an error for testing"))
        }),
        Fixture::taking(
            "json_schema_2020_12_tool",
            "Tool with JSON Schema 2020-12 features",
            newer_schema(),
            |stage| done(ToolResult::structured(Value::Object(stage.call.arguments))),
        ),
        Fixture::taking(
            "test_header_parameters",
            "Has arguments that clients repeat in headers",
            json!({
                "type": "object",
                "properties": {
                    "region": { "type": "string", "description": "Where it runs", "x-mcp-header": "Region" },
                    "priority": { "type": "integer", "description": "How soon", "x-mcp-header": "Priority" },
                },
                "required": ["region"],
            }),
            |stage| done(ToolResult::text(format!("region: {}", stage.word("region")))),
        ),
    ]
}

pub(super) fn picture() -> Content {
    Content::image(PNG, "image/png")
}

fn of(content: impl Into<Vec<Content>>) -> ToolResult {
    ToolResult { content: content.into(), ..ToolResult::default() }
}

/// A schema whose every keyword must reach the client.
fn newer_schema() -> Value {
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": { "street": { "type": "string" }, "city": { "type": "string" } },
            },
        },
        "properties": {
            "name": { "type": "string" },
            "address": { "$ref": "#/$defs/address" },
            "contactMethod": { "type": "string", "enum": ["phone", "email"] },
            "phone": { "type": "string" },
            "email": { "type": "string" },
        },
        "allOf": [{ "anyOf": [{ "required": ["phone"] }, { "required": ["email"] }] }],
        "if": { "properties": { "contactMethod": { "const": "phone" } }, "required": ["contactMethod"] },
        "then": { "required": ["phone"] },
        "else": { "required": ["email"] },
        "additionalProperties": false,
    })
}
