//! The entries of the registry in the database.
//!
//! Promises: a page is one short stretch of one index, wherever in the list it lies. What was written and
//! cannot be read is [`StoreError::Corrupt`]. Writing is in `batch`.

use agentsite_protocol::Timestamp;
use agentsite_protocol::listing::ListingId;
use agentsite_store::engine::{HOLDERS, MAX_PAGE, standing, visibility};
use agentsite_store::{ListingFilter, ListingReads, NameHolder, Page, Registration, Reply, StoreError};
use tokio_postgres::Row;

use crate::fault::damaged;
use crate::list::Where;
use crate::{PgStore, text};

impl ListingReads for PgStore {
    fn listing(&self, id: &ListingId) -> Reply<'_, Option<Registration>> {
        let id = id.to_string();
        Box::pin(async move {
            let row = self.readers.first("SELECT id, body FROM listings WHERE id = $1", &[&id]).await?;
            row.as_ref().map(registration).transpose()
        })
    }

    fn listings(
        &self,
        filter: ListingFilter,
        after: Option<String>,
        limit: usize,
    ) -> Reply<'_, Page<Registration, String>> {
        Box::pin(async move {
            let limit = limit.clamp(1, MAX_PAGE);
            let mut fits = fitting(&filter);
            fits.and_if("id > ?", after.map(|after| text::put(&after).into_owned()));
            let sql = format!(
                "SELECT id, body FROM listings WHERE {} ORDER BY id LIMIT {}",
                fits.conditions(),
                limit + 1
            );
            let rows = self.readers.query(&sql, &fits.values()).await?;
            let mut items = rows.iter().map(registration).collect::<Result<Vec<_>, _>>()?;
            let more = items.len() > limit;
            items.truncate(limit);
            let next = items.last().filter(|_| more).map(|kept| kept.listing.id.to_string());
            Ok(Page { items, next })
        })
    }

    fn count_listings(&self, filter: ListingFilter) -> Reply<'_, u64> {
        Box::pin(async move {
            let fits = fitting(&filter);
            let sql = format!("SELECT count(*) FROM listings WHERE {}", fits.conditions());
            let row = self.readers.first(&sql, &fits.values()).await?;
            Ok(row.map_or(0, |row| row.get::<_, i64>(0).cast_unsigned()))
        })
    }

    fn listings_of(&self, ids: Vec<ListingId>) -> Reply<'_, Vec<Registration>> {
        Box::pin(async move {
            let ids: Vec<&str> = ids.iter().map(ListingId::as_str).collect();
            let sql = "SELECT id, body FROM listings WHERE id = ANY($1) ORDER BY id";
            self.readers.query(sql, &[&ids]).await?.iter().map(registration).collect()
        })
    }

    fn due_listings(&self, now: Timestamp, limit: usize) -> Reply<'_, Vec<Registration>> {
        Box::pin(async move {
            let sql = "SELECT id, body FROM listings WHERE due <= $1 ORDER BY due, id LIMIT $2";
            let most = i64::try_from(limit.min(MAX_PAGE)).unwrap_or(i64::MAX);
            self.readers.query(sql, &[&now.as_millis(), &most]).await?.iter().map(registration).collect()
        })
    }

    fn next_due_listing(&self) -> Reply<'_, Option<Timestamp>> {
        Box::pin(async move {
            let row = self.readers.first("SELECT min(due) FROM listings WHERE due IS NOT NULL", &[]).await?;
            Ok(row.and_then(|row| row.get::<_, Option<i64>>(0)).map(Timestamp::from_millis))
        })
    }

    fn name_holders(&self, shapes: Vec<String>) -> Reply<'_, Vec<NameHolder>> {
        Box::pin(async move {
            let sql = "SELECT h.shape, h.id, h.owner FROM unnest($1::text[]) WITH ORDINALITY AS w (shape, place)
                       CROSS JOIN LATERAL (SELECT shape, id, owner FROM listings WHERE shape = w.shape ORDER BY id LIMIT $2) h
                       ORDER BY w.place, h.id";
            let shapes: Vec<String> = shapes.iter().map(|shape| text::put(shape).into_owned()).collect();
            let most = i64::try_from(HOLDERS).unwrap_or(i64::MAX);
            self.readers.query(sql, &[&shapes, &most]).await?.iter().map(holder).collect()
        })
    }
}

fn fitting(filter: &ListingFilter) -> Where {
    let small = |number: i64| i16::try_from(number).unwrap_or(i16::MAX);
    let mut fits = Where::default();
    fits.and_if("owner = ?", filter.owner.as_ref().map(ToString::to_string));
    fits.and_if("media_type = ?", filter.media_type.as_ref().map(|kind| text::put(kind).into_owned()));
    fits.and_if("updated_at >= ?", filter.updated_since.map(Timestamp::as_millis));
    if let Some((least, owner)) = &filter.seen_by {
        let seen = format!("((standing = 0 AND visibility >= {}) OR owner = ?)", visibility(*least));
        fits.and(&seen, owner.to_string());
    }
    if !filter.standings.is_empty() {
        let wanted: Vec<i16> = filter.standings.iter().map(|one| small(standing(*one))).collect();
        fits.and("standing = ANY(?)", wanted);
    }
    fits
}

/// Reads an entry from a row of id and body.
fn registration(row: &Row) -> Result<Registration, StoreError> {
    let wrong = |_| damaged(format!("entry {} of the hub", row.get::<_, &str>(0)));
    serde_json::from_str(row.get(1)).map_err(wrong)
}

fn holder(row: &Row) -> Result<NameHolder, StoreError> {
    let (id, owner): (&str, &str) = (row.get(1), row.get(2));
    match (id.parse(), owner.parse()) {
        (Ok(id), Ok(owner)) => Ok(NameHolder { shape: text::got(row.get(0)), id, owner }),
        _ => Err(damaged(format!("entry {id} of the hub"))),
    }
}
