//! Who may do what: visibility, ownership, keys, sign-in.
//!
//! A foreign id must answer exactly like one that does not exist.

use super::*;
use agentsite_protocol::{KeyId, Scope, TaskId};
use agentsite_store::{TaskFilter, Upkeep};

async fn key_caller(story: &Story, scopes: &[&str]) -> (Caller, KeyId) {
    let scopes = scopes.iter().map(|scope| scope.parse().unwrap()).collect();
    let made = story.site.keys().create(&Caller::local(), "test", scopes, None).await.unwrap();
    (story.site.keys().caller(&made.secret).await.unwrap(), made.record.id)
}

#[tokio::test]
async fn a_foreign_task_answers_like_none() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("?"));
    let (one, _) = key_caller(&story, &["call"]).await;
    let (two, _) = key_caller(&story, &["call"]).await;
    let Sent::Task(watch) = story.try_send(&one, &agent, story.says("mine")).await.unwrap() else { panic!() };
    let task = watch.settled().await;
    let none: TaskId = "0198c0de-0000-7000-8000-000000000001".parse().unwrap();
    for (id, name) in [(task.head.id, "foreign"), (none, "none")] {
        let errors = [
            story.site.tasks().get(&two, id).await.unwrap_err().to_string(),
            story.site.tasks().cancel(&two, id).await.unwrap_err().to_string(),
            story.site.tasks().watch(&two, id, 0).await.map(|_| ()).unwrap_err().to_string(),
            story.site.tasks().events(&two, id, 0, 10).await.unwrap_err().to_string(),
            story
                .try_send(&two, &agent, Message { task_id: Some(id.to_string()), ..story.says("x") })
                .await
                .map(|_| ())
                .unwrap_err()
                .to_string(),
        ];
        for error in errors {
            assert_eq!(error, format!("task not found: there is no task `{id}` here"), "{name}");
        }
    }
    assert!(story.site.tasks().list(&two, TaskFilter::default(), None, 10).await.unwrap().items.is_empty());
    let filter = TaskFilter { owner: Some(one.owner().clone()), ..TaskFilter::default() };
    assert!(
        story.site.tasks().list(&two, filter, None, 10).await.unwrap().items.is_empty(),
        "the filter cannot widen it"
    );
    assert_eq!(story.site.tasks().list(&one, TaskFilter::default(), None, 10).await.unwrap().items.len(), 1);
    assert!(story.site.tasks().get(&Caller::local(), task.head.id).await.is_ok());
}

#[tokio::test]
async fn a_private_agent_does_not_exist_for_strangers() {
    let story = Story::begin().await;
    let text = "name = \"secret\"\ndescription = \"d\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n";
    story.site.agents().install_runner(Manifest::read(text).unwrap(), Arc::new(echo()));
    let agent: AgentName = "secret".parse().unwrap();
    let stranger = Caller::anonymous("192.0.2.1".parse().unwrap());
    let error = story.try_send(&stranger, &agent, story.says("x")).await.unwrap_err();
    assert!(matches!(error, SiteError::NoSuchAgent(_)), "{error}");
    assert!(story.site.cards().get(&stranger, &agent, "http://x").is_err());
    assert!(story.site.agents().list(&stranger).is_empty());
    let card = story.site.cards().of_site(&stranger, "http://x");
    assert!(!serde_json::to_string(&card).unwrap().contains("secret"));
    let Sent::Task(watch) =
        story.try_send(&stranger, &story.site.agents().concierge(), story.says("ask secret")).await.unwrap()
    else {
        panic!()
    };
    assert_eq!(state(&watch.settled().await), TaskState::Rejected, "the concierge opens no back door");
    let (caller, _) = key_caller(&story, &["call:secret"]).await;
    assert!(story.try_send(&caller, &agent, story.says("x")).await.is_ok());
}

