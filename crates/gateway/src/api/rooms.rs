//! `/api/rooms`: rooms of people and agents, created, joined, read, followed, searched and exported.
//!
//! Promises: a room that the caller does not belong to answers like one that does not exist. A message is on
//! disk when the answer comes, with its number; the same message again gives the same number. A stream of
//! events continues after the number that the reader names (`after`, or `Last-Event-ID`). It judges nothing:
//! the room does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::room::{Envelope, MemberId, MemberRole, RoomSettings, envelope_schema};
use agentsite_protocol::{MessageId, Part, RoomId};
use agentsite_site::{
    NewRoom, Posted, RoomError, RoomExport, RoomExportFormat, RoomLink, RoomPage, RoomView, RoomWatch,
};
use axum::body::Body;
use axum::extract::{Path, State};
use axum::response::Response;
use futures::stream;
use http::{HeaderValue, StatusCode, header};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::request::{Admitted, JsonBody, Params, REST, RestResult, bad, parse};
use crate::document::{json, nothing};
use crate::failure::Failure;
use crate::front::Front;
use crate::route::{Route, STREAM, Shape};
use crate::sse;
use crate::unread::Guarded;
use crate::visit::StreamPlace;

/// Rows of a page when the caller names no number.
const PAGE: usize = 50;

type Object = Map<String, Value>;

