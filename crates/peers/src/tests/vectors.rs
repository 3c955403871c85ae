//! Vectors in records: made in the background, checked by receivers, and not used when they do not belong.
//!
//! Told on a network in memory with a model that hashes texts; how the search uses them is tested in `site`.

use agentsite_store::Registration;

use super::*;
use crate::published_vectors::{AgentCodes, published_vectors};

const AT_ONCE: StoryEncoder = StoryEncoder::Takes(Duration::ZERO);

fn encodes(site: &Node, encoder: StoryEncoder) {
    *site.agents.encoder.lock().unwrap() = encoder;
}

async fn entries(site: &Node) -> Vec<Registration> {
    let shared: SharedStore = Arc::new(site.store.clone());
    shared.listings(ListingFilter::default(), None, 500).await.unwrap().items
}

/// The vectors that a site uses of other sites' agents.
async fn used(site: &Node) -> Vec<AgentCodes> {
    let shared: SharedStore = Arc::new(site.store.clone());
    published_vectors(&shared, &entries(site).await).await.unwrap().into_values().collect()
}

#[tokio::test(start_paused = true)]
async fn an_agent_is_published_with_its_vectors_and_once() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    encodes(&there, AT_ONCE);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    let vectors = used(&here).await.remove(0);
    let text = VectorText { title: "calc".into(), text: "Adds numbers".into() };
    assert_eq!(vectors.agent, codes(&text, "").codes());
    assert_eq!(entries(&here).await[0].revision, 1, "there was no version without vectors");
}

#[tokio::test(start_paused = true)]
async fn a_slow_encoder_holds_up_no_agent() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    here.add(&there).await;
    encodes(&there, StoryEncoder::Takes(Duration::from_secs(30)));
    let begun = Instant::now();
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.lists(&["calc"]).await;
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
    assert!(used(&here).await.is_empty());
    until("the vectors follow", || async { used(&here).await.len() == 1 }).await;
}

#[tokio::test(start_paused = true)]
async fn an_agent_that_changes_gets_new_vectors() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    encodes(&there, AT_ONCE);
    here.add(&there).await;
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.lists(&["calc"]).await;
    there.agents.put("calc", Visibility::Public, "Multiplies numbers");
    let text = VectorText { title: "calc".into(), text: "Multiplies numbers".into() };
    until("the new vectors arrive", || async { used(&here).await[0].agent == codes(&text, "").codes() })
        .await;
}

#[tokio::test(start_paused = true)]
async fn a_site_that_lies_loses_its_vectors_and_its_score_and_others_do_not() {
    let world = World::new();
    let (here, liar, honest) = (world.site(1).await, world.site(2).await, world.site(3).await);
    encodes(&here, AT_ONCE);
    encodes(&liar, StoryEncoder::Lies);
    encodes(&honest, AT_ONCE);
    here.add(&liar).await;
    here.add(&honest).await;
    honest.agents.put("fair", Visibility::Public, "Tells the truth");
    for name in ["one", "three", "two"] {
        liar.agents.put(name, Visibility::Public, "Claims to do everything");
    }
    here.lists(&["fair", "one", "three", "two"]).await;
    until("the liar is caught", || async { used(&here).await.len() == 1 }).await;
    let ignored = entries(&here).await.into_iter().filter(|entry| entry.ignores_vectors);
    assert_eq!(ignored.count(), 3);
    let score = |view: &crate::MeshView, site: &Node| {
        view.peers.iter().find(|peer| peer.site == site.id.to_string()).unwrap().score
    };
    let view = here.view().await;
    assert!(score(&view, &liar) < score(&view, &honest));
    // What comes later is not used either, also after a restart.
    let here = here.crash(&world, 1).await;
    liar.agents.put("four", Visibility::Public, "Claims more");
    here.lists(&["fair", "four", "one", "three", "two"]).await;
    assert_eq!(used(&here).await.len(), 1);
}
