//! The contract suite of the Model seam: what every model must do.
//!
//! Promises: each scene is played by the fake and by a server on this machine in both wire forms, and must
//! give the same events. What each server sends is in `contract/wire.rs`, with its source.

mod stage;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::Usage;
use futures::StreamExt;

use super::model::{ChatMessage, ChatRequest, EndReason, Model, ModelError, ModelEvent, ToolCall};
use super::scripted::{ScriptedModel, ScriptedTurn};
use super::wire::MAX_STREAM;
use crate::ModelApi;
use crate::contract::soon;
use stage::Stage;

/// The key that every server gets and that must never be shown.
const KEY: &str = "sk-contract-secret";

/// What happens behind a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scene {
    /// "Hel", "lo".
    Plain,
    /// Words, then two calls.
    Calls,
    /// "Hel", and the connection ends.
    Cut,
    /// "Hel", then nothing more.
    SilentMiddle,
    /// Not even a head.
    SilentStart,
    /// Something that is not a stream of a model.
    Garbage,
    /// Events without end.
    Flood,
    /// One line without end.
    LongLine,
    /// Too many requests, try again in seven seconds.
    Busy,
    /// The key is refused.
    BadKey,
    /// The model is not there.
    NoModel,
    /// "Hel", then the server says that it is overloaded.
    ErrorInStream,
}

/// A model in a scene.
struct Subject {
    name: &'static str,
    model: Arc<dyn Model>,
    stage: Option<Stage>,
}

async fn subjects(scene: Scene) -> Vec<Subject> {
    let mut all =
        vec![Subject { name: "scripted", model: Arc::new(ScriptedModel::new([script(scene)])), stage: None }];
    for (name, api) in [("openai", ModelApi::Openai), ("anthropic", ModelApi::Anthropic)] {
        let stage = Stage::open(scene, api).await;
        all.push(Subject { name, model: stage.model(), stage: Some(stage) });
    }
    all
}

