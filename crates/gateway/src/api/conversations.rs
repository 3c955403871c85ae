//! `/api/conversations`: conversations with agents, begun, continued, branched, searched, followed, exported
//! and deleted.
//!
//! Promises: a conversation of somebody else answers like one that does not exist, also to admins. What was
//! said is on disk when the answer comes; its task is followed at `/api/tasks/{id}/events`, because a turn is
//! named by its task. A stream of events begins with how things stand, so a reader that was cut off only
//! has to follow again. It judges nothing: the site does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::{AgentName, ConversationId, MessageId, Part, TaskId};
use agentsite_site::{
    ConversationEdit, ConversationError, ConversationExport, ConversationView, ConversationWatch,
    ExportFormat, Placing, TurnView, Utterance,
};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::request::{Admitted, JsonBody, Params, REST, RestResult, bad, parse};
use crate::document::{json, nothing};
use crate::failure::Failure;
use crate::front::Front;
use crate::route::{Route, STREAM, Shape};
use crate::unread::Guarded;
use crate::visit::StreamPlace;
use crate::written::{self, NameOfAgent, NameOfMessage, Said, Uuid};
use crate::{cursor, sse};

/// Rows of a page when the caller names no number.
const PAGE: usize = 50;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/conversations", list)
            .operation(
                "listConversations",
                "Your conversations, pinned ones first, then the last changed first",
            )
            .query(&[
                ("text", "string", "With these words in title, questions or answers"),
                ("limit", "integer", "50 when left out"),
                ("cursor", "string", "next of the page before"),
            ])
            .gives(Shape::of::<Conversations>()),
        REST.post("/api/conversations", begin)
            .operation("beginConversation", "Begin a conversation, with first words or without")
            .takes(Shape::of::<Beginning>())
            .status("201")
            .gives(Shape::of::<StartedConversation>()),
        REST.get("/api/conversations/events", all_events)
            .operation("followConversations", "What happens to your conversations, as it does")
            .gives("ConversationEvent")
            .media(STREAM),
        REST.get("/api/conversations/{id}", show)
            .operation("getConversation", "One conversation without its turns")
            .gives("Conversation"),
        REST.patch("/api/conversations/{id}", edit)
            .operation("editConversation", "Rename it, pin it, or choose the branch that is shown")
            .takes(Shape::of::<Edit>())
            .gives("Conversation"),
        REST.delete("/api/conversations/{id}", remove)
            .operation("deleteConversation", "Delete it with everything that was said in it")
            .query(&[("revision", "integer", "Only if this is still its revision")]),
        REST.get("/api/conversations/{id}/turns", turns)
            .operation("listTurns", "A page of the path that is shown, oldest first")
            .query(&[
                ("before", "uuid", "before of the page after; the last turns when left out"),
                ("limit", "integer", "50 when left out"),
            ])
            .gives(Shape::of::<Turns>()),
        REST.post("/api/conversations/{id}/turns", say)
            .operation(
                "say",
                "Say something: a new turn, an edit or retry of one, or an answer to what was asked back",
            )
            .takes(Shape::of::<Saying>())
            .status("201")
            .gives("Turn"),
        REST.get("/api/conversations/{id}/events", events)
            .operation("followConversation", "What happens to a conversation, as it does")
            .gives("ConversationEvent")
            .media(STREAM),
        REST.get("/api/conversations/{id}/export", export)
            .operation("exportConversation", "A conversation as Markdown or JSON")
            .query(&[("format", "md|json", "md when left out")])
            .gives("Export")
            .media("text/markdown|application/json"),
    ]
}

/// What is said: plain words, or parts as A2A has them.
#[derive(Deserialize)]
#[serde(untagged)]
enum TurnContent {
    Text(String),
    Parts(Vec<Part>),
}

impl TurnContent {
    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::text(text)],
            Self::Parts(parts) => parts,
        }
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewConversation")]
struct Beginning {
    #[schemars(with = "Option<NameOfAgent>", extend("about" = "The concierge when left out"))]
    agent: Option<AgentName>,
    #[schemars(
        length(min = 1, max = 200),
        extend("pattern" = r"\S", "about" = "Made from the first words when left out")
    )]
    title: Option<String>,
    #[serde(default)]
    #[schemars(with = "Said")]
    message: Option<TurnContent>,
    #[schemars(with = "Option<NameOfMessage>", extend("about" = "The same one again is the same message"))]
    message_id: Option<MessageId>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "BegunConversation")]
