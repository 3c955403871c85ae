//! `/api/conversations`: conversations with agents, begun, gone on with, branched, searched, followed, exported and deleted.
//!
//! Promises: a conversation of somebody else answers like one that does not exist, whoever asks. What was said is on disk when the answer
//! comes; its task is followed at `/api/tasks/{id}/events`, because a turn is named by its task. A stream of events begins with how things
//! stand, so whoever was cut off only has to follow again. It judges nothing: the site does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use agentsite_protocol::{AgentName, ConversationId, MessageId, Part, TaskId};
use agentsite_site::{
    ConversationEdit, ConversationExport, ConversationView, ConversationWatch, ExportFormat, Placing,
    SiteError, TurnView, Utterance,
};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use serde::{Deserialize, Serialize};

use super::{Answer, Asking, Given, Wanted, bad, json, nothing, parse};
use crate::failure::Failure;
use crate::front::Front;
use crate::unread::Guarded;
use crate::visit::StreamPlace;
use crate::{cursor, sse};

/// Rows of a page when the caller names no number.
const PAGE: usize = 50;

/// What is said: plain words, or parts as A2A has them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Words {
    Text(String),
    Parts(Vec<Part>),
}

impl Words {
    fn parts(self) -> Vec<Part> {
        match self {
            Self::Text(text) => vec![Part::text(text)],
            Self::Parts(parts) => parts,
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Beginning {
    agent: Option<AgentName>,
    title: Option<String>,
    message: Option<Words>,
    message_id: Option<MessageId>,
}

#[derive(Serialize)]
struct Begun {
    conversation: ConversationView,
    #[serde(skip_serializing_if = "Option::is_none")]
    turn: Option<TurnView>,
}

pub(super) async fn begin(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Given(given): Given<Beginning>,
) -> Answer {
    let Beginning { agent, title, message, message_id } = given;
    let said =
        |words: Words| Utterance { parts: Some(words.parts()), message: message_id, ..Utterance::default() };
    let first = message.map(said);
    let (conversation, turn) = front.site.begin_conversation(&asking.caller, agent, title, first).await?;
    json(StatusCode::CREATED, &Begun { conversation, turn })
}

#[derive(Deserialize)]
pub(super) struct ListWanted {
    text: Option<String>,
    cursor: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Conversations {
    conversations: Vec<ConversationView>,
    /// Cursor to the next page.
    next: Option<String>,
}

pub(super) async fn list(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Wanted(wanted): Wanted<ListWanted>,
) -> Answer {
    let after = match wanted.cursor.as_deref() {
        None | Some("") => None,
        Some(text) => {
            let read = cursor::read_conversation(text);
            Some(read.ok_or_else(|| bad("cursor: use the `next` of a page".into()))?)
        }
    };
    let limit = wanted.limit.unwrap_or(PAGE);
    let page = front.site.conversations(&asking.caller, wanted.text, after, limit).await?;
    let next = page.next.map(cursor::write_conversation);
    json(StatusCode::OK, &Conversations { conversations: page.items, next })
}

pub(super) async fn show(State(front): State<Arc<Front>>, asking: Asking, Path(id): Path<String>) -> Answer {
    json(StatusCode::OK, &front.site.conversation(&asking.caller, named(&id)?).await?)
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Edit {
    title: Option<String>,
    pinned: Option<bool>,
    head: Option<TaskId>,
    revision: Option<u64>,
}

pub(super) async fn edit(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Given(Edit { title, pinned, head, revision }): Given<Edit>,
) -> Answer {
    let edit = ConversationEdit { title, pinned, head, revision };
    json(StatusCode::OK, &front.site.edit_conversation(&asking.caller, named(&id)?, edit).await?)
}

#[derive(Deserialize)]
pub(super) struct Removing {
    revision: Option<u64>,
}

pub(super) async fn remove(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Wanted(wanted): Wanted<Removing>,
) -> Answer {
    front.site.delete_conversation(&asking.caller, named(&id)?, wanted.revision).await?;
    Ok(nothing())
}

#[derive(Deserialize)]
pub(super) struct TurnsWanted {
    before: Option<String>,
    limit: Option<usize>,
}

#[derive(Serialize)]
struct Turns {
    turns: Vec<TurnView>,
    /// The oldest turn of the page, when there are more before it.
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<TaskId>,
}

pub(super) async fn turns(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Wanted(wanted): Wanted<TurnsWanted>,
) -> Answer {
    let before = wanted.before.as_deref().map(|id| parse("before", id)).transpose()?;
    let limit = wanted.limit.unwrap_or(PAGE);
    let page = front.site.turns(&asking.caller, named(&id)?, before, limit).await?;
    json(StatusCode::OK, &Turns { turns: page.turns, before: page.before })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Saying {
    agent: Option<AgentName>,
    message: Option<Words>,
    message_id: Option<MessageId>,
    parent: Option<TaskId>,
    instead: Option<TaskId>,
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
        let (agent, message, parts) = (self.agent, self.message_id, self.message.map(Words::parts));
        Ok(Utterance { agent, parts, message, placing })
    }
}

pub(super) async fn say(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Given(given): Given<Saying>,
) -> Answer {
    let turn = front.site.say(&asking.caller, named(&id)?, given.utterance()?).await?;
    json(StatusCode::CREATED, &turn)
}

pub(super) async fn events(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
) -> Answer {
    let place = front.open_stream(&asking.parts)?;
    let watch = front.site.follow_conversations(&asking.caller, Some(named(&id)?)).await?;
    Ok(sse::respond(&front, place, Vec::new(), Following(watch)))
}

pub(super) async fn all_events(State(front): State<Arc<Front>>, asking: Asking) -> Answer {
    let place = front.open_stream(&asking.parts)?;
    let watch = front.site.follow_conversations(&asking.caller, None).await?;
    // Something at once, so that a reader knows that it listens.
    Ok(sse::respond(&front, place, b": listening\n\n".to_vec(), Following(watch)))
}

/// What happens to conversations.
struct Following(ConversationWatch);

impl sse::Source for Following {
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
pub(super) struct ExportWanted {
    format: Option<String>,
}

pub(super) async fn export(
    State(front): State<Arc<Front>>,
    asking: Asking,
    Path(id): Path<String>,
    Wanted(wanted): Wanted<ExportWanted>,
) -> Answer {
    let (format, media, ending) = match wanted.format.as_deref() {
        None | Some("md") => (ExportFormat::Markdown, "text/markdown; charset=utf-8", "md"),
        Some("json") => (ExportFormat::Json, "application/json", "json"),
        Some(_) => return Err(bad("format: use md or json".into())),
    };
    let id = named(&id)?;
    let export = front.site.export_conversation(&asking.caller, id, format).await?;
    let place = front.open_stream(&asking.parts)?;
    let connection = Arc::clone(&place.line);
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

/// The next piece of an export; an export that cannot go on is cut off, so that nobody takes it for whole.
async fn piece(state: Exporting) -> Option<(Result<String, SiteError>, Exporting)> {
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
    id.parse().map_err(|_| SiteError::NoSuchConversation(id.chars().take(40).collect()).into())
}
