//! Many entries at once: lines, catalogues, pages, and what is handed on.
//! A million of them are a matter of the benchmarks.

use super::*;
use crate::{HubFormat, ImportReport, ListingFilter};

fn lines(values: &[Value]) -> Vec<u8> {
    values.iter().map(|value| format!("{value}\n")).collect::<String>().into_bytes()
}

fn catalogue_entry(name: &str) -> Value {
    json!({
        "identifier": format!("urn:air:example.org:agents:{name}"), "displayName": name,
        "type": "application/a2a-agent-card+json", "url": format!("https://{name}.example.org/card.json"),
        "description": "An agent.",
    })
}

fn counts(imported: &ImportReport) -> (usize, usize, usize) {
    (imported.added, imported.renewed, imported.refused.len())
}

#[tokio::test(start_paused = true)]
async fn a_batch_is_taken_but_for_its_bad_lines() {
    let story = Story::begin().await;
    let mut batch = lines(&[catalogue_entry("a"), card("weather")]);
    batch.extend(b"\nno json\n{}\n");
    batch.extend(lines(&[catalogue_entry("a")]));
    let done = story.site.registry().import(&Caller::admin(), &batch).await.unwrap();
    assert_eq!(counts(&done), (2, 0, 3));
    assert_eq!(done.refused.iter().map(|one| one.place).collect::<Vec<_>>(), [4, 5, 6]);
    let entry = story.entry("urn:air:example.org:agents:a").await;
    assert_eq!((entry.listing.standing, entry.listing.proof), (Standing::Active, Proof::None));
    let again =
        story.site.registry().import(&Caller::admin(), &lines(&[catalogue_entry("a")])).await.unwrap();
    assert_eq!((counts(&again), again.unchanged, again.listed), ((0, 0, 0), 1, 1));
    let mut other = catalogue_entry("a");
    other["description"] = json!("Another one.");
    let changed = story.site.registry().import(&Caller::admin(), &lines(&[other])).await.unwrap();
    assert_eq!((counts(&changed), changed.unchanged), ((0, 1, 0), 0));
    let too_many = lines(&vec![catalogue_entry("a"); 1_001]);
    assert!(matches!(
        story.site.registry().import(&Caller::admin(), &too_many).await,
        Err(SiteError::BadListing(_))
    ));
    assert!(story.site.registry().import(&stranger(), &batch).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_a_holder_of_a_key_imports_waits_until_it_was_looked_at() {
    let story = Story::begin().await;
    let (one, two) = (holder("one"), holder("two"));
    let mut weather = catalogue_entry("w");
    weather["identifier"] = json!("urn:air:bank.example:agents:money");
    story.scout.publish("https://w.example.org/card.json", &card("weather"));
    story.site.registry().import(&one, &lines(&[weather.clone()])).await.unwrap();
    // The name that it claims counts for nothing: it is named after where its document is.
    let id = "urn:air:w.example.org:agents:w";
    assert_eq!(story.entry(id).await.listing.standing, Standing::Pending);
    let foreign = story.site.registry().import(&two, &lines(&[weather])).await.unwrap();
    assert_eq!(counts(&foreign), (0, 0, 1));
    story.site.start().await.unwrap();
    // tidy: waits because time is paused, and moves only when nothing else is left to do
    tokio::time::sleep(Duration::from_secs(3)).await;
    let entry = story.entry(id).await;
    assert_eq!((entry.listing.standing, entry.listing.name.as_str()), (Standing::Active, "weather"));
}

#[tokio::test(start_paused = true)]
async fn catalogues_and_registries_are_followed_page_by_page() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    let nested = json!({ "identifier": "urn:air:example.org:c:n", "displayName": "more", "type": "application/ai-catalog+json", "url": "/more.json" });
    let catalogue =
        json!({ "specVersion": "1.0", "entries": [catalogue_entry("a"), nested, catalogue_entry("b")] });
    story.scout.publish("https://example.org/.well-known/ai-catalog.json", &catalogue);
    let done = story.site.registry().import_from(&admin, "https://example.org/").await.unwrap();
    assert_eq!(
        (counts(&done), done.nested.as_slice()),
        ((2, 0, 0), &["https://example.org/more.json".to_owned()][..])
    );
    let page = json!({ "items": [catalogue_entry("c")], "total": 2, "pageToken": "p 2" });
    story.scout.publish("https://example.org/agents?pageSize=1", &page);
    let done =
        story.site.registry().import_from(&admin, "https://example.org/agents?pageSize=1").await.unwrap();
    assert_eq!(done.next.as_deref(), Some("https://example.org/agents?pageSize=1&pageToken=p+2"));
    story.scout.publish("https://w.example.org/.well-known/agent-card.json", &card("weather"));
    let single = story.site.registry().import_from(&admin, CARD).await.unwrap();
    assert_eq!(counts(&single), (1, 0, 0));
    assert!(story.site.registry().import_from(&admin, "https://nobody.example.org").await.is_err());
}

#[tokio::test(start_paused = true)]
async fn what_is_handed_on_can_be_taken_again() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    let server = json!({ "name": "org.example/files", "description": "Files.", "version": "2", "remotes": [{"type": "streamable-http", "url": "https://f.example.org/mcp"}] });
    let all = [catalogue_entry("a"), card("weather"), server.clone()];
    story.site.registry().import(&admin, &lines(&all)).await.unwrap();
    for format in [HubFormat::Listings, HubFormat::Catalog] {
        let page = story.site.registry().export(&admin, format, None, 100).await.unwrap();
        assert_eq!((page.items.len(), page.next), (3, None));
        let elsewhere = Story::begin().await;
        let done = elsewhere.site.registry().import(&admin, &lines(&page.items)).await.unwrap();
        assert_eq!(counts(&done), (3, 0, 0), "{format:?}: {:?}", done.refused);
        let of = |story: Story| async move {
            story.site.registry().page(&Caller::admin(), ListingFilter::default(), None, 9).await.unwrap()
        };
        let ids: Vec<ListingId> = of(elsewhere).await.items.into_iter().map(|listing| listing.id).collect();
        assert!(ids.contains(&"urn:air:example.org:agents:a".parse().unwrap()), "{ids:?}");
    }
    let servers = story.site.registry().export(&admin, HubFormat::Servers, None, 100).await.unwrap();
    assert_eq!(servers.items, [server]);
}