/// The routes of this file.
pub(super) fn routes() -> Vec<Route> {
    vec![
        REST.get("/api/rooms", list)
            .operation("listRooms", "Your rooms and invitations, the last changed first")
            .query(&[("limit", "integer", "50 when left out")])
            .gives(Shape::of::<RoomList>()),
        REST.post("/api/rooms", create)
            .operation("createRoom", "Create a room and invite members")
            .takes(Shape::of::<Creating>())
            .status("201")
            .gives(Shape::of::<RoomAnswer>()),
        REST.post("/api/rooms/join", join)
            .operation("joinRoom", "Join a room by the token of a link")
            .takes(Shape::of::<Joining>())
            .gives(Shape::of::<RoomAnswer>()),
        REST.get("/api/rooms/envelope", schema)
            .operation("getEnvelopeSchema", "The JSON Schema of a room's messages (envelope v1)")
            .gives(Shape::of::<SchemaAnswer>()),
        REST.get("/api/rooms/{id}", show)
            .operation("getRoom", "One room with its members, without its messages")
            .gives(Shape::of::<RoomAnswer>()),
        REST.get("/api/rooms/{id}/messages", read)
            .operation("readRoom", "Events after a number, in order")
            .query(&[("after", "integer", "0 when left out"), ("limit", "integer", "50 when left out")])
            .gives(Shape::of::<PageAnswer>()),
        REST.post("/api/rooms/{id}/messages", send)
            .operation(
                "sendToRoom",
                "Send a message: say, assign, vote, conclude, invite, leave, close and so on",
            )
            .takes(Shape::of::<Sending>())
            .status("201")
            .gives(Shape::of::<PostedAnswer>()),
        REST.post("/api/rooms/{id}/ack", ack)
            .operation("ackRoom", "Note how far you have read")
            .takes(Shape::of::<Acking>()),
        REST.post("/api/rooms/{id}/links", link)
            .operation("linkRoom", "Make a link with which others join")
            .takes(Shape::of::<Linking>())
            .status("201")
            .gives(Shape::of::<LinkAnswer>()),
        REST.get("/api/rooms/{id}/search", search)
            .operation("searchRoom", "Messages in which all of these words occur, the newest first")
            .query(&[("text", "string", "The words"), ("limit", "integer", "50 when left out")])
            .gives(Shape::of::<PageAnswer>()),
        REST.get("/api/rooms/{id}/events", events)
            .operation("followRoom", "Events of a room after a number, as they happen")
            .query(&[("after", "integer", "0 when left out")])
            .gives(Shape::of::<PageAnswer>())
            .media(STREAM),
        REST.get("/api/rooms/{id}/export", export)
            .operation("exportRoom", "A room as a transcript or as lines of JSON")
            .query(&[("format", "md|jsonl", "md when left out")])
            .gives("Export")
            .media("text/markdown|application/jsonl"),
    ]
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Room")]
struct RoomAnswer(#[schemars(with = "Object")] RoomView);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "PostedMessage")]
struct PostedAnswer(#[schemars(with = "Object")] Posted);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RoomLink")]
struct LinkAnswer(#[schemars(with = "Object")] RoomLink);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "RoomPage")]
struct PageAnswer(#[schemars(with = "Object")] RoomPage);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "EnvelopeSchema")]
struct SchemaAnswer(#[schemars(with = "Object")] Value);

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Rooms")]
struct RoomList {
    #[schemars(with = "Vec<Object>")]
    rooms: Vec<RoomView>,
}

#[derive(Deserialize)]
struct ListParams {
    limit: Option<usize>,
}

async fn list(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Params(params): Params<ListParams>,
) -> RestResult {
    let page = front.site.rooms().list(&admitted.caller, None, params.limit.unwrap_or(PAGE)).await?;
    json(StatusCode::OK, &RoomList { rooms: page.items })
}

#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
#[schemars(rename = "NewRoom")]
struct Creating {
    #[schemars(length(min = 1, max = 200), extend("pattern" = r"\S"))]
    title: String,
    #[serde(default)]
    #[schemars(with = "Option<Object>", extend("about" = "Floor, reply mode, caps, budgets and deadlines"))]
    rules: Option<RoomSettings>,
    #[serde(default)]
    #[schemars(with = "Option<Object>", extend("about" = "What the room works on"))]
    goal: Option<Value>,
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>", extend("about" = "Agents as agent:NAME, people as key:ID"))]
    members: Option<Vec<MemberId>>,
}

async fn create(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(given): JsonBody<Creating>,
) -> RestResult {
    let role = |id: MemberId| {
        let role = if id.agent_name().is_some() { MemberRole::Member } else { MemberRole::Human };
        (id, role)
    };
    let new = NewRoom {
        title: given.title,
        settings: given.rules.unwrap_or_default(),
        goal: given.goal,
        members: given.members.unwrap_or_default().into_iter().map(role).collect(),
    };
    json(StatusCode::CREATED, &RoomAnswer(front.site.rooms().create(&admitted.caller, new).await?))
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Joining {
    token: String,
}

async fn join(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    JsonBody(Joining { token }): JsonBody<Joining>,
) -> RestResult {
    json(StatusCode::OK, &RoomAnswer(front.site.rooms().join(&admitted.caller, &token).await?))
}

async fn schema(_: Admitted) -> RestResult {
    json(StatusCode::OK, &SchemaAnswer(envelope_schema()))
}

async fn show(State(front): State<Arc<Front>>, admitted: Admitted, Path(id): Path<String>) -> RestResult {
    json(StatusCode::OK, &RoomAnswer(front.site.rooms().get(&admitted.caller, named(&id)?).await?))
}

#[derive(Deserialize)]
struct ReadParams {
    after: Option<u64>,
    limit: Option<usize>,
}

async fn read(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<ReadParams>,
) -> RestResult {
    let (after, limit) = (params.after.unwrap_or(0), params.limit.unwrap_or(PAGE));
    let page = front.site.rooms().read(&admitted.caller, named(&id)?, after, limit).await?;
    json(StatusCode::OK, &PageAnswer(page))
}

/// A message: plain text, or any members of envelope v1; the room, the sender and the time are the site's.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RoomMessage")]
struct Sending {
    #[serde(default)]
    #[schemars(extend("about" = "Plain text"))]
    text: Option<String>,
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("about" = "The same one again is the same message"))]
    id: Option<MessageId>,
    #[serde(default)]
    #[schemars(with = "Option<Vec<String>>", extend("about" = "Who is mentioned"))]
    mentions: Option<Vec<MemberId>>,
    #[serde(default)]
    #[schemars(with = "Option<Object>", extend("about" = "Members of envelope v1, such as type, to, assign, vote"))]
    envelope: Option<Object>,
}

async fn send(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(given): JsonBody<Sending>,
) -> RestResult {
    let room = named(&id)?;
    let envelope = composed(&front, &admitted, room, given)?;
    json(StatusCode::CREATED, &PostedAnswer(front.site.rooms().post(&admitted.caller, envelope).await?))
}

fn composed(front: &Front, admitted: &Admitted, room: RoomId, given: Sending) -> Result<Envelope, Failure> {
    let base = front.site.rooms().draft(&admitted.caller, room)?;
    let mut whole = base.to_value();
    for (name, value) in given.envelope.unwrap_or_default() {
        // A message that names another room or sender is refused by the room, not rewritten.
        whole[name] = value;
    }
    let mut envelope: Envelope =
        serde_json::from_value(whole).map_err(|error| bad(format!("envelope: {error}")))?;
    if let Some(text) = given.text {
        envelope.content = vec![Part::text(text)];
    }
    if let Some(message) = given.id {
        envelope.id = message;
    }
    envelope.mentions.extend(given.mentions.unwrap_or_default());
    if envelope.group_id != room {
        return Err(bad("group_id: it is not the room of the path".into()));
    }
    Ok(envelope)
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "RoomCursor")]
struct Acking {
    #[schemars(extend("about" = "The last event that you got"))]
    delivered: u64,
    #[serde(default)]
    #[schemars(extend("about" = "The last event that you have dealt with"))]
    processed: u64,
}

async fn ack(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(Acking { delivered, processed }): JsonBody<Acking>,
) -> RestResult {
    front.site.rooms().ack(&admitted.caller, named(&id)?, delivered, processed).await?;
    Ok(nothing())
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "NewRoomLink")]
struct Linking {
    #[serde(default)]
    #[schemars(with = "Option<String>", extend("about" = "member, human or observer; human when left out"))]
    role: Option<MemberRole>,
    #[serde(default)]
    #[schemars(extend("about" = "Seconds; a week when left out"))]
    ttl: Option<u64>,
}

async fn link(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    JsonBody(Linking { role, ttl }): JsonBody<Linking>,
) -> RestResult {
    let (role, ttl) = (role.unwrap_or(MemberRole::Human), ttl.map(Duration::from_secs));
    json(
        StatusCode::CREATED,
        &LinkAnswer(front.site.rooms().link(&admitted.caller, named(&id)?, role, ttl).await?),
    )
}

#[derive(Deserialize)]
struct SearchParams {
    text: String,
    limit: Option<usize>,
}

async fn search(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<SearchParams>,
) -> RestResult {
    let limit = params.limit.unwrap_or(PAGE);
    let found = front.site.rooms().search(&admitted.caller, named(&id)?, &params.text, limit).await?;
    let head = found.first().map_or(0, |event| event.seq);
    json(StatusCode::OK, &PageAnswer(RoomPage { events: found, gap: None, head, next: head }))
}

async fn events(
    State(front): State<Arc<Front>>,
    admitted: Admitted,
    Path(id): Path<String>,
    Params(params): Params<ReadParams>,
) -> RestResult {
    let resumed = admitted.parts.headers.get("last-event-id").and_then(|id| id.to_str().ok());
    let resumed = resumed.map(|id| parse::<u64>("Last-Event-ID", id)).transpose()?;
    let place = front.open_stream(&admitted.parts)?;
    let after = resumed.or(params.after).unwrap_or(0);
    let watch = front.site.rooms().follow(&admitted.caller, named(&id)?, after).await?;
    Ok(sse::respond(&front, place, b": listening\n\n".to_vec(), RoomStream(watch)))
}

/// Events of a room.
struct RoomStream(RoomWatch);

impl sse::SseSource for RoomStream {
    fn next(&mut self) -> Pin<Box<dyn Future<Output = Option<Vec<u8>>> + Send + '_>> {
        Box::pin(async {
            let page = self.0.next().await?;
            let mut out = Vec::new();
            let next = Some(page.next);
            if let Err(error) = sse::event(&mut out, next, |out| serde_json::to_writer(out, &page)) {
                tracing::error!(%error, "an event of a room could not be written");
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
    let (format, media) = match params.format.as_deref() {
        None | Some("md") => (RoomExportFormat::Markdown, "text/markdown; charset=utf-8"),
        Some("jsonl") => (RoomExportFormat::JsonLines, "application/jsonl"),
        Some(_) => return Err(bad("format: use md or jsonl".into())),
    };
    let export = front.site.rooms().export(&admitted.caller, named(&id)?, format).await?;
    let place = front.open_stream(&admitted.parts)?;
    let connection = Arc::clone(&place.connection);
    let pieces = Guarded::new(&connection, stream::unfold(Some((export, place)), piece));
    let mut response = Response::new(Body::from_stream(pieces));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(media));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    Ok(response)
}

type Exporting = Option<(RoomExport, StreamPlace)>;

/// The next piece of an export. One that cannot continue is cut off, so that it cannot pass for a whole one.
async fn piece(state: Exporting) -> Option<(Result<String, RoomError>, Exporting)> {
    let (mut export, place) = state?;
    match export.next().await {
        Ok(piece) => Some((Ok(piece?), Some((export, place)))),
        Err(error) => {
            tracing::error!(%error, "an export of a room could not continue");
            Some((Err(error), None))
        }
    }
}

/// A malformed id answers like a room that is not there.
fn named(id: &str) -> Result<RoomId, Failure> {
    id.parse().map_err(|_| RoomError::NoSuchRoom(id.chars().take(40).collect()).into())
}
