//! Cases about the entries of the hub: kept, guarded, listed.
//!
//! They tell that nobody's entry is overwritten by another, that of two changes decided on one reading one is
//! refused, and that pages join however long the list is.

use agentsite_protocol::listing::{A2A_CARD, Listing, ListingId, MCP_SERVER_CARD, Proof, Standing};
use agentsite_protocol::{Principal, Visibility};

use super::Fresh;
use super::samples::{at, bare, line};
use crate::{Change, ListingChange, ListingFilter, Registration, SharedStore, StoreError};

/// The id of an entry of this name; a whole id is itself.
pub fn id(name: &str) -> ListingId {
    name.parse().unwrap_or_else(|_| ListingId::of("example.org", "a", name))
}

/// The owner that a text names.
pub fn owner(text: &str) -> Principal {
    text.parse().unwrap()
}

/// The name in an id.
fn name(id: &ListingId) -> String {
    id.as_str().rsplit(':').next().unwrap_or_default().to_owned()
}

/// A new entry of this name and owner.
pub fn entry(named: &str, of: &str) -> Registration {
    let listing = Listing {
        id: id(named),
        name: named.into(),
        description: "It does things.".into(),
        version: "1".into(),
        media_type: A2A_CARD.into(),
        url: Some(format!("https://example.org/{named}")),
        document: None,
        skills: Vec::new(),
        tags: Vec::new(),
        interfaces: Vec::new(),
        protocols: vec!["a2a".into()],
        input_modes: Vec::new(),
        output_modes: Vec::new(),
        local: false,
        visibility: Visibility::Public,
        owner: owner(of),
        standing: Standing::Active,
        proof: Proof::Domain,
        live: true,
        trust: 0.5,
        price: None,
        region: None,
        warnings: Vec::new(),
        registered_at: at(1),
        updated_at: at(1),
        checked_at: None,
        seen_at: None,
        lease_until: Some(at(100)),
    };
    Registration {
        imported: None,
        shape: named.to_lowercase(),
        listing,
        revision: 1,
        due: None,
        failures: 0,
        etag: Some("\"1\"".into()),
        endpoint: None,
        key: None,
        challenge: None,
        vouched: false,
        barred: false,
        ignores_vectors: false,
    }
}

/// A change of these entries alone.
pub fn put(entries: impl IntoIterator<Item = Registration>) -> Change {
    bare().edits(entries.into_iter().map(|entry| ListingChange::Put(Box::new(entry))))
}

fn remove(named: &str, of: &str, revision: u64) -> Change {
    bare().edit(ListingChange::Remove { id: id(named), owner: owner(of), revision })
}

async fn names(store: &SharedStore, filter: ListingFilter) -> Vec<String> {
    let page = store.listings(filter.clone(), None, 100).await.unwrap();
    let names: Vec<String> = page.items.iter().map(|kept| name(&kept.listing.id)).collect();
    assert_eq!(store.count_listings(filter).await.unwrap(), names.len() as u64);
    names
}

pub async fn an_entry_is_put_read_and_removed(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(put([entry("a", "key:1"), entry("b", "key:1")])).await.unwrap();
    let mut again = entry("a", "key:1");
    (again.revision, again.failures, again.listing.standing) = (2, 3, Standing::Lapsed);
    store.commit(put([again.clone()])).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.listing(&id("a")).await.unwrap(), Some(again.clone()));
    let known = store.listings_of(["b", "x", "a", "a"].map(id).to_vec()).await.unwrap();
    assert_eq!(known, [again, entry("b", "key:1")]);
    store.commit(remove("a", "key:1", 2)).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(store.listing(&id("a")).await.unwrap(), None);
    store.commit(put([entry("a", "key:2")])).await.expect("a name that is free is anybody's");
}

pub async fn an_entry_keeps_its_owner(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(put([entry("a", "key:1")])).await.unwrap();
    let mut stolen = entry("a", "key:2");
    for revision in [1, 2] {
        stolen.revision = revision;
        let refused = store.commit(put([stolen.clone()])).await.unwrap_err();
        assert!(matches!(&refused, StoreError::Foreign(at) if *at == id("a").to_string()), "{refused}");
    }
    assert!(matches!(store.commit(remove("a", "key:2", 1)).await, Err(StoreError::Foreign(_))));
    let store = fresh.reread().await;
    assert_eq!(store.listing(&id("a")).await.unwrap().unwrap().listing.owner, owner("key:1"));
}

pub async fn a_change_from_an_old_reading_is_refused(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(put([entry("a", "key:1")])).await.unwrap();
    let refused = store.commit(put([entry("a", "key:1")])).await.unwrap_err();
    assert!(matches!(&refused, StoreError::Moved(at) if *at == id("a").to_string()), "{refused}");
    assert!(matches!(store.commit(remove("a", "key:1", 7)).await, Err(StoreError::Moved(_))));
    assert!(matches!(store.commit(remove("none", "key:1", 1)).await, Err(StoreError::Moved(_))));
    let store = fresh.reread().await;
    assert_eq!(store.listing(&id("a")).await.unwrap().unwrap().revision, 1);
}

