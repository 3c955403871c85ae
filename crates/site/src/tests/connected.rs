//! Programs that connect to be agents: whose names they take, what becomes of their tasks, and how long they
//! are waited for.
//!
//! The socket is not here: a story holds the session itself, reads what the site says and answers as a
//! program would.

use std::time::Duration;

use agentsite_host::{AgentSession, SessionEnd};
use agentsite_protocol::agent_session::{
    Assignment, Ending, EndingWay, FromAgent, FromSite, Introduction, Progress,
};
use agentsite_protocol::{Scope, Skill, Visibility};

use super::*;
use crate::{BrokenAgent, ConnectedAgent, HubSettings};

pub(super) fn holder(name: &str) -> Caller {
    Caller::key(&name.parse().unwrap(), [Scope::Call])
}

fn stranger() -> Caller {
    Caller::anonymous("203.0.113.7".parse().unwrap())
}

pub(super) fn introduction(name: &str) -> Introduction {
    let skill = Skill {
        id: "sonnet".into(),
        name: "Sonnet".into(),
        description: "Writes sonnets about the sea.".into(),
        tags: vec!["poetry".into()],
        ..Skill::default()
    };
    let mut said = Introduction::new(name.parse().unwrap(), "Writes poems.");
    (said.visibility, said.skills) = (Visibility::Public, vec![skill]);
    said
}

pub(super) async fn work(session: &mut AgentSession) -> Assignment {
    match FromSite::read(session.next().await.unwrap().as_bytes()).unwrap() {
        FromSite::Run(work) => *work,
        other => panic!("{other:?}"),
    }
}

pub(super) async fn answer(session: &mut AgentSession, text: &str) {
    let task = work(session).await.task;
    session.receive(FromAgent::Step { task, progress: Progress::Text(text.into()) }).await;
    session.receive(FromAgent::End { task, ending: Ending::new(EndingWay::Completed) }).await;
}

impl Story {
    pub(super) async fn connect(
        &self,
        caller: &Caller,
        said: Introduction,
    ) -> Result<ConnectedAgent, SiteError> {
        self.site.connected().connect(caller, said).await
    }

    pub(super) async fn refused(&self, caller: &Caller, said: Introduction) -> String {
        self.connect(caller, said).await.map(drop).unwrap_err().to_string()
    }

    fn health(&self, name: &str) -> Option<(String, String)> {
        let view = self.site.agents().get(&Caller::local(), &name.parse().unwrap()).ok()?;
        Some((view.health.to_owned(), view.reason.unwrap_or_default()))
    }
}

#[tokio::test]
async fn a_program_that_connects_is_an_agent_like_every_other() {
    let story = Story::begin().await;
    let mut poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    assert!(poet.resume.starts_with("asl_") && poet.warnings.is_empty());
    let view = story.site.agents().get(&stranger(), &poet.name).unwrap();
    assert_eq!((view.kind.word(), view.health, view.demo), ("connected", "ready", false));
    assert_eq!(view.skills[0].name, "Sonnet");
    let listing = &story.site.search().listings(&stranger(), "http://x")[0];
    assert_eq!((listing.owner.as_str(), listing.live), ("key:one", true));
    let query = agentsite_protocol::Query { text: "a poem about the sea".into(), ..Default::default() };
    let found = story.site.search().find(&stranger(), &query, "http://x").await.unwrap();
    assert_eq!(found.matches[0].name, "poet");

    let (task, ()) = tokio::join!(story.ask(&poet.name, "roses"), answer(&mut poet.session, "are red"));
    assert_eq!((state(&task), task.answer().as_str()), (TaskState::Completed, "are red"));
    let journal = story
        .site
        .operations()
        .journal(&Caller::local(), crate::JournalQuery { limit: 50, ..Default::default() })
        .await
        .unwrap();
    assert!(journal.iter().any(|line| line.line.text == "connected poet"), "{journal:?}");
}

#[tokio::test]
async fn strangers_and_bad_introductions_are_refused_with_a_sentence() {
    let story = Story::begin().await;
    assert!(story.refused(&stranger(), introduction("poet")).await.contains("needs a key"));
    let mute = Introduction { description: "  ".into(), ..introduction("poet") };
    assert!(story.refused(&holder("one"), mute).await.contains("description"));
    let newer = Introduction { protocol: 99, ..introduction("poet") };
    assert!(story.refused(&holder("one"), newer).await.contains("version 1"));
    let huge = Introduction { description: "x".repeat(100_000), ..introduction("poet") };
    let poet = story.connect(&holder("one"), huge).await.unwrap();
    assert!(story.site.agents().get(&stranger(), &poet.name).unwrap().description.len() < 5_000);
}

