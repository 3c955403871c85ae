//! Tools that ask back: forms, the client's model, its folders, once, several at a time and in rounds.
//!
//! Promises: a question goes only to a client that can answer it; an answer that is missing or has another
//! form is asked for again; one that was not asked for is ignored.

use agentsite_host::{Exchange, ToolFault};
use agentsite_protocol::mcp::{InputNeeded, InputRequest, Reply, ToolResult};
use serde_json::{Value, json};

use super::{Fixture, Played, Stage, at_once, done};

pub(super) fn fixtures() -> Vec<Fixture> {
    let mut all = plain();
    all.extend(in_rounds());
    all
}

/// Tools of revision 2025-11-25, and those about what a client can do.
fn plain() -> Vec<Fixture> {
    let of_words = |name: &str| json!({ "type": "object", "properties": { name: { "type": "string" } }, "required": [name] });
    vec![
        Fixture::taking("test_sampling", "Asks the client's model", of_words("prompt"), |stage| {
            let prompt = stage.word("prompt").to_owned();
            at_once(one(&stage, "sampling", sampling(&prompt, 100), |answer| {
                format!("LLM response: {}", said(answer))
            }))
        }),
        Fixture::taking("test_elicitation", "Asks the user for a name", of_words("message"), |stage| {
            let text = json!({ "type": "string" });
            let asked = form(
                stage.word("message"),
                &json!({ "username": text, "email": text }),
                &["username", "email"],
            );
            at_once(one(&stage, "user", asked, |answer| format!("User response: {answer}")))
        }),
        Fixture::new("test_elicitation_sep1034_defaults", "Asks with a form that is filled", |stage| {
            let asked = form("Look over what is filled in", &defaults(), &[]);
            at_once(one(&stage, "form", asked, |answer| format!("Elicitation completed: {answer}")))
        }),
        Fixture::new("test_elicitation_sep1330_enums", "Asks with all kinds of choices", |stage| {
            let asked = form("Choose", &choices(), &[]);
            at_once(one(&stage, "form", asked, |answer| format!("Elicitation completed: {answer}")))
        }),
        Fixture::new("test_missing_capability", "Needs the client's model", |stage| {
            at_once(
                check(&stage.exchange, &sampling("anything", 1))
                    .map(|()| Reply::Done(ToolResult::text("The client can ask its model."))),
            )
        }),
        Fixture::new("test_streaming_elicitation", "Asks in the course of a stream", |stage| {
            super::notices::begin(&stage.exchange);
            at_once(one(&stage, "confirm", confirmation(), |answer| format!("Confirmed: {answer}")))
        }),
    ]
}

/// Tools of revision 2026-07-28, called again with the answers.
fn in_rounds() -> Vec<Fixture> {
    vec![
        Fixture::new("test_input_required_result_elicitation", "Asks for a name and greets", |stage| {
            at_once(one(&stage, "user_name", name_form("What is your name?"), |answer| {
                format!("Hello, {}!", filled(answer, "name"))
            }))
        }),
        Fixture::new("test_input_required_result_sampling", "Asks the client's model", |stage| {
            let asked = sampling("What is the capital of France?", 100);
            at_once(one(&stage, "capital_question", asked, |answer| said(answer).to_owned()))
        }),
        Fixture::new("test_input_required_result_list_roots", "Asks for the client's folders", |stage| {
            at_once(one(&stage, "client_roots", roots(), |answer| format!("Roots: {}", answer["roots"])))
        }),
        Fixture::new("test_input_required_result_request_state", "Is reminded of its state", |stage| {
            at_once(with_state(&stage))
        }),
        Fixture::new("test_input_required_result_tampered_state", "Notices a foreign state", |stage| {
            at_once(with_state(&stage))
        }),
        Fixture::new("test_input_required_result_multiple_inputs", "Asks three things at a time", |stage| {
            let asked = vec![
                ("client_roots", roots()),
                ("greeting", sampling("Generate a greeting", 50)),
                ("user_name", name_form("What is your name?")),
            ];
            at_once(several(&stage, asked))
        }),
        Fixture::new("test_input_required_result_multi_round", "Asks twice in a row", |stage| {
            at_once(rounds(&stage))
        }),
        Fixture::new("test_input_required_result_capabilities", "Asks what the client can answer", |stage| {
            let asked = [("confirm", confirmation()), ("thought", sampling("What do you think?", 50))];
            let able = asked.into_iter().filter(|(_, asked)| stage.exchange.abilities.allows(asked));
            let able: Vec<_> = able.collect();
            match able.is_empty() {
                true => done(ToolResult::text("The client can be asked nothing.")),
                false => at_once(several(&stage, able)),
            }
        }),
    ]
}

/// Asks one question and formats the answer.
fn one(stage: &Stage, key: &str, asked: InputRequest, words: impl Fn(&Value) -> String) -> Played {
    match stage.answer(key) {
        Some(answer) => Ok(Reply::Done(ToolResult::text(words(answer)))),
        None => ask(&stage.exchange, vec![(key, asked)], None),
    }
}

/// Asks every question without an answer.
pub(super) fn several(stage: &Stage, asked: Vec<(&str, InputRequest)>) -> Played {
    let answered: Vec<&str> =
        asked.iter().map(|(key, _)| *key).filter(|key| stage.answer(key).is_some()).collect();
    if answered.len() == asked.len() {
        return Ok(Reply::Done(ToolResult::text(format!("Answered: {}", answered.join(", ")))));
    }
    ask(&stage.exchange, asked, Some(json!({ "asked": "several" })))
}