pub async fn a_refused_entry_leaves_nothing_of_its_batch(mut fresh: Fresh) {
    let store = fresh.store();
    store.commit(put([entry("b", "key:1")])).await.unwrap();
    let mut batch = put([entry("a", "key:1"), entry("b", "key:2"), entry("c", "key:1")]);
    batch.journal = line(1, "three came").journal;
    assert!(store.commit(batch).await.is_err());
    // The second of two in one change sees the first.
    assert!(store.commit(put([entry("d", "key:1"), entry("d", "key:1")])).await.is_err());
    let mut twice = entry("e", "key:1");
    twice.revision = 2;
    store.commit(put([entry("e", "key:1"), twice])).await.unwrap();
    let store = fresh.reread().await;
    assert_eq!(names(&store, ListingFilter::default()).await, ["b", "e"]);
    assert_eq!(store.stats().await.unwrap().journal_lines, 0);
}

pub async fn entries_are_paged_by_id(mut fresh: Fresh) {
    let store = fresh.store();
    let all: Vec<String> = (0..25).map(|number| format!("urn:air:example.org:a:{number:03}")).collect();
    store.commit(put(all.iter().rev().map(|id| entry(id, "key:1")))).await.unwrap();
    let store = fresh.reread().await;
    let (mut found, mut after) = (Vec::new(), None);
    loop {
        let page = store.listings(ListingFilter::default(), after, 10).await.unwrap();
        assert!(page.items.len() <= 10);
        found.extend(page.items.into_iter().map(|kept| kept.listing.id.to_string()));
        // What comes before the cursor meanwhile is not seen, what comes behind it is.
        let late = format!("urn:air:example.org:a:{:03}b", found.len());
        let _ = store.commit(put([entry(&late, "key:1")])).await;
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    found.retain(|id| !id.ends_with('b'));
    assert_eq!(found, all);
}

pub async fn every_filter_of_entries_narrows_the_list(mut fresh: Fresh) {
    let store = fresh.store();
    let mut entries = ["a", "b", "c", "d", "e"].map(|id| entry(id, "key:1"));
    entries[1].listing.standing = Standing::Pending;
    entries[2].listing.owner = owner("key:2");
    entries[2].listing.visibility = Visibility::Private;
    entries[3].listing.visibility = Visibility::Peers;
    entries[3].listing.media_type = MCP_SERVER_CARD.into();
    entries[4].listing.updated_at = at(9);
    entries[4].listing.owner = owner("key:3");
    store.commit(put(entries)).await.unwrap();
    let store = fresh.reread().await;
    let all = ListingFilter::default;
    let seen = |least, by: &str| ListingFilter { seen_by: Some((least, owner(by))), ..all() };
    let cases = [
        (all(), "abcde"),
        (ListingFilter { owner: Some(owner("key:1")), ..all() }, "abd"),
        (ListingFilter { standings: vec![Standing::Pending, Standing::Lapsed], ..all() }, "b"),
        (ListingFilter { media_type: Some(MCP_SERVER_CARD.into()), ..all() }, "d"),
        (ListingFilter { updated_since: Some(at(9)), ..all() }, "e"),
        (seen(Visibility::Public, "anon:192.0.2.1"), "ae"),
        (seen(Visibility::Peers, "key:2"), "acde"),
        (seen(Visibility::Public, "key:1"), "abde"),
        (ListingFilter { owner: Some(owner("key:2")), ..seen(Visibility::Public, "key:1") }, ""),
    ];
    for (filter, expected) in cases {
        assert_eq!(names(&store, filter.clone()).await.concat(), expected, "{filter:?}");
    }
}

pub async fn entries_are_looked_at_in_the_order_they_are_due(mut fresh: Fresh) {
    let store = fresh.store();
    assert_eq!(store.next_due_listing().await.unwrap(), None);
    let mut entries = ["a", "b", "c", "d"].map(|id| entry(id, "key:1"));
    for (entry, due) in entries.iter_mut().zip([Some(5), Some(3), None, Some(9)]) {
        entry.due = due.map(at);
    }
    store.commit(put(entries)).await.unwrap();
    let store = fresh.reread().await;
    let due = store.due_listings(at(5), 10).await.unwrap();
    let due: Vec<String> = due.iter().map(|kept| name(&kept.listing.id)).collect();
    assert_eq!(due, ["b", "a"]);
    assert_eq!(store.due_listings(at(9), 1).await.unwrap().len(), 1);
    assert_eq!(store.next_due_listing().await.unwrap(), Some(at(3)));
}

pub async fn holders_of_names_are_found_by_shape(mut fresh: Fresh) {
    let store = fresh.store();
    store
        .commit(put([entry("Calc", "key:1"), entry("calc", "key:2"), entry("echo", "key:1")]))
        .await
        .unwrap();
    let store = fresh.reread().await;
    let holders = store.name_holders(vec!["calc".into(), "nobody".into()]).await.unwrap();
    let holders: Vec<_> = holders.into_iter().map(|holder| (holder.id, holder.owner)).collect();
    assert_eq!(holders, [(id("Calc"), owner("key:1")), (id("calc"), owner("key:2"))]);
}