#[tokio::test]
async fn nobody_takes_the_name_of_another() {
    let story = Story::begin().await;
    story.agent("echo", echo());
    story
        .site
        .agents()
        .set_broken(vec![BrokenAgent { file: "agents/torn/agent.toml".into(), error: "x".into() }]);
    for taken in ["echo", "concierge", "torn"] {
        let why = story.refused(&Caller::local(), introduction(taken)).await;
        assert!(why.contains("belongs to an agent of this site"), "{taken}: {why}");
    }
    let poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let token = Introduction { resume: Some(poet.resume.clone()), ..introduction("poet") };
    for foreign in [introduction("poet"), token] {
        let why = story.refused(&holder("two"), foreign).await;
        assert!(why.contains("belongs to another owner"), "{why}");
    }
    assert!(story.refused(&holder("one"), introduction("poet")).await.contains("resume token"));
    let like = story.connect(&holder("two"), introduction("p0et")).await.unwrap();
    assert!(like.warnings[0].contains("looks like that of poet"), "{:?}", like.warnings);
    let notice = story.site.agents().get(&Caller::local(), &like.name).unwrap().notice.unwrap();
    assert!(notice.contains("looks like"), "{notice}");
}

#[tokio::test]
async fn an_agent_of_the_site_itself_takes_its_name_back() {
    let story = Story::begin().await;
    let poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let manifest = manifest("poet", "");
    let (installed, end) = tokio::join!(story.site.agents().install(manifest, None), async {
        let end = poet.session.ended().await;
        drop(poet.session);
        end
    });
    installed.unwrap();
    assert_eq!(end, SessionEnd::NameTaken);
    assert_eq!(story.site.agents().get(&Caller::local(), &poet.name).unwrap().kind.word(), "builtin");
    assert!(
        story
            .refused(&holder("one"), introduction("poet"))
            .await
            .contains("belongs to an agent of this site")
    );
}

#[tokio::test]
async fn an_owner_has_a_quota_over_both_ways_to_register() {
    let hub = HubSettings { quota: 2, ..HubSettings::default() };
    let story = Story::with(SiteSettings { hub, ..SiteSettings::default() }).await;
    let one = story.connect(&holder("one"), introduction("first")).await.unwrap();
    let _two = story.connect(&holder("one"), introduction("second")).await.unwrap();
    assert!(story.refused(&holder("one"), introduction("third")).await.contains("hub.quota"));
    assert!(story.connect(&holder("two"), introduction("third")).await.is_ok());
    drop(one.session);
    assert!(story.connect(&holder("one"), introduction("first")).await.is_ok(), "one's own place is kept");
}

#[tokio::test]
async fn a_second_connection_with_the_token_replaces_the_first() {
    let story = Story::begin().await;
    let first = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let again = Introduction { resume: Some(first.resume.clone()), ..introduction("poet") };
    let mut second = story.connect(&holder("one"), again).await.unwrap();
    assert_eq!(first.session.ended().await, SessionEnd::Replaced);
    assert_eq!(first.resume, second.resume);
    drop(first);
    let (task, ()) = tokio::join!(story.ask(&second.name, "roses"), answer(&mut second.session, "red"));
    assert_eq!(task.answer(), "red");
}

#[tokio::test]
async fn a_private_agent_is_its_owners() {
    let story = Story::begin().await;
    let said = Introduction { visibility: Visibility::Private, ..introduction("diary") };
    let diary = story.connect(&holder("one"), said).await.unwrap();
    assert!(story.site.agents().get(&holder("one"), &diary.name).is_ok());
    assert!(story.site.agents().get(&holder("two"), &diary.name).is_err());
    let names = |agents: Vec<crate::AgentView>| agents.len();
    assert_eq!(
        (names(story.site.agents().list(&holder("one"))), names(story.site.agents().list(&holder("two")))),
        (1, 0)
    );
}

#[tokio::test(start_paused = true)]
async fn an_agent_whose_program_stays_away_is_down_until_its_lease_is_over() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    let poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    story.clock.advance(100 * 3_600_000);
    story.site.connected().look_after_connected().await.unwrap();
    assert_eq!(story.health("poet").unwrap().0, "ready", "one that is here needs no lease");
    drop(poet.session);
    story.site.connected().look_after_connected().await.unwrap();
    let (health, reason) = story.health("poet").unwrap();
    assert_eq!(health, "down");
    assert!(reason.contains("not connected since"), "{reason}");
    let task = story.ask(&poet.name, "roses").await;
    assert!(last_words(&task).contains("did not come back"), "{}", last_words(&task));
    let journal = story
        .site
        .operations()
        .journal(&Caller::local(), crate::JournalQuery { limit: 50, ..Default::default() })
        .await
        .unwrap();
    assert!(journal.iter().any(|line| line.line.text == "the program of poet went away"), "{journal:?}");

    story.clock.advance(23 * 3_600_000);
    story.site.connected().look_after_connected().await.unwrap();
    assert!(story.health("poet").is_some());
    story.clock.advance(2 * 3_600_000);
    story.site.connected().look_after_connected().await.unwrap();
    assert_eq!(story.health("poet"), None);
    let why = story.refused(&holder("two"), introduction("poet")).await;
    assert!(why.contains("reserved for its previous owner"), "{why}");
    story.clock.advance(30 * 86_400_000);
    assert!(story.connect(&holder("two"), introduction("poet")).await.is_ok(), "the name is free again");
}

