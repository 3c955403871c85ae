//! Scene: what the conformance agent does, selected by the id of the message.
//!
//! Promises: pure and total; the longest known beginning of an id decides. The beginnings are those that the
//! scenarios of the A2A kits name (a2a-tck, branches 1.0-dev and 0.3.x). Other ids of the 1.0 kit complete;
//! all others leave the task open, because the 0.3 kit continues, cancels and subscribes to whatever it
//! began.

use std::time::Duration;

use agentsite_protocol::{Artifact, Part, Step};
use serde_json::json;

/// The time within which the kits expect an event of a stream, 2 s unless they are configured otherwise;
/// waits are multiples of it.
const STREAMING_TIMEOUT: Duration = Duration::from_secs(2);

/// The artifact that a scene makes.
const OUTPUT: &str = "output";

/// What is done, and how it ends.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scene {
    pub(super) acts: Vec<Act>,
    pub(super) ending: Ending,
}

/// One thing that is done.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Act {
    Pause(Duration),
    Step(Step),
}

/// How a scene ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Ending {
    Complete(Option<&'static str>),
    Ask(&'static str),
    AskPermission(&'static str),
    Reject(&'static str),
}

/// The answer that is given in place of a task.
pub(super) fn reply(id: &str) -> Option<&'static str> {
    id.starts_with("tck-message-response").then_some("Direct message response")
}

impl Scene {
    /// The scene that a message of this id asks for.
    pub(super) fn of(id: &str) -> Self {
        let known = SCENES.iter().filter(|(beginning, _)| id.starts_with(beginning));
        let longest = known.max_by_key(|(beginning, _)| beginning.len());
        longest.map_or_else(|| Self::ending(Ending::Ask("Say more, or cancel the task.")), |(_, make)| make())
    }

    fn ending(ending: Ending) -> Self {
        Self { acts: Vec::new(), ending }
    }

    fn completed(acts: impl Into<Vec<Act>>) -> Self {
        Self { acts: acts.into(), ending: Ending::Complete(None) }
    }

    fn showing(part: Part) -> Self {
        Self::completed([whole(part)])
    }

    fn after(pause: Duration, words: Option<&'static str>) -> Self {
        Self { acts: vec![Act::Pause(pause)], ending: Ending::Complete(words) }
    }
}

/// How an id begins, and what it asks for.
type Known = (&'static str, fn() -> Scene);

const SCENES: [Known; 18] = [
    ("tck-", || Scene::ending(Ending::Complete(Some("Nothing special is asked by this id.")))),
    ("tck-complete-task", || Scene::ending(Ending::Complete(Some("Hello from TCK")))),
    ("tck-delayed-complete", || Scene::after(STREAMING_TIMEOUT, Some("Done after delay"))),
    ("tck-input-required", || Scene::ending(Ending::Ask("What else?"))),
    ("tck-auth-required", || Scene::ending(Ending::AskPermission("May I?"))),
    ("tck-reject-task", || Scene::ending(Ending::Reject("rejected"))),
    ("tck-artifact-text", || Scene::showing(Part::text("Generated text content"))),
    ("tck-artifact-file", || Scene::showing(file())),
    ("tck-artifact-file-url", || Scene::showing(file_elsewhere())),
    ("tck-artifact-data", || Scene::showing(Part::data(json!({ "key": "value", "count": 42 })))),
    ("tck-stream-001", || Scene::showing(Part::text("Stream hello from TCK"))),
    ("tck-stream-002", || Scene::ending(Ending::Complete(None))),
    ("tck-stream-003", || Scene::showing(Part::text("Stream task lifecycle"))),
    ("tck-stream-ordering-001", || Scene::showing(Part::text("Ordered output"))),
    ("tck-stream-artifact-text", || Scene::showing(Part::text("Streamed text content"))),
    ("tck-stream-artifact-file", || Scene::showing(file())),
    ("tck-stream-artifact-chunked", || {
        Scene::completed([
            chunk("chunk-1 ", false, false),
            Act::Pause(BETWEEN_CHUNKS),
            chunk("chunk-2", true, true),
        ])
    }),
    ("test-resubscribe-message-id", || Scene::after(STREAMING_TIMEOUT * 2, None)),
];

/// Keeps two chunks apart that would otherwise be joined into one before they are sent.
const BETWEEN_CHUNKS: Duration = Duration::from_millis(50);

fn file() -> Part {
    Part { raw: Some("dGNr".into()), ..named() }
}

fn file_elsewhere() -> Part {
    Part { url: Some("https://example.com/output.txt".into()), ..named() }
}

fn named() -> Part {
    Part { media_type: Some("text/plain".into()), filename: Some("output.txt".into()), ..Part::default() }
}

fn whole(part: Part) -> Act {
    let artifact = Artifact { artifact_id: OUTPUT.into(), parts: vec![part], ..Artifact::default() };
    Act::Step(Step::Artifact { artifact, append: false, last_chunk: true })
}

fn chunk(text: &str, append: bool, last_chunk: bool) -> Act {
    Act::Step(Step::Artifact { artifact: Artifact::text(OUTPUT, text), append, last_chunk })
}