struct StartedConversation {
    #[schemars(with = "written::Conversation")]
    conversation: ConversationView,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<written::Turn>")]
    turn: Option<TurnView>,
}

async fn begin(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<Beginning>,
) -> RestResult {
    let Beginning { agent, title, message, message_id } = given;
    let said = |words: TurnContent| Utterance {
        parts: Some(words.parts()),
        message: message_id,
        ..Utterance::default()
    };
    let first = message.map(said);
    let (conversation, turn) =
        front.site.conversations().begin(&admitted.caller, agent, title, first).await?;
    json(StatusCode::CREATED, &StartedConversation { conversation, turn })
}

#[derive(Deserialize)]
struct ConversationParams {
    text: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Conversations {
    #[schemars(with = "Vec<written::Conversation>")]
    conversations: Vec<ConversationView>,
    /// Cursor to the next page.
    next: Option<String>,
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<ConversationParams>,
) -> RestResult {
    let after = match params.cursor.as_deref() {
        None | Some("") => None,
        Some(text) => {
            let read = cursor::read_conversation(text);
            Some(read.ok_or_else(|| bad("cursor: use the `next` of a page".into()))?)
        }
    };
    let limit = params.limit.unwrap_or(PAGE);
    let page = front.site.conversations().list(&admitted.caller, params.text, after, limit).await?;
    let next = page.next.map(cursor::write_conversation);
    json(StatusCode::OK, &Conversations { conversations: page.items, next })
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &front.site.conversations().get(&admitted.caller, named(&id)?).await?)
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "ConversationEdit")]
struct Edit {
    #[schemars(length(min = 1, max = 200), extend("pattern" = r"\S"))]
    title: Option<String>,
    pinned: Option<bool>,
    #[schemars(with = "Option<Uuid>", extend("about" = "A turn on the branch that is to be shown"))]
    head: Option<TaskId>,
    #[schemars(extend("maximum" = u64::MAX, "about" = "Refused when there is a newer one"))]
    revision: Option<u64>,
}

async fn edit(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(Edit { title, pinned, head, revision }): JsonBody<Edit>,
) -> RestResult {
    let edit = ConversationEdit { title, pinned, head, revision };
    json(StatusCode::OK, &front.site.conversations().edit(&admitted.caller, named(&id)?, edit).await?)
}

#[derive(Deserialize)]
struct Removing {
    revision: Option<u64>,
}

async fn remove(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<Removing>,
) -> RestResult {
    front.site.conversations().delete(&admitted.caller, named(&id)?, params.revision).await?;
    Ok(nothing())
}

#[derive(Deserialize)]
struct TurnsParams {
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize, JsonSchema)]
struct Turns {
    #[schemars(with = "Vec<written::Turn>")]
    turns: Vec<TurnView>,
    /// The oldest turn of the page, when there are more before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(
        with = "Option<String>",
        extend("about" = "The oldest turn of the page, when there are more before it")
    )]
    before: Option<TaskId>,
}

async fn turns(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<TurnsParams>,
) -> RestResult {
    let before = params.before.as_deref().map(|id| parse("before", id)).transpose()?;
    let limit = params.limit.unwrap_or(PAGE);
    let page = front.site.conversations().turns(&admitted.caller, named(&id)?, before, limit).await?;
    json(StatusCode::OK, &Turns { turns: page.turns, before: page.before })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Saying {
    #[schemars(
        with = "Option<NameOfAgent>",
        extend("about" = "The one that the conversation was begun with when left out")
    )]
    agent: Option<AgentName>,
    #[serde(default)]
    #[schemars(with = "Said")]
    message: Option<TurnContent>,
    #[schemars(with = "Option<NameOfMessage>", extend("about" = "The same one again is the same message"))]
    message_id: Option<MessageId>,
    #[schemars(
        with = "Option<Uuid>",
        extend("about" = "After this turn; after the one that is shown last when left out")
    )]
    parent: Option<TaskId>,
    #[schemars(
        with = "Option<Uuid>",
        extend("about" = "Beside this turn: an edit, or without a message a retry")
    )]
    instead: Option<TaskId>,
    #[schemars(
        with = "Option<Uuid>",
        extend("about" = "Answers what the agent of this turn asked back")
    )]
    answers: Option<TaskId>,
}

