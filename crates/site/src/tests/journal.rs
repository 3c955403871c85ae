//! Everything that changes what a site keeps has its line: of a kind that programs know, about a subject,
//! without the words of private things.

use agentsite_protocol::{JournalSubject, PushConfig, Query, Scope};

use super::find::BASE;
use super::*;
use crate::{ConversationEdit, JournalQuery};

impl Story {
    /// The lines so far, oldest first: kind, subject, text.
    async fn lines(&self) -> Vec<(String, JournalSubject, String)> {
        let query = JournalQuery { limit: 100, ..JournalQuery::default() };
        let mut lines = self.site.operations().journal(&Caller::local(), query).await.unwrap();
        lines.reverse();
        let line = |stored: crate::StoredLine| {
            let kind = stored.line.kind.expect("every line has a kind");
            (kind.to_string(), stored.line.subject, stored.line.text)
        };
        lines.into_iter().map(line).collect()
    }

    async fn kinds_about(&self, subject: &JournalSubject) -> Vec<String> {
        self.lines().await.into_iter().filter(|(_, of, _)| of == subject).map(|(kind, ..)| kind).collect()
    }
}

#[tokio::test]
async fn a_conversation_leaves_lines_that_do_not_repeat_its_title() {
    let story = Story::begin().await;
    let (agent, local) = (story.agent("echo", echo()), Caller::local());
    let title = Some("a private matter".to_owned());
    let begun = story.site.conversations().begin(&local, Some(agent), title, None).await.unwrap();
    let id = begun.0.id;
    let edit = ConversationEdit {
        title: Some("another private matter".into()),
        pinned: Some(true),
        head: None,
        revision: None,
    };
    story.site.conversations().edit(&local, id, edit).await.unwrap();
    story.site.conversations().delete(&local, id, None).await.unwrap();
    let kinds = story.kinds_about(&JournalSubject::Conversation(id)).await;
    assert_eq!(kinds, ["conversation.created", "conversation.edited", "conversation.removed"]);
    let texts: Vec<String> = story.lines().await.into_iter().map(|(_, _, text)| text).collect();
    assert!(texts.contains(&"renamed a conversation, pinned a conversation".to_owned()), "{texts:?}");
    assert!(!texts.iter().any(|text| text.contains("private")), "{texts:?}");
}

#[tokio::test]
async fn saved_queries_and_receivers_leave_lines() {
    let story = Story::begin().await;
    let (agent, local) = (story.agent("asker", ScriptedRunner::new().ask("?")), Caller::local());
    let saved = story.site.queries().save(&local, Query::of("bakes bread"), None, None, BASE).await.unwrap();
    story.site.queries().forget(&local, &saved.id).await.unwrap();
    let kinds = story.kinds_about(&JournalSubject::Query(saved.id)).await;
    assert_eq!(kinds, ["query.saved", "query.removed"]);
    let task = story.ask(&agent, "x").await.head.id;
    let config = PushConfig {
        id: "a".into(),
        url: "https://a.example.org/secret-path".into(),
        token: "t0ken".into(),
        ..PushConfig::default()
    };
    story.site.deliveries().put_receiver(&local, task, config).await.unwrap();
    story.site.deliveries().remove_receiver(&local, task, "a").await.unwrap();
    let kinds = story.kinds_about(&JournalSubject::Task(task)).await;
    assert_eq!(kinds, ["task.opened", "task.input_required", "push.receiver_added", "push.receiver_removed"]);
    let texts = format!("{:?}", story.lines().await);
    assert!(texts.contains("added the receiver https://a.example.org"), "{texts}");
    assert!(!texts.contains("secret-path") && !texts.contains("t0ken"), "{texts}");
}

#[tokio::test]
async fn keys_and_agents_are_subjects_of_their_lines() {
    let story = Story::begin().await;
    let made = story.site.keys().create(&Caller::local(), "laptop", vec![Scope::Call], None).await.unwrap();
    story.site.keys().revoke(&Caller::local(), &made.record.id).await.unwrap();
    let kinds = story.kinds_about(&JournalSubject::Key(made.record.id)).await;
    assert_eq!(kinds, ["key.created", "key.revoked"]);
    story.site.agents().install(manifest("calc", ""), None).await.unwrap();
    story.site.agents().uninstall(&"calc".parse().unwrap()).await;
    let kinds = story.kinds_about(&JournalSubject::Agent("calc".parse().unwrap())).await;
    assert_eq!(kinds, ["agent.added", "agent.removed"]);
}