fn script(scene: Scene) -> ScriptedTurn {
    let place = || "script".to_owned();
    let why = || "words".to_owned();
    let hel = || ScriptedTurn::says(["Hel"]);
    let late = ModelError::TimedOut { place: place(), after: Duration::from_millis(50) };
    let bad = ModelError::BadAnswer { place: place(), why: why() };
    let busy = |retry_after| ModelError::RateLimited { place: place(), why: why(), retry_after };
    match scene {
        Scene::Plain => ScriptedTurn::says(["Hel", "lo"]).costs(12, 2),
        Scene::Calls => ScriptedTurn::says(["I ask."])
            .calls("c1", "ask_calc", r#"{"message":"2+2"}"#)
            .calls("c2", "ask_clock", r#"{"message":"now"}"#)
            .costs(40, 20),
        Scene::Cut => hel().breaks(ModelError::CutOff { place: place() }),
        Scene::SilentMiddle => hel().breaks(late),
        Scene::SilentStart => ScriptedTurn::refused(late),
        Scene::Garbage | Scene::Flood | Scene::LongLine => hel().breaks(bad),
        Scene::Busy => ScriptedTurn::refused(busy(Some(Duration::from_secs(7)))),
        Scene::BadKey => ScriptedTurn::refused(ModelError::Unauthorized {
            place: place(),
            remedy: "set CONTRACT_KEY".into(),
        }),
        Scene::NoModel => {
            ScriptedTurn::refused(ModelError::NoSuchModel { place: place(), model: "m1".into() })
        }
        Scene::ErrorInStream => hel().breaks(busy(None)),
    }
}

fn request() -> ChatRequest {
    let messages = vec![ChatMessage::User("Say hello".into())];
    ChatRequest { system: "Be brief.".into(), messages, max_tokens: 64, ..ChatRequest::default() }
}

/// All events of a model, and the error at which it stopped. Nothing may follow an error or an end.
async fn events_of(model: &dyn Model) -> (Vec<ModelEvent>, Option<ModelError>) {
    let listening = async {
        let mut stream = match model.chat(request()).await {
            Ok(stream) => stream,
            Err(error) => return (Vec::new(), Some(error)),
        };
        let mut events = Vec::new();
        while let Some(event) = stream.next().await {
            match event {
                Ok(event) => events.push(event),
                Err(error) => {
                    assert!(stream.next().await.is_none(), "nothing follows an error");
                    return (events, Some(error));
                }
            }
        }
        (events, None)
    };
    soon("the answer ends", listening).await
}

fn texts(events: &[ModelEvent]) -> String {
    let text =
        |event: &ModelEvent| if let ModelEvent::Text(text) = event { Some(text.clone()) } else { None };
    events.iter().filter_map(text).collect()
}

#[tokio::test]
async fn an_answer_is_its_words_then_its_usage_then_its_end() {
    for subject in subjects(Scene::Plain).await {
        let (events, error) = events_of(&*subject.model).await;
        let usage = Usage { input_tokens: 12, output_tokens: 2, ..Usage::default() };
        let expected = [
            ModelEvent::Text("Hel".into()),
            ModelEvent::Text("lo".into()),
            ModelEvent::Usage(usage),
            ModelEvent::End(EndReason::Stop),
        ];
        assert_eq!((events.as_slice(), error), (&expected[..], None), "{}", subject.name);
    }
}

#[tokio::test]
async fn calls_come_whole_and_before_the_usage() {
    let call = |id: &str, name: &str, message: &str| {
        let arguments = format!("{{\"message\":\"{message}\"}}");
        ModelEvent::ToolCall(ToolCall { id: id.into(), name: name.into(), arguments })
    };
    for subject in subjects(Scene::Calls).await {
        let (events, error) = events_of(&*subject.model).await;
        let expected = [
            ModelEvent::Text("I ask.".into()),
            call("c1", "ask_calc", "2+2"),
            call("c2", "ask_clock", "now"),
            ModelEvent::Usage(Usage { input_tokens: 40, output_tokens: 20, ..Usage::default() }),
            ModelEvent::End(EndReason::ToolCalls),
        ];
        assert_eq!((events.as_slice(), error), (&expected[..], None), "{}", subject.name);
    }
}

#[tokio::test]
async fn a_cut_in_the_middle_is_told_after_what_came() {
    for subject in subjects(Scene::Cut).await {
        let (events, error) = events_of(&*subject.model).await;
        assert_eq!(events, [ModelEvent::Text("Hel".into())], "{}", subject.name);
        assert!(matches!(error, Some(ModelError::CutOff { .. })), "{}: {error:?}", subject.name);
    }
}

#[tokio::test]
async fn silence_ends_in_time() {
    for scene in [Scene::SilentStart, Scene::SilentMiddle] {
        for subject in subjects(scene).await {
            let (_, error) = events_of(&*subject.model).await;
            let after = Duration::from_millis(50);
            let late = matches!(&error, Some(ModelError::TimedOut { after: waited, .. }) if *waited == after);
            assert!(late, "{} {scene:?}: {error:?}", subject.name);
        }
    }
}

#[tokio::test]
async fn an_unusable_answer_is_told_as_one() {
    for scene in [Scene::Garbage, Scene::LongLine] {
        for subject in subjects(scene).await {
            let (_, error) = events_of(&*subject.model).await;
            assert!(
                matches!(error, Some(ModelError::BadAnswer { .. })),
                "{} {scene:?}: {error:?}",
                subject.name
            );
        }
    }
}

#[tokio::test]
async fn an_endless_answer_is_read_up_to_a_limit() {
    for subject in subjects(Scene::Flood).await {
        let (events, error) = events_of(&*subject.model).await;
        assert!(matches!(error, Some(ModelError::BadAnswer { .. })), "{}: {error:?}", subject.name);
        assert!(texts(&events).len() <= MAX_STREAM, "{}", subject.name);
    }
}

#[tokio::test]
async fn a_busy_server_says_when_to_come_back() {
    for subject in subjects(Scene::Busy).await {
        let (_, error) = events_of(&*subject.model).await;
        let retry = Some(Duration::from_secs(7));
        let says =
            matches!(&error, Some(ModelError::RateLimited { retry_after, .. }) if *retry_after == retry);
        assert!(says, "{}: {error:?}", subject.name);
    }
}

#[tokio::test]
async fn a_refused_key_names_the_variable_and_not_the_key() {
    for subject in subjects(Scene::BadKey).await {
        let (_, error) = events_of(&*subject.model).await;
        let Some(error @ ModelError::Unauthorized { .. }) = error else {
            panic!("{}: {error:?}", subject.name)
        };
        let said = format!("{error} {error:?} {:?}", subject.model);
        assert!(said.contains("set CONTRACT_KEY"), "{said}");
        assert!(!said.contains(KEY), "{said}");
    }
}

#[tokio::test]
async fn a_missing_model_is_named() {
    for subject in subjects(Scene::NoModel).await {
        let (_, error) = events_of(&*subject.model).await;
        let named = matches!(&error, Some(ModelError::NoSuchModel { model, .. }) if model == "m1");
        assert!(named, "{}: {error:?}", subject.name);
    }
}

#[tokio::test]
async fn an_error_within_the_stream_is_understood() {
    for subject in subjects(Scene::ErrorInStream).await {
        let (events, error) = events_of(&*subject.model).await;
        assert_eq!(texts(&events), "Hel", "{}", subject.name);
        assert!(matches!(error, Some(ModelError::RateLimited { .. })), "{}: {error:?}", subject.name);
    }
}

#[tokio::test]
async fn dropping_an_answer_ends_its_request() {
    for subject in subjects(Scene::Flood).await {
        let mut stream = subject.model.chat(request()).await.unwrap();
        soon("the answer begins", stream.next()).await;
        drop(stream);
        if let Some(stage) = &subject.stage {
            soon("the server notices", stage.left()).await;
        }
    }
}

#[tokio::test]
async fn the_key_is_sent_where_the_server_looks_for_it() {
    for subject in subjects(Scene::Plain).await {
        events_of(&*subject.model).await;
        let Some(stage) = &subject.stage else { continue };
        let seen = stage.seen();
        let header = if subject.name == "openai" { "authorization" } else { "x-api-key" };
        let value = if subject.name == "openai" { format!("Bearer {KEY}") } else { KEY.to_owned() };
        assert_eq!(seen.header(header), Some(value.as_str()), "{}", subject.name);
        assert_eq!(seen.body["model"], "m1");
        assert_eq!(seen.body["stream"], true);
    }
}

#[tokio::test]
async fn a_server_that_is_not_there_cannot_be_reached() {
    for api in [ModelApi::Openai, ModelApi::Anthropic] {
        let stage = Stage::open(Scene::Plain, api).await;
        let model = stage.model();
        stage.close().await;
        let (_, error) = events_of(&*model).await;
        assert!(matches!(error, Some(ModelError::Unreachable { .. })), "{api:?}: {error:?}");
    }
}

#[tokio::test]
async fn the_streams_of_other_servers_are_understood() {
    for (name, stream, usage) in wire::DIALECTS {
        let stage = Stage::playing(stream).await;
        let (events, error) = events_of(&*stage.model()).await;
        assert_eq!((texts(&events).as_str(), error), ("Hello", None), "{name}");
        let Some(ModelEvent::Usage(told)) = events.get(events.len() - 2) else {
            panic!("{name}: {events:?}")
        };
        assert_eq!((told.input_tokens > 0, told.output_tokens), (true, usage), "{name}");
        assert_eq!(events.last(), Some(&ModelEvent::End(EndReason::Stop)), "{name}");
    }
}