#[tokio::test(start_paused = true)]
async fn pages_show_each_caller_what_is_theirs_to_see() {
    let story = Story::begin().await;
    let one = holder("one");
    story.post(&Caller::admin(), &card("public")).await.unwrap();
    story.post(&one, &card("pending")).await.unwrap();
    let hidden = story.post(&Caller::admin(), &card("hidden")).await.unwrap();
    let edit = HubEdit { visibility: Some(Visibility::Peers), ..HubEdit::default() };
    story.site.registry().update(&Caller::admin(), &hidden.listing.id, edit).await.unwrap();
    let names = async |caller: &Caller| {
        let page = story.site.registry().page(caller, ListingFilter::default(), None, 10).await.unwrap();
        page.items.into_iter().map(|listing| listing.name).collect::<Vec<_>>()
    };
    assert_eq!(names(&stranger()).await, ["public"]);
    assert_eq!(names(&holder("two")).await, ["hidden", "public"]);
    assert_eq!(names(&one).await, ["hidden", "pending", "public"]);
    assert_eq!(names(&Caller::admin()).await.len(), 3);
}

/// The two forms in which a site lists one of its agents.
fn both_forms(name: &str) -> [Value; 2] {
    let form = |namespace: &str, media: &str, path: &str| {
        json!({
            "identifier": format!("urn:air:site.example:{namespace}:{name}"), "displayName": name, "description": "An agent.",
            "type": media, "url": format!("https://site.example/{path}/{name}"),
        })
    };
    [
        form("agents", "application/a2a-agent-card+json", "a2a"),
        form("mcp", "application/mcp-server-card+json", "mcp"),
    ]
}

