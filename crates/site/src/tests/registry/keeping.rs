//! How entries are kept fresh: leases, marks of versions, waits, and keys that change.
//! Time is the story's: nothing here waits.

use super::*;

const HOUR: i64 = 3_600;

impl Story {
    /// A started site with the weather registered.
    async fn with_weather(document: &Value) -> Self {
        let story = Self::begin().await;
        story.site.start().await.unwrap();
        story.scout.publish(CARD, document);
        story.register(&holder("one"), CARD).await.unwrap();
        story
    }

    /// So many hours pass, one after the other, and everything that is due happens.
    async fn hours(&self, hours: i64) {
        for _ in 0..hours {
            self.clock.advance(HOUR * 1_000);
            // tidy: waits because time is paused, and moves only when nothing else is left to do
            tokio::time::sleep(Duration::from_secs(3)).await;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_answers_stands_and_is_fetched_only_when_it_changed() {
    let story = Story::with_weather(&card("weather")).await;
    story.hours(48).await;
    let entry = story.entry(ID).await;
    assert_eq!(entry.listing.standing, Standing::Active);
    let asked = story.scout.asked(CARD);
    assert!(asked.len() >= 4, "{asked:?}");
    assert_eq!(asked.iter().filter(|new| **new).count(), 1, "only the first answer was a document");
    let mut newer = card("weather");
    newer["description"] = json!("Tells the weather of the whole world.");
    story.scout.publish(CARD, &newer);
    story.hours(12).await;
    assert_eq!(story.entry(ID).await.listing.description, "Tells the weather of the whole world.");
}

#[tokio::test(start_paused = true)]
async fn an_entry_that_does_not_answer_lapses_and_comes_back() {
    let story = Story::with_weather(&card("weather")).await;
    story.scout.goes_down("w.example.org");
    story.hours(12).await;
    let waiting = story.entry(ID).await;
    assert_eq!((waiting.listing.standing, waiting.listing.live), (Standing::Active, false));
    assert!(waiting.failures > 0);
    story.hours(24).await;
    assert_eq!(story.entry(ID).await.listing.standing, Standing::Lapsed);
    assert!(story.site.search().listing(&stranger(), &weather(), "http://here").await.unwrap().is_none());
    story.scout.comes_back();
    story.hours(12).await;
    let back = story.entry(ID).await;
    assert_eq!((back.listing.standing, back.listing.live, back.failures), (Standing::Active, true, 0));
}

#[tokio::test(start_paused = true)]
async fn a_suspended_entry_is_left_alone() {
    let story = Story::with_weather(&card("weather")).await;
    story.site.registry().suspend(&holder("one"), &weather()).await.unwrap();
    let before = story.scout.asked(CARD).len();
    story.hours(72).await;
    assert_eq!(story.scout.asked(CARD).len(), before);
    assert_eq!(story.entry(ID).await.listing.standing, Standing::Suspended);
}

#[tokio::test(start_paused = true)]
async fn another_key_without_the_old_ones_word_is_not_taken() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    story.scout.publish(KEYS, &key_set(&[&key(1)], &[]));
    story.scout.publish(CARD, &signed(card("weather"), &key(1), Some(KEYS)));
    story.register(&holder("one"), CARD).await.unwrap();
    let mut stolen = card("weather");
    stolen["description"] = json!("Something else entirely.");
    story.scout.publish(KEYS, &key_set(&[&key(2)], &[]));
    story.scout.publish(CARD, &signed(stolen, &key(2), Some(KEYS)));
    story.hours(12).await;
    let entry = story.entry(ID).await;
    assert_eq!(entry.listing.standing, Standing::Pending);
    assert!(entry.listing.warnings[0].contains("another key"), "{:?}", entry.listing.warnings);
    assert_eq!(entry.listing.description, "Tells the weather.", "what the stranger says is not taken");
    assert_eq!(entry.key, Some(key(1).public().did_key()));
}

#[tokio::test(start_paused = true)]
async fn a_key_that_names_its_successor_is_followed() {
    let story = Story::begin().await;
    story.site.start().await.unwrap();
    story.scout.publish(KEYS, &key_set(&[&key(1)], &[]));
    story.scout.publish(CARD, &signed(card("weather"), &key(1), Some(KEYS)));
    story.register(&holder("one"), CARD).await.unwrap();
    let rotation = RotationRecord::sign(&key(1), &key(2).public(), Timestamp::from_millis(1_700_000_000_000));
    let mut newer = card("weather");
    newer["version"] = json!("2.0");
    story.scout.publish(KEYS, &key_set(&[&key(2)], &[rotation]));
    story.scout.publish(CARD, &signed(newer, &key(2), Some(KEYS)));
    story.hours(12).await;
    let entry = story.entry(ID).await;
    assert_eq!((entry.listing.standing, entry.listing.version.as_str()), (Standing::Active, "2.0"));
    assert_eq!(entry.key, Some(key(2).public().did_key()));
}

#[tokio::test(start_paused = true)]
async fn entries_survive_a_crash_with_their_lease() {
    let story = Story::with_weather(&card("weather")).await;
    let before = story.entry(ID).await;
    let story = story.crash().await;
    assert_eq!(story.entry(ID).await, before);
}
