//! The handle for saved queries: keep one, look at it, follow it, forget it.
//!
//! Promises: a query of somebody else answers like none; it finds what its owner may see at that moment, and
//! tells of each agent once. Agents that were there when it was kept are not told.

use std::sync::Arc;

use agentsite_protocol::{Caller, Ids, MAX_MATCHES, Match, Period, PushConfig, Query, Reach, Timestamp};

use super::access::ApiKeys;
use super::finding::{AskAgain, Search};
use crate::SiteError;
use crate::push::Push;
use crate::queries::{Queries, QueryMatch, SavedQuery, Stored};

/// The score from which on a match is told when nothing else is asked for. Of 30 unrelated questions to the
/// demo agents and forty foreign ones none finds anything above 0.33 with full vectors; 35 of 46 related
/// matches lie above 0.5, as many as above 0.4. The space is for vectors of the fast table.
const MIN_SCORE: f64 = 0.5;

/// Longest text of a kept query, in bytes: it is asked again and again.
const MAX_TEXT: usize = 1024;

/// Matches looked at when a query is asked again: more than appear at once.
const LOOKED_AT: usize = 20;

/// Follows a kept query.
#[derive(Debug)]
pub struct QueryWatch {
    queries: SavedQueries,
    caller: Caller,
    id: String,
    after: u64,
    changes: tokio::sync::broadcast::Receiver<String>,
}

impl QueryWatch {
    /// The agents that appeared since; waits for the first. `None` when the query was forgotten. Cancellation
    /// safe.
    pub async fn next(&mut self) -> Option<Vec<QueryMatch>> {
        loop {
            let mut kept = self.queries.get(&self.caller, &self.id).ok()?;
            kept.matches.retain(|one| one.seq > self.after);
            if let Some(last) = kept.matches.last() {
                self.after = last.seq;
                return Some(kept.matches);
            }
            // One that lagged has missed which query it was, and looks.
            if let Err(tokio::sync::broadcast::error::RecvError::Closed) = self.changes.recv().await {
                return None;
            }
        }
    }
}

/// The queries that callers have saved, to learn of agents that appear.
#[derive(Debug, Clone)]
pub struct SavedQueries {
    pub(super) queries: Arc<Queries>,
    pub(super) search: Search,
    pub(super) keys: ApiKeys,
    pub(super) push: Arc<Push>,
    pub(super) ids: Ids,
    /// How long a delivery about a match is tried.
    pub(super) deadline: Period,
}

impl SavedQueries {
    /// Keeps a query: its owner is told of agents that appear from now on and fit at least so well.
    ///
    /// # Errors
    /// What is wrong with the query or its receiver; [`SiteError::QuotaExceeded`].
    pub async fn save(
        &self,
        caller: &Caller,
        query: Query,
        min_score: Option<f64>,
        push: Option<PushConfig>,
        base: &str,
    ) -> Result<SavedQuery, SiteError> {
        let min_score = min_score.unwrap_or(MIN_SCORE);
        if query.text.len() > MAX_TEXT || !(0.0..=1.0).contains(&min_score) {
            let what =
                format!("a kept query has at most {MAX_TEXT} bytes, and minScore is a number from 0 to 1");
            return Err(SiteError::BadMessage(what));
        }
        if query.reach != Reach::Here {
            let what = "a kept query looks at this site only; leave `reach` out";
            return Err(SiteError::BadMessage(what.into()));
        }
        query.check().map_err(SiteError::BadQuery)?;
        let push = push.map(|config| self.push.prepare(config)).transpose()?;
        let known = Query { limit: Some(MAX_MATCHES), offset: 0, ..query.clone() };
        let seen = self.search.find(caller, &known, base).await?.matches;
        let seen = seen.into_iter().map(|one| one.id).collect();
        let (owner, created_at) = (caller.owner().clone(), Timestamp::from_millis(0));
        let kept =
            SavedQuery { id: String::new(), owner, query, min_score, push, created_at, matches: Vec::new() };
        self.queries.add(Stored { kept, base: base.to_owned(), seen, told: 0, revision: 0 }).await
    }

    /// The queries that this caller keeps, the oldest first.
    #[must_use]
    pub fn list(&self, caller: &Caller) -> Vec<SavedQuery> {
        self.queries.of(caller.owner())
    }

    /// One kept query with the agents that appeared.
    ///
    /// # Errors
    /// [`SiteError::NotFound`], also when it is somebody else's.
    pub fn get(&self, caller: &Caller, id: &str) -> Result<SavedQuery, SiteError> {
        self.queries.get(caller.owner(), id)
    }

    /// Follows a kept query after what was told under number `after`.
    ///
    /// # Errors
    /// [`SiteError::NotFound`], also when it is somebody else's.
    pub fn follow(&self, caller: &Caller, id: &str, after: u64) -> Result<QueryWatch, SiteError> {
        let changes = self.queries.listen();
        self.get(caller, id)?;
        Ok(QueryWatch { queries: self.clone(), caller: caller.clone(), id: id.to_owned(), after, changes })
    }

    /// Forgets a kept query.
    ///
    /// # Errors
    /// [`SiteError::NotFound`], also when it is somebody else's.
    pub async fn forget(&self, caller: &Caller, id: &str) -> Result<(), SiteError> {
        self.queries.remove(caller.owner(), id).await
    }

    /// The function by which the search has them asked again.
    pub(super) fn asking(self) -> AskAgain {
        Arc::new(move || {
            let queries = self.clone();
            Box::pin(async move { queries.ask_again().await })
        })
    }

    /// Asks every kept query again and tells of what appeared; one that fails is asked at the next change.
    async fn ask_again(&self) -> Result<(), SiteError> {
        for Stored { kept, base, seen, .. } in self.queries.all() {
            let caller = self.keys.caller_of(&kept.owner);
            let query = Query { limit: Some(LOOKED_AT), offset: 0, ..kept.query };
            let found = self.search.find(&caller, &query, &base).await?.matches;
            let new: Vec<Match> = found
                .into_iter()
                .filter(|one| one.score >= kept.min_score && !seen.contains(&one.id))
                .collect();
            if !new.is_empty() {
                let deadline = self.ids.clock().now().plus(self.deadline.0);
                self.queries.tell(&kept.id, new, deadline).await?;
                self.push.wake();
            }
        }
        Ok(())
    }
}