/// Asks for a confirmation and expects its state back with it.
fn with_state(stage: &Stage) -> Played {
    let state = json!({ "tool": stage.call.name });
    if stage.answer("confirm").is_none() {
        return ask(&stage.exchange, vec![("confirm", confirmation())], Some(state));
    }
    if stage.call.round.state.as_ref() == Some(&state) {
        Ok(Reply::Done(ToolResult::text("state-ok")))
    } else {
        Err(ToolFault::BadArguments("the answer came without the state that belongs to its question".into()))
    }
}

/// Asks for a name, then for a color; the name is in the state of the second round.
fn rounds(stage: &Stage) -> Played {
    let known = stage.call.round.state.as_ref().and_then(|state| state["name"].as_str());
    match (known, stage.answer("step1"), stage.answer("step2")) {
        (Some(name), _, Some(color)) => {
            let words = format!("{name} likes {}.", filled(color, "color"));
            Ok(Reply::Done(ToolResult::text(words)))
        }
        (Some(name), _, None) => ask_color(stage, name),
        (None, Some(name), _) => ask_color(stage, filled(name, "name")),
        (None, None, _) => {
            let asked = vec![("step1", name_form("Step 1: What is your name?"))];
            ask(&stage.exchange, asked, Some(json!({ "round": 1 })))
        }
    }
}

fn ask_color(stage: &Stage, name: &str) -> Played {
    let color = json!({ "color": { "type": "string" } });
    let asked = vec![("step2", form("Step 2: What is your favorite color?", &color, &["color"]))];
    ask(&stage.exchange, asked, Some(json!({ "round": 2, "name": name })))
}

/// Gives questions back, if the client can answer them.
pub(super) fn ask<T>(
    exchange: &Exchange,
    asked: Vec<(&str, InputRequest)>,
    state: Option<Value>,
) -> Result<Reply<T>, ToolFault> {
    for (_, request) in &asked {
        check(exchange, request)?;
    }
    let requests = asked.into_iter().map(|(key, request)| (key.to_owned(), request)).collect();
    Ok(Reply::Input(InputNeeded { requests, state }))
}

/// Whether a question may be put to the client.
fn check(exchange: &Exchange, asked: &InputRequest) -> Result<(), ToolFault> {
    if exchange.abilities.allows(asked) {
        return Ok(());
    }
    let ability = asked.method.split('/').next().unwrap_or_default();
    Err(ToolFault::NeedsAbility {
        what: format!("this tool needs a client that answers {}", asked.method),
        capability: json!({ ability: {} }),
    })
}

/// A form of these fields.
pub(super) fn form(message: &str, fields: &Value, required: &[&str]) -> InputRequest {
    let schema = json!({ "type": "object", "properties": fields, "required": required });
    request("elicitation/create", json!({ "mode": "form", "message": message, "requestedSchema": schema }))
}

/// A form that asks for a name.
pub(super) fn name_form(message: &str) -> InputRequest {
    form(message, &json!({ "name": { "type": "string" } }), &["name"])
}

fn confirmation() -> InputRequest {
    form("Please confirm", &json!({ "ok": { "type": "boolean" } }), &["ok"])
}

fn sampling(prompt: &str, most: u32) -> InputRequest {
    let messages = json!([{ "role": "user", "content": { "type": "text", "text": prompt } }]);
    request("sampling/createMessage", json!({ "messages": messages, "maxTokens": most }))
}

fn roots() -> InputRequest {
    request("roots/list", json!({}))
}

fn request(method: &str, params: Value) -> InputRequest {
    let Value::Object(params) = params else { unreachable!("the parameters are written out above") };
    InputRequest { method: method.into(), params }
}

/// What a model said.
fn said(answer: &Value) -> &str {
    answer["content"]["text"].as_str().unwrap_or("nothing")
}

/// What was filled into a field of a form.
pub(super) fn filled<'a>(answer: &'a Value, field: &str) -> &'a str {
    answer["content"][field].as_str().unwrap_or("unnamed")
}

fn defaults() -> Value {
    json!({
        "name": { "type": "string", "description": "User name", "default": "John Doe" },
        "age": { "type": "integer", "description": "User age", "default": 30 },
        "score": { "type": "number", "description": "User score", "default": 95.5 },
        "status": {
            "type": "string",
            "description": "User status",
            "enum": ["active", "inactive", "pending"],
            "default": "active",
        },
        "verified": { "type": "boolean", "description": "Verification status", "default": true },
    })
}

fn choices() -> Value {
    let titled = |word: &str| {
        let named = ["First", "Second", "Third"].iter().zip(1..);
        let titled = named
            .map(|(title, at)| json!({ "const": format!("value{at}"), "title": format!("{title} {word}") }));
        Value::Array(titled.collect())
    };
    json!({
        "untitledSingle": { "type": "string", "enum": ["option1", "option2", "option3"] },
        "titledSingle": { "type": "string", "oneOf": titled("Option") },
        "legacyEnum": {
            "type": "string",
            "enum": ["opt1", "opt2", "opt3"],
            "enumNames": ["Option One", "Option Two", "Option Three"],
        },
        "untitledMulti": {
            "type": "array",
            "items": { "type": "string", "enum": ["option1", "option2", "option3"] },
        },
        "titledMulti": { "type": "array", "items": { "anyOf": titled("Choice") } },
    })
}