#[tokio::test]
async fn an_ended_task_goes_when_its_owner_says_so_with_a_key_or_without() {
    let story = Story::begin().await;
    let agent = story.agent("echo", echo());
    for caller in [Caller::local(), Caller::anonymous("192.0.2.1".parse().unwrap())] {
        let Sent::Task(watch) = story.try_send(&caller, &agent, story.says("x")).await.unwrap() else {
            panic!("it answers with tasks")
        };
        let id = watch.settled().await.head.id;
        story.site.forget(&caller, id).await.unwrap();
        let gone = story.site.tasks().get(&caller, id).await.unwrap_err();
        assert!(matches!(gone, crate::TaskError::NoSuchTask(_)), "{gone}");
        assert_eq!(story.store.stats().await.unwrap().tasks, 0);
    }
}

#[tokio::test]
async fn keys_work_until_they_are_revoked_or_expire() {
    let story = Story::begin().await;
    let until = story.site.ids().clock().now().plus(std::time::Duration::from_secs(60));
    let short =
        story.site.keys().create(&Caller::local(), "short", vec![Scope::Call], Some(until)).await.unwrap();
    let long = story.site.keys().create(&Caller::local(), "long", vec![Scope::Call], None).await.unwrap();
    assert!(story.site.keys().caller(&short.secret).await.is_ok());
    story.clock.advance(60_000);
    assert!(matches!(story.site.keys().caller(&short.secret).await, Err(SiteError::BadKey)));
    assert!(story.site.keys().caller(&long.secret).await.is_ok());
    let wrong = format!("{}0", &long.secret[..long.secret.len() - 1]);
    let wrong =
        if wrong == long.secret { format!("{}1", &long.secret[..long.secret.len() - 1]) } else { wrong };
    for bad in [wrong.as_str(), "", "ask_", "ask_zz_yy", "Bearer", &long.secret[4..]] {
        assert!(matches!(story.site.keys().caller(bad).await, Err(SiteError::BadKey)), "{bad}");
    }
    let story = story.crash().await;
    assert!(story.site.keys().caller(&long.secret).await.is_ok(), "keys survive a restart");
    assert!(story.site.keys().revoke(&Caller::local(), &long.record.id).await.unwrap());
    assert!(story.site.keys().caller(&long.secret).await.is_err());
    assert!(!story.site.keys().revoke(&Caller::local(), &long.record.id).await.unwrap());
}

#[tokio::test]
async fn secrets_are_nowhere_but_in_the_callers_hand() {
    let story = Story::begin().await;
    let made = story.site.keys().create(&Caller::local(), "x", vec![Scope::Call], None).await.unwrap();
    let listed = serde_json::to_string(&story.site.keys().list(&Caller::local()).await.unwrap()).unwrap();
    let lines = story
        .site
        .operations()
        .journal(&Caller::local(), crate::JournalQuery { limit: 100, ..Default::default() })
        .await
        .unwrap();
    let secret = made.secret.rsplit('_').next().unwrap();
    assert!(!listed.contains(secret) && !format!("{lines:?}").contains(secret));
    assert!(!listed.contains("hash"), "{listed}");
}

#[tokio::test]
async fn the_admin_token_is_made_once_and_links_work_once() {
    let story = Story::begin().await;
    let token = story.site.keys().ensure_admin_token(None).await.unwrap().expect("the first start makes one");
    assert!(story.site.keys().ensure_admin_token(Some(&token)).await.unwrap().is_none());
    let admin = story.site.keys().caller(&token).await.unwrap();
    assert!(admin.is_admin());
    let link = story.site.keys().new_sign_in(&admin).await.unwrap();
    let session = story.site.keys().sign_in(&link, "a browser").await.unwrap();
    assert!(story.site.keys().caller(&session.secret).await.unwrap().is_admin());
    assert!(matches!(story.site.keys().sign_in(&link, "a browser").await, Err(SiteError::BadKey)));
    let old = story.site.keys().new_sign_in(&admin).await.unwrap();
    story.clock.advance(16 * 60_000);
    assert!(matches!(story.site.keys().sign_in(&old, "a browser").await, Err(SiteError::BadKey)));
}

