//! Upkeep: entries are looked at again and again, so that the hub shows what is there.
//!
//! Promises: an entry that answers has its lease renewed; one that does not is tried again after a wait that
//! grows with full jitter, and lapses when its lease has run out; it comes back when it answers. A document
//! that was changed is judged like a new one. At most [`AT_ONCE`] looks go on together.

use std::sync::Arc;
use std::time::Duration;

use agentsite_egress::Fetched;
use agentsite_protocol::listing::{ListedInterface, ListingId, MCP_SERVER_CARD, Proof, Standing};
use agentsite_protocol::{Caller, Timestamp};
use agentsite_store::Registration;
use agentsite_tasks::Worker;
use futures::StreamExt as _;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::draft::Draft;
use super::proof::MAX_CARD;
use super::{OTHER_KEY, Registry, TRIES, being_changed, chance, shape};
use crate::error::RegistryError;

/// Looks that go on together: most of them wait.
const AT_ONCE: usize = 16;

/// Entries taken up in one round.
const ROUND: usize = 128;

/// How often is looked for what is due: one seek in an index.
const LOOK: Duration = Duration::from_secs(1);

/// The ceiling of the first wait after a look that failed; it doubles with each.
const FIRST_WAIT: Duration = Duration::from_secs(60);

/// What one look found.
enum CheckResult {
    /// It is as before.
    Same,
    /// It has a new document.
    New(Box<super::proof::Judged>, Option<String>),
    /// Nothing, and why.
    Nothing(String),
}

impl Registry {
    /// Looks at what is due until `stop`; it may be dropped at any time.
    pub async fn keep_fresh(self: Arc<Self>, worker: Worker, stop: CancellationToken) {
        loop {
            match self.round().await {
                Ok(0) => worker.idle("every entry was looked at in time"),
                Ok(count) => worker.working(&format!("looked at {count} entries")),
                Err(error) => worker.failing(&error.to_string()),
            }
            tokio::select! {
                () = tokio::time::sleep(LOOK) => {}
                () = self.bell.notified() => {}
                () = stop.cancelled() => return,
            }
        }
    }

    /// Looks at what is due now; gives how many that were.
    async fn round(&self) -> Result<usize, RegistryError> {
        let due = self.store.due_listings(self.ids.clock().now(), ROUND).await?;
        let count = due.len();
        let looks = due.into_iter().map(|entry| async move { self.look(&entry).await });
        let mut done = futures::stream::iter(looks).buffer_unordered(AT_ONCE);
        while let Some(result) = done.next().await {
            match result {
                // Another change came between; what it wrote says when to look again.
                Ok(_) => {}
                Err(error) if error.is_conflict() => {}
                Err(error) => return Err(error),
            }
        }
        Ok(count)
    }

    /// Looks at one entry because a caller wants it now.
    pub(super) async fn look_now(
        &self,
        caller: &Caller,
        id: &ListingId,
    ) -> Result<Registration, RegistryError> {
        for _ in 0..TRIES {
            let entry = self.own_entry(caller, id).await?;
            if entry.listing.standing == Standing::Suspended {
                return Ok(entry);
            }
            match self.look(&entry).await {
                Err(error) if error.is_conflict() => {}
                done => return done,
            }
        }
        Err(being_changed())
    }

    /// Looks at one entry and writes what was found. One that names no address cannot be looked at and stays
    /// as it is.
    async fn look(&self, entry: &Registration) -> Result<Registration, RegistryError> {
        if entry.listing.url.is_none() && entry.endpoint.is_none() {
            return Ok(entry.clone());
        }
        let found = self.find(entry).await;
        let mut after = entry.clone();
        let now = self.ids.clock().now();
        after.listing.checked_at = Some(now);
        match found {
            CheckResult::Nothing(why) => self.missed(&mut after, now, &why),
            CheckResult::Same => self.answered(&mut after, now),
            CheckResult::New(judged, etag) => {
                self.answered(&mut after, now);
                renew(&mut after, *judged, etag, now);
                if after.listing.standing == Standing::Pending && after.challenge.is_none() {
                    after.challenge = Some(self.challenge());
                }
            }
        }
        if after.failures == 0 && after.listing.url.is_some() {
            after.listing.live = self.is_live(&after).await;
        }
        after.revision += 1;
        let text = told(entry, &after);
        self.put("site", &after, text).await?;
        Ok(after)
    }

    async fn find(&self, entry: &Registration) -> CheckResult {
        let timeout = self.settings.timeout.0;
        let address = |text: &Option<String>| text.as_deref().and_then(|text| Url::parse(text).ok());
        let Some(url) = address(&entry.listing.url) else {
            let Some(endpoint) = address(&entry.endpoint) else { return CheckResult::Same };
            return self
                .scout
                .probe(endpoint, timeout)
                .await
                .map_or_else(CheckResult::Nothing, |()| CheckResult::Same);
        };
        if entry.listing.media_type == MCP_SERVER_CARD && !url.path().ends_with(".json") {
            let met = self.scout.meet(url.clone(), timeout).await;
            let draft =
                met.and_then(|server| Draft::of_tool_server(server, &url).map_err(|error| error.to_string()));
            let judged = |draft| super::proof::Judged {
                draft,
                proof: Proof::Domain,
                key: None,
                warning: None,
                other_key: false,
            };
            return draft
                .map_or_else(CheckResult::Nothing, |draft| CheckResult::New(Box::new(judged(draft)), None));
        }
        match self.scout.fetch(url, entry.etag.clone(), MAX_CARD, timeout).await {
            Err(why) => CheckResult::Nothing(why),
            Ok(Fetched::NotModified) => CheckResult::Same,
            Ok(Fetched::Document { bytes, etag, url: from, .. }) => {
                match self.judge(&bytes, &from, Some(entry)).await {
                    Ok(judged) => CheckResult::New(Box::new(judged), etag),
                    Err(error) => CheckResult::Nothing(error.to_string()),
                }
            }
        }
    }

