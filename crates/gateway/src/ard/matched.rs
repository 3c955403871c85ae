//! The matched set: the agents that fit a query, with the forms of each that pass its filter.
//!
//! Promises: one cutoff of relevance for search and explore, as the specification wants it; never more than
//! [`MAX_MATCHED`] agents are looked at for a text, the best first. Without a text it is every agent that the
//! caller may see.

use agentsite_protocol::{MAX_MATCHES, Query};

use super::ArdCall;
use super::entry::{Entry, forms};
use super::query::CheckedQuery;
use crate::failure::Failure;
use crate::hub;

/// Below this score an agent does not fit a text: what stands there shares a word or a mood with it, no more.
/// Of 30 unrelated questions to the demo agents and forty foreign ones 20 find nothing above it with full
/// vectors (12 at 0.1), at the cost of 2 of 46 related matches.
const RELEVANT: f64 = 0.15;

/// Most agents that are matched by a text: no reader goes further, and each costs a lookup.
const MAX_MATCHED: usize = 1000;

/// One agent that fits.
#[derive(Debug)]
pub(super) struct Matched {
    /// How well, from 0 to 100.
    pub(super) score: u8,
    /// Its forms that pass the filter, at least one.
    pub(super) forms: Vec<Entry>,
}

/// The best `most` agents for a query, the best first; without a text by name, and all the same in score.
pub(super) async fn matched(
    call: &ArdCall,
    asked: &CheckedQuery,
    most: usize,
) -> Result<Vec<Matched>, Failure> {
    let mut found = Vec::new();
    let Some(text) = &asked.text else {
        let all = hub::all(&call.front.site, &call.caller, &call.voice.base).await?;
        let each = all.iter().filter_map(|listing| passing(call, asked, listing, 1.0));
        return Ok(each.take(most).collect());
    };
    let mut query = Query { filter: asked.filter(), limit: Some(MAX_MATCHES), ..Query::of(text.as_str()) };
    while found.len() < most && query.offset < MAX_MATCHED {
        let page = call.front.site.search().find(&call.caller, &query, &call.voice.base).await?.matches;
        let last = page.len() < MAX_MATCHES;
        for found_one in page {
            let (id, score) = (found_one.id, found_one.score);
            if score < RELEVANT {
                return Ok(found);
            }
            if let Some(listing) = hub::one(&call.front.site, &call.caller, &id, &call.voice.base).await? {
                found.extend(passing(call, asked, &listing, score));
            }
        }
        if last {
            break;
        }
        query.offset += MAX_MATCHES;
    }
    found.truncate(most);
    Ok(found)
}

fn passing(
    call: &ArdCall,
    asked: &CheckedQuery,
    listing: &agentsite_protocol::listing::Listing,
    score: f64,
) -> Option<Matched> {
    let mut forms = forms(&call.front.site, listing, &call.voice);
    forms.retain(|form| asked.admits(form));
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 100")]
    let score = (score * 100.0).round().clamp(0.0, 100.0) as u8;
    (!forms.is_empty()).then_some(Matched { score, forms })
}