#[tokio::test(start_paused = true)]
async fn an_agent_with_two_interfaces_is_one_entry_in_whatever_order_they_come() {
    let [a2a, mcp] = both_forms("calc");
    let id = "urn:air:site.example:agents:calc";
    for batches in [
        vec![vec![a2a.clone(), mcp.clone()]],
        vec![vec![a2a.clone()], vec![mcp.clone()]],
        vec![vec![mcp.clone()], vec![a2a.clone()]],
    ] {
        let story = Story::begin().await;
        let admin = Caller::admin();
        for batch in &batches {
            let done = story.site.registry().import(&admin, &lines(batch)).await.unwrap();
            assert!(done.refused.is_empty(), "{:?}", done.refused);
        }
        let page = story.site.registry().page(&admin, ListingFilter::default(), None, 9).await.unwrap();
        let ids: Vec<&str> = page.items.iter().map(|listing| listing.id.as_str()).collect();
        assert_eq!(ids, [id], "{batches:?}");
        let entry = &page.items[0];
        assert_eq!(entry.protocols, ["a2a", "mcp"]);
        assert_eq!(entry.interfaces[0].url.as_deref(), Some("https://site.example/mcp/calc"));
        let again = story.site.registry().import(&admin, &lines(&[a2a.clone(), mcp.clone()])).await.unwrap();
        assert_eq!((counts(&again), again.unchanged, again.joined), ((0, 0, 0), 1, 1), "{batches:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_import_neither_moves_a_proven_entry_nor_brings_a_suspended_one_back() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    story.scout.publish(CARD, &card("weather"));
    story.register(&holder("owner"), "https://w.example.org").await.unwrap();
    let at = |host: &str| json!({ "identifier": ID, "displayName": "weather", "type": "application/a2a-agent-card+json", "url": format!("https://{host}/x.json") });
    let done = story.site.registry().import(&admin, &lines(&[at("evil.example")])).await.unwrap();
    assert!(done.refused[0].why.contains("proven at another host"), "{:?}", done.refused);
    story.site.registry().suspend(&admin, &weather()).await.unwrap();
    let done = story.site.registry().import(&admin, &lines(&[at("w.example.org")])).await.unwrap();
    assert!(done.refused[0].why.contains("suspended"), "{:?}", done.refused);
    assert_eq!(story.entry(ID).await.listing.standing, Standing::Suspended);
}

#[tokio::test(start_paused = true)]
async fn the_registry_that_a_catalogue_names_is_read_in_its_place() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    let registry = json!({ "identifier": "urn:air:example.org:registry:hub", "displayName": "all", "type": "application/ai-registry+json", "url": "https://example.org" });
    let catalogue = json!({ "specVersion": "1.0", "entries": [registry, catalogue_entry("a")] });
    story.scout.publish("https://example.org/.well-known/ai-catalog.json", &catalogue);
    let done = story.site.registry().import_from(&admin, "https://example.org/").await.unwrap();
    assert_eq!(counts(&done), (1, 0, 0), "without the list, the catalogue counts");
    assert!(done.note.unwrap().contains("could not be read"));
    let page = json!({ "items": [catalogue_entry("a"), catalogue_entry("b")], "total": 3, "pageToken": "2" });
    story.scout.publish("https://example.org/agents?pageSize=100", &page);
    let done = story.site.registry().import_from(&admin, "https://example.org/").await.unwrap();
    assert_eq!((counts(&done), done.unchanged, done.total, done.note), ((1, 0, 0), 1, Some(3), None));
    assert_eq!(done.next.as_deref(), Some("https://example.org/agents?pageSize=100&pageToken=2"));
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_nobody_contacted_is_not_checked() {
    let story = Story::begin().await;
    let admin = Caller::admin();
    story.site.registry().import(&admin, &lines(&[catalogue_entry("a")])).await.unwrap();
    let id = "urn:air:example.org:agents:a";
    let fresh = story.entry(id).await.listing;
    assert_eq!((fresh.reachability(), fresh.live, fresh.seen_at), ("not checked", false, None));
    let posted = story.post(&admin, &card("weather")).await.unwrap().listing;
    assert_eq!(posted.reachability(), "not checked");
    story.site.registry().refresh(&admin, &id.parse().unwrap()).await.unwrap();
    let silent = story.entry(id).await.listing;
    assert_eq!((silent.reachability(), silent.seen_at), ("no answer", None));
    assert_eq!(silent.checked_at, Some(story.clock.now()));
    story.scout.publish("https://a.example.org/card.json", &card("a"));
    story.site.registry().refresh(&admin, &id.parse().unwrap()).await.unwrap();
    assert_eq!(story.entry(id).await.listing.reachability(), "answers");
}
