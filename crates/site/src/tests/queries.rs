//! Whoever keeps a query is told when an agent appears that fits: once, also after a crash, and nobody else.
//!
//! How letters leave is told in `push`.

use agentsite_protocol::{PushConfig, Query, Scope};

use super::find::{BASE, skilled};
use super::*;
use crate::SavedQuery;

fn key(name: &str) -> Caller {
    Caller::key(&name.parse().unwrap(), [Scope::Call])
}

impl Story {
    fn appears(&self, name: &str, visibility: &str, does: &str) {
        self.site.agents().install_runner(skilled(name, visibility, does, does), Arc::new(echo()));
    }

    async fn keeps(&self, caller: &Caller, text: &str, push: Option<PushConfig>) -> SavedQuery {
        self.site.queries().save(caller, Query::of(text), None, push, BASE).await.unwrap()
    }
}

#[tokio::test]
async fn an_agent_that_appears_is_told_once_to_whom_it_concerns() {
    let story = Story::begin().await;
    story.appears("baker", "public", "bakes fresh bread");
    let local = Caller::local();
    let kept = story.keeps(&local, "who bakes fresh bread", None).await;
    story.site.start().await.unwrap();
    let mut watch = story.site.queries().follow(&local, &kept.id, 0).unwrap();
    story.appears("smith", "public", "forges iron");
    story.appears("oven", "private", "bakes fresh bread at night");
    let told = watch.next().await.unwrap();
    assert_eq!((told.len(), told[0].seq, told[0].found.name.as_str()), (1, 1, "oven"), "{told:?}");
    story.site.agents().uninstall(&"oven".parse().unwrap()).await;
    story.appears("oven", "private", "bakes fresh bread at night");
    story.appears("mill", "public", "bakes fresh bread of its own corn");
    let told = watch.next().await.unwrap();
    assert_eq!((told.len(), told[0].seq, told[0].found.name.as_str()), (1, 2, "mill"), "{told:?}");
    assert_eq!(story.site.queries().get(&local, &kept.id).unwrap().matches.len(), 2);
    story.site.queries().forget(&local, &kept.id).await.unwrap();
    assert!(watch.next().await.is_none(), "the watch ends with the query");
    story.site.stop().await;
}

#[tokio::test]
async fn a_kept_query_is_its_owners_and_finds_what_its_owner_sees() {
    let story = Story::begin().await;
    let made = story.site.keys().create(&Caller::local(), "k", vec![Scope::Call], None).await.unwrap();
    let caller = story.site.keys().caller(&made.secret).await.unwrap();
    let kept = story.keeps(&caller, "bakes fresh bread", None).await;
    story.site.start().await.unwrap();
    let mut watch = story.site.queries().follow(&caller, &kept.id, 0).unwrap();
    story.appears("spy", "private", "bakes fresh bread");
    story.appears("guild", "peers", "bakes fresh bread");
    assert_eq!(watch.next().await.unwrap()[0].found.name, "guild");
    for other in [key("other"), Caller::anonymous("192.0.2.1".parse().unwrap())] {
        assert!(matches!(story.site.queries().get(&other, &kept.id), Err(SiteError::NotFound(_))));
        assert!(matches!(story.site.queries().forget(&other, &kept.id).await, Err(SiteError::NotFound(_))));
        assert!(story.site.queries().follow(&other, &kept.id, 0).is_err());
        assert!(story.site.queries().list(&other).is_empty());
    }
    story.site.stop().await;
}

#[tokio::test]
async fn kept_queries_survive_a_crash_and_are_bounded() {
    let story = Story::begin().await;
    let caller = Caller::local();
    let kept = story.keeps(&caller, "bakes fresh bread", None).await;
    let story = story.crash().await;
    assert_eq!(story.site.queries().list(&caller), [kept]);
    for _ in 1..20 {
        story.keeps(&caller, "anything", None).await;
    }
    let more = story.site.queries().save(&caller, Query::of("x"), None, None, BASE).await;
    assert!(matches!(&more, Err(SiteError::QuotaExceeded(why)) if why.contains("20 queries")), "{more:?}");
    story.keeps(&key("other"), "others have space", None).await;
    for (text, score) in [("x".repeat(2_000), 0.5), (" ".into(), 0.5), ("x".into(), 7.0)] {
        let wrong = story.site.queries().save(&key("third"), Query::of(text), Some(score), None, BASE).await;
        assert!(matches!(wrong, Err(SiteError::BadMessage(_) | SiteError::BadQuery(_))), "{wrong:?}");
    }
}

#[tokio::test]
async fn a_receiver_is_told_by_the_outbox() {
    let story = Story::begin().await;
    let receiver = PushConfig { url: "https://example.org/hook".into(), ..PushConfig::default() };
    let kept = story.keeps(&Caller::local(), "bakes fresh bread", Some(receiver)).await;
    story.site.start().await.unwrap();
    let mut watch = story.site.queries().follow(&Caller::local(), &kept.id, 0).unwrap();
    story.appears("baker", "public", "bakes fresh bread");
    watch.next().await.unwrap();
    let carried = story.courier.first().await;
    assert_eq!(carried["agentAppeared"]["query"], kept.id.as_str(), "{carried}");
    assert_eq!(carried["agentAppeared"]["match"]["name"], "baker");
    story.site.stop().await;
}