#[tokio::test]
async fn the_admin_token_is_replaced_and_never_revoked() {
    let story = Story::begin().await;
    let first = story.site.keys().ensure_admin_token(None).await.unwrap().unwrap();
    let admin = Caller::admin();
    let id = story.site.keys().list(&admin).await.unwrap()[0].id.clone();
    let refused = story.site.keys().revoke(&admin, &id).await.unwrap_err();
    assert!(matches!(refused, SiteError::AdminToken) && refused.to_string().contains("rotate-admin"));
    assert!(story.site.keys().caller(&first).await.is_ok(), "the command line goes on working");

    let browser = story.site.keys().begin_session(&first, "a browser").await.unwrap();
    let second = story.site.keys().replace_admin_token(&admin).await.unwrap().secret;
    assert!(matches!(story.site.keys().caller(&first).await, Err(SiteError::BadKey)));
    assert!(matches!(story.site.keys().caller_by_session(&browser.secret).await, Err(SiteError::BadKey)));
    assert!(story.site.keys().caller(&second).await.unwrap().is_admin());

    // A stop between the store and the file, or a file that was lost: the next start makes another, and the
    // one before ends.
    let story = story.crash().await;
    assert!(story.site.keys().ensure_admin_token(Some(&second)).await.unwrap().is_none());
    let third =
        story.site.keys().ensure_admin_token(Some(&first)).await.unwrap().expect("the file does not fit");
    assert!(story.site.keys().caller(&second).await.is_err());
    let fourth = story.site.keys().ensure_admin_token(None).await.unwrap().expect("the file was lost");
    assert!(story.site.keys().caller(&third).await.is_err());
    assert!(story.site.keys().caller(&fourth).await.unwrap().is_admin());
    assert_eq!(story.site.keys().list(&admin).await.unwrap().len(), 1, "nothing piles up");
}

#[tokio::test]
async fn a_browser_signed_in_by_a_key_is_who_the_key_is_and_ends_apart_from_it() {
    let story = Story::begin().await;
    for scope in [Scope::Call, Scope::Admin] {
        let key = story.site.keys().create(&Caller::local(), "friend", vec![scope], None).await.unwrap();
        let session = story.site.keys().begin_session(&key.secret, "Firefox\u{7}").await.unwrap();
        assert!(!session.secret.contains(key.record.id.as_str()), "the cookie tells nothing of the key");
        let owner = story.site.keys().caller_by_session(&session.secret).await.unwrap().owner().clone();
        assert_eq!(&owner, story.site.keys().caller(&key.secret).await.unwrap().owner());
        let presence = story.site.keys().presence(&session.secret).unwrap();
        assert_eq!((presence.key.as_deref(), presence.scopes), (Some("friend"), key.record.scopes));
        assert!(matches!(
            story.site.keys().begin_session(&session.secret, "again").await,
            Err(SiteError::BadKey)
        ));
        story.site.keys().end_session(&session.secret).await.unwrap();
        assert!(matches!(story.site.keys().caller_by_session(&session.secret).await, Err(SiteError::BadKey)));
        assert!(story.site.keys().caller(&key.secret).await.is_ok(), "the key goes on working");
        assert!(matches!(story.site.keys().caller_by_session(&key.secret).await, Err(SiteError::BadKey)));
        assert!(matches!(story.site.keys().end_session(&key.secret).await, Err(SiteError::BadKey)));
    }
    assert!(matches!(story.site.keys().begin_session("ask_k_wrong", "").await, Err(SiteError::BadKey)));
}

