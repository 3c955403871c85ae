//! Reach: which other sites answer this one, as it has observed itself.
//!
//! Promises: only own contact counts: a connection, an answer, an attempt that failed. What other sites say
//! about a site changes nothing; a fresh record of its own makes it tried again, no more. A site is
//! unreachable when its connection was lost, or a call to it failed, and then a new attempt failed; it is
//! tried again after growing pauses and is reachable as soon as it answers. A site that was never tried is
//! neither. What is remembered is bounded. Pure: the time is an argument; `probing` tries.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use agentsite_mesh::SiteId;
use agentsite_protocol::Timestamp;
use tokio::sync::Notify;

/// How long after a loss the first attempt is made: both sides of a short interruption connect again by
/// themselves.
const GRACE: Duration = Duration::from_secs(1);

/// The pause after the first attempt without success; doubled with each further one.
const FIRST_PAUSE: Duration = Duration::from_secs(5);

/// The longest pause: a site that returns is noticed in this time, and mostly earlier, because it connects.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How long after an attempt without success a call is refused without another one.
const FRESH: Duration = Duration::from_secs(10);

/// After how long without success a site is forgotten: its lease ended long before.
const FORGOTTEN: Duration = Duration::from_secs(60 * 60);

/// Most sites that are remembered; ten times the connections that a site may have.
const MAX_SITES: usize = 1_024;

/// What this site knows of the reach of another.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Reachability {
    /// Whether it answers.
    pub(crate) live: bool,
    /// When it was last tried without success, or came back.
    pub(crate) checked_at: Timestamp,
    /// When there was last contact with it.
    pub(crate) seen_at: Option<Timestamp>,
}

#[derive(Debug, Default)]
struct Observed {
    is_connected: bool,
    seen_at: Option<Timestamp>,
    checked_at: Option<Timestamp>,
    /// Attempts without success since the last contact, and when the first of them was.
    failures: u32,
    failing_since: Option<Timestamp>,
    /// When it is tried; none while there is no reason to.
    next: Option<Timestamp>,
    is_tried: bool,
    /// What the entries of its agents say.
    told: Option<bool>,
}

impl Observed {
    /// Whether it answers, if that is known.
    fn live(&self) -> Option<bool> {
        match (self.is_connected, self.failures) {
            (true, _) => Some(true),
            (false, 0) => self.seen_at.map(|_| true),
            (false, _) => Some(false),
        }
    }

    fn pause(&self) -> Duration {
        FIRST_PAUSE.saturating_mul(1 << self.failures.saturating_sub(1).min(16)).min(LONGEST_PAUSE)
    }
}

/// What was observed of all sites.
#[derive(Debug, Default)]
struct Observations(HashMap<SiteId, Observed>);

impl Observations {
    fn connected(&mut self, site: SiteId, now: Timestamp) {
        let one = self.0.entry(site).or_default();
        (one.is_connected, one.failures, one.failing_since, one.next) = (true, 0, None, None);
        (one.seen_at, one.checked_at) = (Some(now), Some(now));
        self.make_room();
    }

    fn gone(&mut self, site: SiteId, now: Timestamp) {
        let Some(one) = self.0.get_mut(&site) else { return };
        (one.is_connected, one.seen_at, one.next) = (false, Some(now), Some(now.plus(GRACE)));
    }

    /// There is a reason to try it.
    fn suspect(&mut self, site: SiteId, told: Option<bool>, now: Timestamp) {
        let one = self.0.entry(site).or_default();
        if !one.is_connected {
            one.next = Some(one.next.map_or(now, |next| next.min(now)));
        }
        one.told = told.or(one.told);
        self.make_room();
    }

    /// It signed something lately: if it was tried without success, it is tried again.
    fn heard(&mut self, site: SiteId, now: Timestamp) {
        let Some(one) = self.0.get_mut(&site).filter(|one| one.failures > 0) else { return };
        let earliest = one.checked_at.map_or(now, |checked| checked.plus(FIRST_PAUSE)).max(now);
        one.next = Some(one.next.map_or(earliest, |next| next.min(earliest)));
    }

    /// A site that is to be tried now; it is not named again until the outcome is known.
    fn due(&mut self, now: Timestamp) -> Option<SiteId> {
        let is_due = |one: &Observed| !one.is_tried && one.next.is_some_and(|next| next <= now);
        let due = self.0.iter().filter(|(_, one)| is_due(one)).min_by_key(|(_, one)| one.next);
        let site = *due?.0;
        self.0.entry(site).or_default().is_tried = true;
        Some(site)
    }