#[tokio::test]
async fn a_site_that_was_killed_waits_for_its_programs() {
    let story = Story::begin().await;
    let said = Introduction { retry: 1, ..introduction("poet") };
    let mut poet = story.connect(&holder("one"), said.clone()).await.unwrap();
    let patient = story.send(&poet.name, "roses").await.id();
    work(&mut poet.session).await;
    let hasty = story.connect(&holder("one"), introduction("clerk")).await.unwrap();
    let failing = story.send(&hasty.name, "file this").await.id();
    let mut session = hasty.session;
    work(&mut session).await;

    let story = story.crash().await;
    let (health, reason) = story.health("poet").unwrap();
    assert_eq!(health, "down");
    assert!(reason.contains("waiting for its program"), "{reason}");
    let recovery = story.site.start().await.unwrap();
    assert_eq!((recovery.retried, recovery.failed), (1, 1));
    assert!(story.refused(&holder("two"), introduction("poet")).await.contains("another owner"));
    let again = Introduction { resume: Some(poet.resume.clone()), ..said };
    let mut back = story.connect(&holder("one"), again).await.unwrap();
    answer(&mut back.session, "are red").await;
    let watch = story.site.tasks().watch(&Caller::local(), patient, 0).await.unwrap();
    assert_eq!(watch.settled().await.answer(), "are red");
    let failed = story.site.tasks().get(&Caller::local(), failing).await.unwrap();
    assert!(last_words(&failed).contains("limits.retry = 0"), "{}", last_words(&failed));
}

#[tokio::test]
async fn its_owner_and_the_people_who_run_the_site_take_an_agent_out() {
    let story = Story::begin().await;
    let poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    assert!(story.site.connected().disconnect(&holder("two"), &poet.name).await.is_err());
    story.site.connected().disconnect(&holder("one"), &poet.name).await.unwrap();
    assert_eq!(poet.session.ended().await, SessionEnd::Removed);
    assert_eq!(story.health("poet"), None);
    let echo = story.agent("echo", echo());
    let why = story.site.connected().disconnect(&Caller::local(), &echo).await.unwrap_err().to_string();
    assert!(why.contains("remove its folder"), "{why}");
    let story = story.crash().await;
    assert_eq!(story.health("poet"), None, "it does not come back with the site");
}

#[tokio::test]
async fn a_revoked_key_loses_its_agents() {
    let story = Story::begin().await;
    let key = story.site.keys().create(&Caller::local(), "poet", vec![Scope::Call], None).await.unwrap();
    let caller = story.site.keys().caller(&key.secret).await.unwrap();
    let poet = story.connect(&caller, introduction("poet")).await.unwrap();
    story.site.keys().revoke(&Caller::local(), &key.record.id).await.unwrap();
    assert_eq!(poet.session.ended().await, SessionEnd::Removed);
    assert_eq!(story.health("poet"), None);
}

#[tokio::test]
async fn a_key_that_expires_loses_its_agents() {
    let story = Story::begin().await;
    let end = story.clock.now().plus(Duration::from_secs(60));
    let key = story.site.keys().create(&Caller::local(), "poet", vec![Scope::Call], Some(end)).await.unwrap();
    let caller = story.site.keys().caller(&key.secret).await.unwrap();
    let poet = story.connect(&caller, introduction("poet")).await.unwrap();
    assert_eq!(story.site.connected().look_after_connected().await.unwrap(), 1);
    story.clock.advance(60_000);
    assert_eq!(story.site.connected().look_after_connected().await.unwrap(), 0);
    assert_eq!(poet.session.ended().await, SessionEnd::Removed);
    assert_eq!(story.health("poet"), None);
}

#[tokio::test(start_paused = true)]
async fn stopping_the_site_tells_its_programs() {
    let story = Story::begin().await;
    let poet = story.connect(&holder("one"), introduction("poet")).await.unwrap();
    let stopping = async {
        let end = poet.session.ended().await;
        drop(poet.session);
        end
    };
    let ((), end) = tokio::join!(story.site.stop(), stopping);
    assert_eq!(end, SessionEnd::Stopping);
    assert!(tokio::time::timeout(Duration::from_secs(1), async {}).await.is_ok());
}
