//! `/api/journal`: what happened, for admins.
//!
//! Promises: newest first; every filter narrows the others, and paging by `before` and `after` works with all
//! of them. It does not write to the journal.

use std::sync::Arc;

use agentsite_protocol::{JournalSubject, Timestamp};
use agentsite_site::{JournalQuery, StoredLine};
use axum::extract::State;
use http::StatusCode;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, Params, REST, RestResult, bad, parse};
use crate::document::json;
use crate::failure::Failure;
use crate::front::Front;
use crate::route::{Route, Shape};
use crate::written;

/// Lines when the caller names no number.
const LINES: usize = 100;

/// The form of `kind`: about a task or about none, a kind, or all kinds of a capability.
const KIND: &str = r"~^(task|site|[a-z][a-z0-9_-]*\.([a-z][a-z0-9_.-]*)?)$";

/// The form of `subject`: the site, or a type and an id.
const SUBJECT: &str = r"~^(site|[a-z][a-z0-9_-]*:[^\x00-\x1F\x7F-\x9F]+)$";

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![REST
        .get("/api/journal", list)
        .admin()
        .operation("listJournal", "What happened, newest first")
        .query(&[
            ("agent", "name", "About this agent"),
            ("task", "uuid", "About this task"),
            ("text", "string", "With this text"),
            ("actor", "string", "By this actor"),
            (
                "kind",
                KIND,
                "Of this kind, like task.completed; of all kinds of a capability, like task.; task and site: about a task, or about none",
            ),
            ("subject", SUBJECT, "About exactly this, like key:ID or agent:NAME; site: about the site itself"),
            ("since", "moment", "From this time on, like 2026-01-31T08:00:00Z"),
            ("until", "moment", "Before this time"),
            ("before", "integer", "Before this number"),
            ("after", "integer", "After this number"),
            ("limit", "integer", "100 when left out"),
        ])
        .gives(Shape::of::<Journal>())]
}

#[derive(Deserialize)]
struct JournalParams {
    agent: Option<String>,
    task: Option<String>,
    text: Option<String>,
    actor: Option<String>,
    kind: Option<String>,
    subject: Option<String>,
    since: Option<String>,
    until: Option<String>,
    before: Option<u64>,
    after: Option<u64>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Journal {
    #[schemars(with = "Vec<written::JournalLine>")]
    lines: Vec<StoredLine>,
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<JournalParams>,
) -> RestResult {
    let lines = front.site.operations().journal(&admitted.caller, query(params)?).await?;
    json(StatusCode::OK, &Journal { lines })
}

fn query(params: JournalParams) -> Result<JournalQuery, Failure> {
    let time = |what: &str, text: Option<String>| {
        let read = |text: String| Timestamp::parse(&text).map_err(|error| bad(format!("{what}: {error}")));
        text.map(read).transpose()
    };
    let (kind, about_task) = match params.kind.as_deref() {
        None => (None, None),
        Some("task") => (None, Some(true)),
        Some("site") => (None, Some(false)),
        Some(kind) => (Some(read_kind(kind)?), None),
    };
    Ok(JournalQuery {
        kind,
        subject: params.subject.as_deref().map(read_subject).transpose()?,
        before: params.before,
        after: params.after,
        actor: params.actor.filter(|actor| !actor.is_empty()),
        about_task,
        since: time("since", params.since)?,
        until: time("until", params.until)?,
        agent: params.agent.as_deref().map(|name| parse("agent", name)).transpose()?,
        task: params.task.as_deref().map(|id| parse("task", id)).transpose()?,
        text: params.text,
        limit: params.limit.unwrap_or(LINES),
    })
}

/// A kind as the store filters by it: `task.completed` as it is, `task.` without its dot.
fn read_kind(text: &str) -> Result<String, Failure> {
    let is_word = |word: &str, more: &[char]| {
        let fits =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || more.contains(&letter);
        word.starts_with(|first: char| first.is_ascii_lowercase()) && word.chars().all(fits)
    };
    match text.split_once('.') {
        Some((capability, "")) if is_word(capability, &['_', '-']) => Ok(capability.to_owned()),
        Some((capability, event)) if is_word(capability, &['_', '-']) && is_word(event, &['_', '-', '.']) => {
            Ok(text.to_owned())
        }
        _ => {
            let sentence = "kind: name a kind like task.completed, a capability with its dot like task., or task or site";
            Err(bad(sentence.into()))
        }
    }
}

fn read_subject(text: &str) -> Result<JournalSubject, Failure> {
    let subject = JournalSubject::read(text);
    let has_form = text.split_once(':').is_some_and(|(kind, id)| {
        let fits =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || "_-".contains(letter);
        kind.starts_with(|first: char| first.is_ascii_lowercase())
            && kind.chars().all(fits)
            && !id.is_empty()
            && !id.contains(char::is_control)
    });
    if subject == JournalSubject::Site || has_form {
        return Ok(subject);
    }
    Err(bad("subject: name a type and an id, like key:ID, agent:NAME or task:ID, or site".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_is_exact_or_a_capability_with_its_dot() {
        for (text, read) in [
            ("task.completed", "task.completed"),
            ("task.", "task"),
            ("push.receiver_added", "push.receiver_added"),
        ] {
            assert_eq!(read_kind(text).unwrap(), read);
        }
        for wrong in ["", ".", "tasks", ".completed", "Task.completed", "task.Completed", "task..", "task. "]
        {
            assert!(read_kind(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_subject_has_a_type_and_an_id() {
        assert_eq!(read_subject("site").unwrap(), JournalSubject::Site);
        assert_eq!(read_subject("name:poet").unwrap(), JournalSubject::Name("poet".into()));
        assert_eq!(read_subject("escrow:1").unwrap(), JournalSubject::Other("escrow:1".into()));
        for wrong in ["", "echo", "agent:", ":echo", "Agent:echo", "a b:c", "key:a\nb"] {
            assert!(read_subject(wrong).is_err(), "{wrong}");
        }
    }
}
