//! How the site's own capabilities take part in tasks.
//!
//! What every hook can rely on is told in `tasks`; push and conversations have stories of their own.

use std::sync::Mutex;

use agentsite_protocol::Usage;
use agentsite_store::TaskReads;
use agentsite_tasks::{Origin, TaskMoment};

use super::*;
use crate::{Placing, Utterance};

/// Remembers where the tasks came from that it heard of.
#[derive(Debug, Default)]
struct Origins(Mutex<Vec<Origin>>);

impl TaskHook for Origins {
    fn committed(&self, moment: &TaskMoment<'_>) {
        self.0.lock().unwrap().push(moment.origin());
    }
}

#[tokio::test]
async fn a_turn_says_that_it_came_from_its_conversation() {
    let heard = Arc::new(Origins::default());
    let story = Story::with_hook(heard.clone()).await;
    let agent = story.agent("echo", echo());
    story.ask(&agent, "x").await;
    let first =
        Utterance { parts: Some(story.says("hello").parts), placing: Placing::Last, ..Utterance::default() };
    let me = Caller::local();
    let (kept, turn) = story.site.conversations().begin(&me, Some(agent), None, Some(first)).await.unwrap();
    story.site.tasks().watch(&me, turn.unwrap().id, 0).await.unwrap().settled().await;
    let heard = heard.0.lock().unwrap();
    assert!(heard.contains(&Origin::Call) && heard.contains(&Origin::Conversation(kept.id)), "{heard:?}");
}

#[tokio::test]
async fn usage_is_written_with_the_events_that_report_it() {
    let story = Story::begin().await;
    let used = Usage { input_tokens: 3, output_tokens: 5, ..Usage::default() };
    let agent = story.agent("model", ScriptedRunner::new().used(used).chunk("x").used(used).chunk("y"));
    story.ask(&agent, "x").await;
    let day = story.clock.now().day();
    let stored = story.store.usage(&agent, day).await.unwrap();
    assert_eq!((stored.input_tokens, stored.output_tokens), (6, 10));
}