impl Saying {
    fn utterance(self) -> Result<Utterance, Failure> {
        let placing = match (self.parent, self.instead, self.answers) {
            (None, None, None) => Placing::Last,
            (Some(turn), None, None) => Placing::After(turn),
            (None, Some(turn), None) => Placing::Instead(turn),
            (None, None, Some(turn)) => Placing::Answering(turn),
            _ => return Err(bad("send one of `parent`, `instead` and `answers`, or none of them".into())),
        };
        let (agent, message, parts) = (self.agent, self.message_id, self.message.map(TurnContent::parts));
        Ok(Utterance { agent, parts, message, placing })
    }
}

async fn say(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(given): JsonBody<Saying>,
) -> RestResult {
    let turn = front.site.conversations().say(&admitted.caller, named(&id)?, given.utterance()?).await?;
    json(StatusCode::CREATED, &turn)
}

async fn events(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    let place = front.open_stream(&admitted.parts)?;
    let watch = front.site.conversations().follow(&admitted.caller, Some(named(&id)?)).await?;
    Ok(sse::respond(&front, place, Vec::new(), ConversationStream(watch)))
}

async fn all_events(State(front): State<Arc<Front>>, admitted: Admitted) -> RestResult {
    let place = front.open_stream(&admitted.parts)?;
    let watch = front.site.conversations().follow(&admitted.caller, None).await?;
    // Something at once, so that a reader knows that it listens.
    Ok(sse::respond(&front, place, b": listening\n\n".to_vec(), ConversationStream(watch)))
}

/// What happens to conversations.
struct ConversationStream(ConversationWatch);

impl sse::SseSource for ConversationStream {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let event = self.0.next().await?;
            let revision = event.conversation.as_ref().map(|conversation| conversation.revision);
            let mut out = Vec::new();
            if let Err(error) = sse::event(&mut out, revision, |out| serde_json::to_writer(out, &event)) {
                tracing::error!(%error, "an event of a conversation could not be written");
            }
            Some(out)
        })
    }
}

#[derive(Deserialize)]
struct ExportParams {
    format: Option<String>,
}

async fn export(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<ExportParams>,
) -> RestResult {
    let (format, media, ending) = match params.format.as_deref() {
        None | Some("md") => (ExportFormat::Markdown, "text/markdown; charset=utf-8", "md"),
        Some("json") => (ExportFormat::Json, "application/json", "json"),
        Some(_) => return Err(bad("format: use md or json".into())),
    };
    let id = named(&id)?;
    let export = front.site.conversations().export(&admitted.caller, id, format).await?;
    let place = front.open_stream(&admitted.parts)?;
    let connection = Arc::clone(&place.connection);
    let pieces = Guarded::new(&connection, stream::unfold(Some((export, place)), piece));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    let name = format!("attachment; filename=\"conversation-{id}.{ending}\"");
    headers.insert(
        header::CONTENT_DISPOSITION,
        HeaderValue::from_str(&name).expect("an id has only letters that a header may have"),
    );
    Ok(response)
}

type Exporting = Option<(ConversationExport, StreamPlace)>;

/// The next piece of an export. One that cannot continue is cut off, so that it cannot pass for a whole one.
async fn piece(state: Exporting) -> Option<(Result<String, ConversationError>, Exporting)> {
    let (mut export, place) = state?;
    match export.next().await {
        Ok(piece) => Some((Ok(piece?), Some((export, place)))),
        Err(error) => {
            tracing::error!(%error, "an export of a conversation could not go on");
            Some((Err(error), None))
        }
    }
}

/// A malformed id answers like a conversation that is not there.
fn named(id: &str) -> Result<ConversationId, Failure> {
    id.parse().map_err(|_| ConversationError::NoSuchConversation(id.chars().take(40).collect()).into())
}