    /// When the next one is to be tried.
    fn next_due(&self) -> Option<Timestamp> {
        self.0.values().filter(|one| !one.is_tried).filter_map(|one| one.next).min()
    }

    fn tried(&mut self, site: SiteId, has_answered: bool, now: Timestamp) {
        let Some(one) = self.0.get_mut(&site) else { return };
        (one.is_tried, one.checked_at) = (false, Some(now));
        if has_answered || one.is_connected {
            (one.failures, one.failing_since, one.seen_at) = (0, None, Some(now));
            one.next = None;
            return;
        }
        one.failures = one.failures.saturating_add(1);
        let since = *one.failing_since.get_or_insert(now);
        one.next = Some(now.plus(one.pause()));
        if now.since(since) >= FORGOTTEN {
            self.0.remove(&site);
        }
    }

    /// The sites of which the entries say something else than what is observed; taken as told from now on.
    fn news(&mut self) -> Vec<(SiteId, Reachability)> {
        let mut news = Vec::new();
        for (site, one) in &mut self.0 {
            let (Some(live), Some(checked_at)) = (one.live(), one.checked_at) else { continue };
            if one.told != Some(live) {
                one.told = Some(live);
                news.push((*site, Reachability { live, checked_at, seen_at: one.seen_at }));
            }
        }
        news
    }

    /// Forgets the site that was tried longest ago when there are too many; a connected one only if all are.
    fn make_room(&mut self) {
        if self.0.len() > MAX_SITES {
            let oldest = self.0.iter().min_by_key(|(_, one)| (one.is_connected, one.checked_at));
            let oldest = oldest.map(|(site, _)| *site);
            oldest.and_then(|site| self.0.remove(&site));
        }
    }
}

/// What was observed of other sites, shared by the session, the links and the prober.
#[derive(Debug, Default)]
pub(crate) struct SiteReach {
    // A std lock: held for a look-up or a pass over a bounded map, never across an await.
    observed: Mutex<Observations>,
    /// Rung when there may be something to try or to write.
    pub(crate) changed: Notify,
}

impl SiteReach {
    fn observed(&self) -> MutexGuard<'_, Observations> {
        self.observed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// A new session begins without connections.
    pub(crate) fn begin(&self) {
        *self.observed() = Observations::default();
    }

    /// A connection stands.
    pub(crate) fn connected(&self, site: SiteId, now: Timestamp) {
        self.observed().connected(site, now);
        self.changed.notify_one();
    }

    /// The last connection ended.
    pub(crate) fn gone(&self, site: SiteId, now: Timestamp) {
        self.observed().gone(site, now);
        self.changed.notify_one();
    }

    /// There is a reason to try a site; `told` is what its entries say, if that is known.
    pub(crate) fn suspect(&self, site: SiteId, told: Option<bool>, now: Timestamp) {
        self.observed().suspect(site, told, now);
        self.changed.notify_one();
    }

    /// A site signed something lately.
    pub(crate) fn heard(&self, site: SiteId, now: Timestamp) {
        self.observed().heard(site, now);
        self.changed.notify_one();
    }

    /// A site that is to be tried now.
    pub(crate) fn due(&self, now: Timestamp) -> Option<SiteId> {
        self.observed().due(now)
    }

    /// How long until the next one is to be tried.
    pub(crate) fn until_due(&self, now: Timestamp) -> Option<Duration> {
        self.observed().next_due().map(|next| next.since(now))
    }

    /// The outcome of an attempt.
    pub(crate) fn tried(&self, site: SiteId, has_answered: bool, now: Timestamp) {
        self.observed().tried(site, has_answered, now);
    }

    /// What is to be written into the entries of sites.
    pub(crate) fn news(&self) -> Vec<(SiteId, Reachability)> {
        self.observed().news()
    }

    /// What was to be written was not.
    pub(crate) fn not_told(&self, site: SiteId) {
        if let Some(one) = self.observed().0.get_mut(&site) {
            one.told = None;
        }
    }

    /// Whether a site answers, if this site knows, and when there was last contact.
    pub(crate) fn of(&self, site: &SiteId) -> (Option<bool>, Option<Timestamp>) {
        self.observed().0.get(site).map_or((None, None), |one| (one.live(), one.seen_at))
    }

    /// Whether a site answers and when that was found, if this site knows.
    pub(crate) fn checked(&self, site: &SiteId) -> Option<(bool, Timestamp)> {
        let observed = self.observed();
        let one = observed.0.get(site)?;
        Some((one.live()?, one.checked_at?))
    }