#[tokio::test]
async fn the_sessions_of_a_key_end_with_it() {
    let story = Story::begin().await;
    let admin = Caller::local();
    let key = story.site.keys().create(&admin, "friend", vec![Scope::Call], None).await.unwrap();
    let session = story.site.keys().begin_session(&key.secret, "one").await.unwrap();
    let other = story.site.keys().create(&admin, "other", vec![Scope::Call], None).await.unwrap();
    let others = story.site.keys().begin_session(&other.secret, "two").await.unwrap();
    assert!(story.site.keys().revoke(&admin, &key.record.id).await.unwrap());
    assert!(matches!(story.site.keys().caller_by_session(&session.secret).await, Err(SiteError::BadKey)));
    assert!(story.site.keys().caller_by_session(&others.secret).await.is_ok());
    let lines = story.site.operations().journal(&admin, Default::default()).await.unwrap();
    assert!(lines.iter().any(|one| one.line.text.contains("and its browser sessions (1)")), "{lines:?}");

    let end = story.site.ids().clock().now().plus(std::time::Duration::from_secs(60));
    let brief = story.site.keys().create(&admin, "brief", vec![Scope::Call], Some(end)).await.unwrap();
    let session = story.site.keys().begin_session(&brief.secret, "three").await.unwrap();
    assert_eq!(session.expires_at, end, "a session outlasts no key");
}

#[tokio::test]
async fn signing_in_again_and_again_fills_nothing() {
    let story = Story::begin().await;
    let key = story.site.keys().create(&Caller::local(), "friend", vec![Scope::Call], None).await.unwrap();
    let first = story.site.keys().begin_session(&key.secret, "first").await.unwrap();
    for _ in 0..40 {
        story.clock.advance(1);
        story.site.keys().begin_session(&key.secret, "again").await.unwrap();
    }
    assert!(matches!(story.site.keys().caller_by_session(&first.secret).await, Err(SiteError::BadKey)));
    let kept = story.site.keys().list(&Caller::local()).await.unwrap();
    assert_eq!(kept.iter().filter(|one| one.session).count(), 32);
}

#[tokio::test]
async fn operations_are_for_admins() {
    let story = Story::begin().await;
    let (caller, id) = key_caller(&story, &["call"]).await;
    assert!(story.site.status(&caller).await.is_err());
    assert!(story.site.operations().journal(&caller, Default::default()).await.is_err());
    assert!(story.site.keys().list(&caller).await.is_err());
    assert!(story.site.keys().create(&caller, "x", vec![Scope::Admin], None).await.is_err());
    assert!(story.site.keys().revoke(&caller, &id).await.is_err());
    assert!(story.site.keys().new_sign_in(&caller).await.is_err());
    assert!(story.site.operations().backup(&caller, std::path::Path::new("x")).await.is_err());
    assert!(story.site.agents().log(&caller, &story.site.agents().concierge(), 5).is_err());
}

#[tokio::test]
async fn a_key_made_or_revoked_through_another_handle_of_the_store_is_followed() {
    let one = Story::begin().await;
    let two =
        Story::open(SiteSettings::default(), one.store.clone(), one.clock.clone(), one.rng.clone()).await;
    let local = Caller::local();
    let made = one.site.keys().create(&local, "laptop", vec![Scope::Call], None).await.unwrap();
    let caller = two.site.keys().caller(&made.secret).await.unwrap();
    assert_eq!(caller.owner(), one.site.keys().caller(&made.secret).await.unwrap().owner());
    let session = two.site.keys().begin_session(&made.secret, "browser").await.unwrap();
    assert!(one.site.keys().caller(&session.secret).await.is_ok());
    two.site.keys().revoke(&local, &made.record.id).await.unwrap();
    for site in [&one.site, &two.site] {
        for secret in [&made.secret, &session.secret] {
            assert!(matches!(site.keys().caller(secret).await, Err(SiteError::BadKey)));
        }
    }
    let token = one.site.keys().replace_admin_token(&Caller::admin()).await.unwrap();
    assert!(two.site.keys().caller(&token.secret).await.unwrap().is_admin());
    let refused = two.site.keys().revoke(&Caller::admin(), &token.record.id).await;
    assert!(matches!(refused, Err(SiteError::AdminToken)), "{refused:?}");
}