    async fn is_live(&self, entry: &Registration) -> bool {
        match entry.endpoint.as_deref().map(Url::parse) {
            Some(Ok(endpoint)) => self.scout.probe(endpoint, self.settings.timeout.0).await.is_ok(),
            _ => true,
        }
    }

    /// It answered: its lease begins anew.
    fn answered(&self, entry: &mut Registration, now: Timestamp) {
        entry.failures = 0;
        entry.due = Some(now.plus(self.next_look()));
        entry.listing.seen_at = Some(now);
        entry.listing.live = true;
        entry.listing.lease_until = Some(now.plus(self.settings.lease.0));
        if entry.listing.standing == Standing::Lapsed {
            entry.listing.standing = Standing::Active;
        }
    }

    /// It did not answer: it is tried again later, and lapses when its lease has run out.
    fn missed(&self, entry: &mut Registration, now: Timestamp, why: &str) {
        let ceiling = wait_ceiling(entry.failures, self.settings.lease.0);
        // At least a second, so that a broken one is not asked in a circle.
        let wait = ceiling.mul_f64(chance(self.ids.rng().as_ref())).max(Duration::from_secs(1));
        entry.failures = entry.failures.saturating_add(1);
        entry.due = Some(now.plus(wait));
        entry.listing.live = false;
        let settled = self.ids.clock().settled();
        let over = entry.listing.lease_until.is_none_or(|until| until <= settled);
        if over && entry.listing.standing == Standing::Active {
            entry.listing.standing = Standing::Lapsed;
            entry.listing.updated_at = now;
        }
        tracing::debug!(entry = %entry.listing.id, why, "An entry of the hub did not answer.");
    }
}

/// The longest wait after so many failures: doubling from a minute, up to a third of the lease.
fn wait_ceiling(failures: u32, lease: Duration) -> Duration {
    let highest = (lease / 3).max(FIRST_WAIT);
    let doubled = 1_u32.checked_shl(failures).and_then(|times| FIRST_WAIT.checked_mul(times));
    doubled.unwrap_or(highest).min(highest)
}

/// Takes a new document, unless another key signed it than before: then the old one stays and the entry waits
/// for its owner.
fn renew(entry: &mut Registration, judged: super::proof::Judged, etag: Option<String>, now: Timestamp) {
    entry
        .listing
        .warnings
        .retain(|warning| !warning.starts_with(OTHER_KEY) && !warning.starts_with("its signature"));
    if judged.other_key {
        let warning = format!("{OTHER_KEY}, without that key's word; what it says now is not taken");
        entry.listing.warnings.insert(0, warning);
        entry.listing.standing = Standing::Pending;
        entry.vouched = false;
        return;
    }
    entry.listing.warnings.extend(judged.warning);
    let before = entry.listing.clone();
    let draft = Draft {
        url: before.url.clone(),
        document: None,
        tags: [judged.draft.tags.clone(), before.tags.clone()].concat(),
        ..judged.draft
    };
    let mut tags = draft.tags;
    tags.sort_unstable();
    tags.dedup();
    tags.truncate(64);
    entry.listing.name = draft.name;
    entry.listing.description = draft.description;
    entry.listing.version = draft.version;
    entry.listing.skills = draft.skills;
    entry.listing.tags = tags;
    let further = before.interfaces.iter().filter_map(ListedInterface::protocol).map(str::to_owned);
    entry.listing.protocols = draft.protocols;
    for protocol in further {
        if !entry.listing.protocols.contains(&protocol) {
            entry.listing.protocols.push(protocol);
        }
    }
    (entry.listing.input_modes, entry.listing.output_modes) = (draft.input_modes, draft.output_modes);
    entry.listing.proof = judged.proof;
    let counts = entry.vouched || judged.proof != Proof::None;
    entry.listing.standing = if counts { Standing::Active } else { Standing::Pending };
    if counts {
        entry.challenge = None;
    }
    (entry.etag, entry.endpoint, entry.key) = (etag, draft.endpoint, judged.key.or(entry.key.take()));
    entry.shape = shape::shape(&entry.listing.name);
    if entry.listing != before {
        entry.listing.updated_at = now;
    }
}

/// What people are told of a look: only what changed whether the entry counts.
fn told(before: &Registration, after: &Registration) -> String {
    let id = &after.listing.id;
    match (before.listing.standing, after.listing.standing) {
        (one, two) if one == two => String::new(),
        (_, Standing::Lapsed) => format!("{id} did not answer until its lease ran out"),
        (_, Standing::Pending) => format!(
            "{id} waits for its owner: {}",
            after.listing.warnings.first().map_or("nothing proves whose it is", String::as_str)
        ),
        (Standing::Lapsed, _) => format!("{id} is back"),
        (_, Standing::Active) => format!("{id} counts now"),
        (_, Standing::Suspended) => format!("{id} is suspended"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_wait_doubles_up_to_a_third_of_the_lease() {
        let day = Duration::from_secs(86_400);
        let minutes: Vec<u64> = (0..12).map(|failures| wait_ceiling(failures, day).as_secs() / 60).collect();
        assert_eq!(minutes, [1, 2, 4, 8, 16, 32, 64, 128, 256, 480, 480, 480]);
        assert_eq!(wait_ceiling(u32::MAX, Duration::from_secs(10)), FIRST_WAIT);
    }
}
