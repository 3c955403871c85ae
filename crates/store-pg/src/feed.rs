//! The change feed in the database: what each transaction touched, by topic, in the order of commits.
//!
//! Promises: the number of an entry is given under the lock of the head row, so a reader that has seen number
//! n has seen all before it. What is older than the topic keeps gives a gap. A cursor is good in every
//! process of the site and across restarts. It does not wake anybody; see `follower`.

use agentsite_store::engine::{cursor, cursor_parts, retained};
use agentsite_store::{ChangeCursor, ChangeReads, Changes, Entity, Reply, StoreError, Topic};
use tokio::sync::watch;
use tokio_postgres::Error;

use crate::PgStore;
use crate::fault::damaged;
use crate::session::Session;
use crate::text;

/// How often old rows are removed: whenever the end passes a multiple of this.
const TRIM: i64 = 256;

/// Rows of a topic after a place, together with the end of the feed at the same moment.
const READ: &str = "SELECT h.opening, h.feed[$1::int + 1], f.last, f.entities FROM head h
    LEFT JOIN LATERAL (SELECT last, entities FROM feed WHERE topic = $1::smallint AND last > $2 ORDER BY last LIMIT $3) f
    ON true ORDER BY f.last";

const OLD: &str = "DELETE FROM feed WHERE topic = $1 AND last <= $2";

/// An entity as a row holds it.
pub(crate) fn written(entity: &Entity) -> String {
    match entity {
        Entity::Key(id) => id.to_string(),
        Entity::Setting(name) => text::put(name).into_owned(),
        Entity::Record { collection, key } => serde_json::to_string(&[collection, key]).unwrap_or_default(),
        Entity::Listing(id) => id.to_string(),
        Entity::Conversation(id) => id.to_string(),
        Entity::Task(id) => id.to_string(),
        Entity::Room(id) => id.to_string(),
    }
}

fn read(topic: Topic, entity: String) -> Result<Entity, StoreError> {
    let wrong = || damaged("an entry of the change feed");
    Ok(match topic {
        Topic::Keys => Entity::Key(entity.parse().map_err(|_| wrong())?),
        Topic::Settings => Entity::Setting(text::got(entity)),
        Topic::Records => {
            let [collection, key]: [String; 2] = serde_json::from_str(&entity).map_err(|_| wrong())?;
            Entity::Record { collection, key }
        }
        Topic::Listings => Entity::Listing(entity.parse().map_err(|_| wrong())?),
        Topic::Conversations => Entity::Conversation(entity.parse().map_err(|_| wrong())?),
        Topic::Tasks => Entity::Task(entity.parse().map_err(|_| wrong())?),
        Topic::Rooms => Entity::Room(entity.parse().map_err(|_| wrong())?),
    })
}

/// Removes what no reader may read any more, now and then.
pub(crate) async fn trim(session: &Session, topic: Topic, last: i64, added: i64) -> Result<(), Error> {
    let kept = i64::try_from(retained(topic)).unwrap_or(i64::MAX);
    // A row that begins before this place and ends after it is still needed.
    let old = last - kept;
    if old > 0 && last / TRIM != (last - added) / TRIM {
        let number = i16::try_from(topic as usize).unwrap_or(i16::MAX);
        session.execute(OLD, &[&number, &old]).await?;
    }
    Ok(())
}

impl ChangeReads for PgStore {
    fn changes(&self, topic: Topic, after: ChangeCursor, limit: usize) -> Reply<'_, Changes> {
        Box::pin(async move {
            let (opening, seq) = cursor_parts(after);
            let limit = limit.max(1);
            let place = i64::try_from(seq).unwrap_or(i64::MAX);
            let most = i64::try_from(limit).unwrap_or(i64::MAX);
            let number = i16::try_from(topic as usize).unwrap_or(i16::MAX);
            let rows = self.readers.query(READ, &[&number, &place, &most]).await?;
            let first = rows.first().ok_or_else(|| damaged("the table `head` has no row"))?;
            let (found, end): (i64, i64) = (first.get(0), first.get(1));
            let (found, end) = (found.cast_unsigned(), end.cast_unsigned());
            let missed = end.checked_sub(seq).filter(|_| opening == found);
            let kept = retained(topic) as u64;
            if missed.is_none_or(|missed| missed > kept) {
                return Ok(Changes::Gap(cursor(found, end)));
            }
            let mut items = Vec::new();
            for row in rows.iter().filter(|row| row.get::<_, Option<i64>>(2).is_some()) {
                let (last, entities): (i64, Vec<String>) = (row.get(2), row.get(3));
                let before = last.cast_unsigned().saturating_sub(entities.len() as u64);
                let skip = usize::try_from(seq.saturating_sub(before)).unwrap_or(usize::MAX);
                for entity in entities.into_iter().skip(skip).take(limit - items.len()) {
                    items.push(read(topic, entity)?);
                }
            }
            let next = cursor(found, seq + items.len() as u64);
            Ok(Changes::Page { items, next })
        })
    }

    fn watch(&self, topic: Topic) -> watch::Receiver<ChangeCursor> {
        self.ends.watch(topic)
    }
}
