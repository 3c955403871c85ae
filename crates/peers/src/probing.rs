//! Probing: sites that were lost are tried again, and the entries of their agents say what came of it.
//!
//! Promises: a site answers when a stream to it opens, or its document comes from its address on the web and
//! names it. At most [`AT_ONCE`] sites are tried at a time. An address that another site names is dialed only
//! as the overlay and the egress allow. What cannot be written is written with the next look. When to try is
//! decided in `reach`.

use std::collections::BTreeSet;
use std::time::Duration;

use agentsite_mesh::{Overlay, SiteId};
use agentsite_store::{Change, ListingFilter, Unjournaled};
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;

use crate::dialing::dial;
use crate::entries::{ENTRIES, PAGE};
use crate::error::PeersError;
use crate::reach::Reachability;
use crate::shared::Shared;
use crate::sites::SITES;
use crate::verbs::fetch_document;

/// Sites that are tried at once: one that does not answer at all takes [`PROBE`].
const AT_ONCE: usize = 4;

/// How long all attempts to reach a site may take together: one behind a cut does not refuse, it is silent.
const PROBE: Duration = Duration::from_secs(20);

/// Longest sleep: the wall clock may be set meanwhile.
const LONGEST_SLEEP: Duration = Duration::from_secs(60);

/// How long a site has to connect after a start before it is tried.
const AFTER_START: Duration = Duration::from_secs(5);

/// How often a commit is decided anew when an entry changed meanwhile.
const TRIES: usize = 3;

/// Tries sites that were lost; never ends.
pub(crate) async fn keep_probing(shared: &Shared, overlay: &dyn Overlay, own: SiteId) {
    if let Err(error) = remember(shared, own).await {
        tracing::debug!(%error, "Which sites did not answer before the start is not known.");
    }
    let mut probes = FuturesUnordered::new();
    loop {
        for (site, reachability) in shared.reach.news() {
            if let Err(error) = write(shared, site, reachability).await {
                tracing::debug!(%site, %error, "Whether a site answers was not written.");
                shared.reach.not_told(site);
            }
        }
        let now = shared.ids.clock().now();
        while probes.len() < AT_ONCE
            && let Some(site) = shared.reach.due(now)
        {
            probes.push(probe(shared, overlay, site));
        }
        let is_full = probes.len() >= AT_ONCE;
        let sleep = shared.reach.until_due(now).filter(|_| !is_full).unwrap_or(LONGEST_SLEEP);
        tokio::select! {
            () = shared.reach.changed.notified() => {}
            Some((site, has_answered)) = probes.next(), if !probes.is_empty() => {
                shared.reach.tried(site, has_answered, shared.ids.clock().now());
            }
            () = tokio::time::sleep(sleep.min(LONGEST_SLEEP)) => {}
        }
    }
}

/// Takes up what an earlier run knew: sites whose entries say that they do not answer, and those that an
/// admin added.
async fn remember(shared: &Shared, own: SiteId) -> Result<(), PeersError> {
    let mut silent = BTreeSet::new();
    let mut after = Some(ENTRIES.to_owned());
    while after.is_some() {
        let page = shared.store.listings(ListingFilter::default(), after, PAGE).await?;
        let lost = page.items.iter().filter(|entry| !entry.listing.live);
        silent.extend(lost.filter_map(|entry| entry.listing.owner.peer_did()?.parse::<SiteId>().ok()));
        after = page.next.filter(|next| next.starts_with(ENTRIES));
    }
    let soon = shared.ids.clock().now().plus(AFTER_START);
    for (site, known) in shared.known.all().iter().filter(|(site, known)| known.value.added && **site != own)
    {
        if !known.value.is_banned(soon) {
            shared.reach.suspect(*site, None, soon);
        }
    }
    silent.into_iter().for_each(|site| shared.reach.suspect(site, Some(false), soon));
    Ok(())
}

/// Whether a site answers, in one way or another.
async fn probe(shared: &Shared, overlay: &dyn Overlay, site: SiteId) -> (SiteId, bool) {
    let known = shared.known.get(&site);
    if known.is_banned(shared.ids.clock().now()) {
        return (site, false);
    }
    let by_mesh = async {
        known.added && dial(overlay, site, &known.addresses).await || overlay.open(site).await.is_ok()
    };
    let by_mesh = tokio::time::timeout(PROBE, by_mesh);
    let (by_mesh, by_web) = futures::join!(by_mesh, answers_on_the_web(shared, site));
    (site, by_mesh.unwrap_or(false) || by_web)
}

async fn answers_on_the_web(shared: &Shared, site: SiteId) -> bool {
    let did = site.to_string();
    let told = SITES.get(&shared.store, &did).await.ok().flatten();
    let Some(url) = told.and_then(|told| told.value.url) else { return false };
    fetch_document(&shared.egress, &url).await.is_ok_and(|document| document.did == did)
}

/// Writes into the entries of a site whether it answers.
async fn write(shared: &Shared, site: SiteId, reachability: Reachability) -> Result<(), PeersError> {
    let Reachability { live, checked_at, seen_at } = reachability;
    for tried in 1.. {
        let changes = shared.registry.peer_reach(&site.to_string(), live, checked_at, seen_at).await?;
        if changes.is_empty() {
            return Ok(());
        }
        if tried == 1 {
            let word = if live { "answers again" } else { "does not answer" };
            tracing::info!(%site, agents = changes.len(), "A site of the mesh {word}.");
        }
        let change = Change::unjournaled(Unjournaled::PeerRecords).edits(changes);
        match shared.store.commit(change).await {
            Ok(()) => break,
            Err(error) if tried >= TRIES => return Err(error.into()),
            Err(error) => tracing::debug!(%error, "A commit about a site is tried again."),
        }
    }
    Ok(())
}