    /// Why a call to a site is not tried: an attempt was without success a moment ago.
    pub(crate) fn refusal(&self, site: &SiteId, now: Timestamp) -> Option<String> {
        let observed = self.observed();
        let one = observed.0.get(site).filter(|one| !one.is_connected && one.failures > 0)?;
        let ago = now.since(one.checked_at?);
        if ago >= FRESH {
            return None;
        }
        let seen = one.seen_at.map_or_else(String::new, |seen| format!("; it was last reached at {seen}"));
        Some(format!("the site {site} is not reachable, tried {} s ago{seen}", ago.as_secs()))
    }
}

#[cfg(test)]
mod tests {
    use agentsite_mesh::story::Site;

    use super::*;

    fn site(number: u64) -> SiteId {
        Site::new(number).id
    }

    fn at(seconds: u64) -> Timestamp {
        Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(seconds))
    }

    #[test]
    fn a_lost_site_is_unreachable_only_after_an_attempt_in_vain_and_returns_by_itself() {
        let (mut all, one) = (Observations::default(), site(1));
        all.connected(one, at(0));
        assert!(matches!(all.news().as_slice(), [(_, Reachability { live: true, .. })]));
        all.gone(one, at(10));
        assert_eq!((all.news(), all.due(at(10))), (Vec::new(), None), "a loss alone says nothing");
        assert_eq!((all.due(at(11)), all.due(at(11))), (Some(one), None), "tried once at a time");
        all.tried(one, false, at(12));
        let [(_, lost)] = all.news()[..] else { panic!("news") };
        assert_eq!((lost.live, lost.checked_at, lost.seen_at), (false, at(12), Some(at(10))));
        assert_eq!((all.due(at(16)), all.due(at(17))), (None, Some(one)), "after a pause");
        all.tried(one, true, at(18));
        assert!(matches!(all.news().as_slice(), [(_, Reachability { live: true, .. })]));
        assert_eq!(all.next_due(), None);
    }

    #[test]
    fn nothing_is_known_of_a_site_without_own_contact() {
        let reach = SiteReach::default();
        reach.heard(site(1), at(0));
        reach.gone(site(2), at(0));
        assert_eq!((reach.of(&site(1)).0, reach.of(&site(2)).0), (None, None));
        assert!(reach.news().is_empty() && reach.due(at(100)).is_none(), "what others say is no reason");
    }

    #[test]
    fn pauses_grow_and_a_fresh_record_shortens_them_but_not_below_the_first() {
        let (mut all, one) = (Observations::default(), site(1));
        all.suspect(one, None, at(0));
        let (mut now, mut tries) = (0, 0);
        while now < 3_000 {
            if all.due(at(now)).is_some() {
                tries += 1;
                all.tried(one, false, at(now));
            }
            now += 1;
        }
        assert!((10..20).contains(&tries), "{tries} attempts in 50 minutes");
        (0..100).for_each(|_| all.heard(one, at(3_000)));
        assert_eq!(all.due(at(3_000)), Some(one));
        all.tried(one, false, at(3_000));
        all.heard(one, at(3_001));
        assert_eq!((all.due(at(3_004)), all.due(at(3_005))), (None, Some(one)), "a flood changes no more");
    }

    #[test]
    fn a_call_is_refused_at_once_for_a_moment_and_then_tried_again() {
        let (reach, one) = (SiteReach::default(), site(1));
        reach.suspect(one, None, at(0));
        assert_eq!(reach.refusal(&one, at(0)), None, "nothing is known yet");
        reach.due(at(0));
        reach.tried(one, false, at(1));
        assert!(reach.refusal(&one, at(4)).is_some_and(|why| why.contains("tried 3 s ago")));
        assert_eq!(reach.refusal(&one, at(11)), None);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_long_dead_are_forgotten() {
        let mut all = Observations::default();
        for number in 0..MAX_SITES as u64 + 50 {
            all.suspect(SiteId::from_bytes(bytes(number)), None, at(number));
        }
        assert_eq!(all.0.len(), MAX_SITES);
        let (mut all, one) = (Observations::default(), site(1));
        all.suspect(one, None, at(0));
        all.due(at(0));
        all.tried(one, false, at(0));
        all.tried(one, false, at(3_600));
        assert!(all.0.is_empty());
    }

    fn bytes(number: u64) -> [u8; 32] {
        let mut bytes = [7; 32];
        bytes[..8].copy_from_slice(&number.to_le_bytes());
        bytes
    }
}
