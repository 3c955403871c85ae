//! Shares: how something scarce is divided among callers: requests under way, open streams, sockets, bytes
//! being received.
//!
//! Promises: no holder has more than its own share; where several processes serve the site, a share is
//! divided among them, so that all of them together give a holder at most twice its share. Callers without a
//! credential together never hold the part that is reserved for authenticated callers; a share that is
//! dropped is free again. The decision is a pure function of the counts ([`decide`]); the driver around it
//! locks one of several small tables for a look-up and never across an await. It does not know what is
//! divided and does not recognise callers. Why it divides: docs/decisions/0039-limits-of-a-site.md.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hash, RandomState};
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use agentsite_protocol::{Caller, Principal};

use crate::settings::Division;

#[cfg(test)]
mod tests;

/// Tables that the holders are spread over, so that two requests rarely want the same lock.
const TABLES: usize = 16;

/// The part of an address that one caller controls: an IPv4 address, or the /64 network of an IPv6 address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Neighbourhood(IpAddr);

impl From<IpAddr> for Neighbourhood {
    fn from(address: IpAddr) -> Self {
        Self(match address.to_canonical() {
            IpAddr::V6(address) => Ipv6Addr::from_bits(address.to_bits() & !u128::from(u64::MAX)).into(),
            address @ IpAddr::V4(_) => address,
        })
    }
}

/// Who holds a share.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// Callers without a credential, by address.
    Address(Neighbourhood),
    /// An authenticated caller.
    Owner(Principal),
    /// Admins: limited only by what there is in total.
    Operator,
}

impl Holder {
    /// The holder that a caller at this address counts as.
    pub(crate) fn of(caller: &Caller, address: IpAddr) -> Self {
        if caller.is_anonymous() {
            Self::Address(address.into())
        } else if caller.is_admin() {
            Self::Operator
        } else {
            Self::Owner(caller.owner().counted())
        }
    }
}

/// Why there is no share.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Full {
    /// The caller holds its own share already.
    Own,
    /// All callers together hold what there is for them.
    All,
}

/// What is held at a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Counts {
    /// By everybody.
    all: usize,
    /// By callers without a credential.
    public: usize,
    /// By the one who asks.
    own: usize,
}

/// The part of a caller's limit that one of several processes gives. A balancer spreads the requests of one
/// caller by chance and not evenly, so each process gives twice the even part: a caller is rarely refused
/// before it has its limit, and never gets more than twice the limit.
pub(crate) const fn part_of(limit: usize, processes: usize) -> usize {
    if processes <= 2 { limit } else { limit.saturating_mul(2).div_ceil(processes) }
}

/// Decides whether a holder may have `wanted` more in one of so many processes.
fn decide(
    division: &Division,
    processes: usize,
    holder: &Holder,
    counts: Counts,
    wanted: usize,
) -> Result<(), Full> {
    let fits = |held: usize, most: usize| held.checked_add(wanted).is_some_and(|sum| sum <= most);
    let own = match holder {
        Holder::Address(_) => part_of(division.per_address, processes),
        Holder::Owner(_) => part_of(division.per_owner, processes),
        Holder::Operator => usize::MAX,
    };
    if !fits(counts.own, own) {
        return Err(Full::Own);
    }
    let public = matches!(holder, Holder::Address(_));
    if !fits(counts.all, division.total) || public && !fits(counts.public, division.public()) {
        return Err(Full::All);
    }
    Ok(())
}

/// Something that is divided.
#[derive(Debug)]
pub(crate) struct Shares {
    division: Division,
    /// How many processes share what one caller may have.
    processes: Arc<AtomicUsize>,
    all: AtomicUsize,
    public: AtomicUsize,
    // Std locks: held for a look-up, never across an await.
    held: [Mutex<HashMap<Holder, usize>>; TABLES],
    hasher: RandomState,
}

impl Shares {
    /// What this process alone divides, such as its memory.
    pub(crate) fn new(division: Division) -> Arc<Self> {
        Self::divided(division, Arc::new(AtomicUsize::new(1)))
    }

    /// What a caller may have in all processes of the site together; the total is that of each.
    pub(crate) fn divided(division: Division, processes: Arc<AtomicUsize>) -> Arc<Self> {
        let (all, public) = (AtomicUsize::new(0), AtomicUsize::new(0));
        let (held, hasher) = (Default::default(), RandomState::new());
        Arc::new(Self { division, processes, all, public, held, hasher })
    }

    /// Takes so much for a holder until the share is dropped.
    pub(crate) fn take(self: &Arc<Self>, holder: &Holder, wanted: usize) -> Result<Share, Full> {
        self.add(holder, wanted)?;
        Ok(Share { shares: Arc::clone(self), holder: holder.clone(), held: wanted })
    }

    /// How much is held by everybody.
    #[cfg(test)]
    pub(crate) fn in_use(&self) -> usize {
        self.all.load(Ordering::Relaxed)
    }

    fn table(&self, holder: &Holder) -> MutexGuard<'_, HashMap<Holder, usize>> {
        let place = usize::try_from(self.hasher.hash_one(holder) % TABLES as u64).unwrap_or_default();
        self.held[place].lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn add(&self, holder: &Holder, wanted: usize) -> Result<(), Full> {
        // Admins need no table: only what everybody holds counts.
        let mut table = (*holder != Holder::Operator).then(|| self.table(holder));
        let public = matches!(holder, Holder::Address(_));
        // Added before the decision and taken back after a refusal, so that two at a time never pass the
        // limit together.
        let all = self.all.fetch_add(wanted, Ordering::AcqRel);
        let open = if public { self.public.fetch_add(wanted, Ordering::AcqRel) } else { 0 };
        let own = table.as_ref().and_then(|table| table.get(holder).copied()).unwrap_or_default();
        let processes = self.processes.load(Ordering::Relaxed);
        let decided = decide(&self.division, processes, holder, Counts { all, public: open, own }, wanted);
        match (&decided, &mut table) {
            (Ok(()), Some(table)) => *table.entry(holder.clone()).or_default() += wanted,
            (Ok(()), None) => {}
            (Err(_), _) => self.subtract(public, wanted),
        }
        decided
    }

    fn subtract(&self, public: bool, freed: usize) {
        self.all.fetch_sub(freed, Ordering::AcqRel);
        if public {
            self.public.fetch_sub(freed, Ordering::AcqRel);
        }
    }

    fn give_back(&self, holder: &Holder, freed: usize) {
        if *holder != Holder::Operator {
            let mut table = self.table(holder);
            if let Some(held) = table.get_mut(holder) {
                *held = held.saturating_sub(freed);
                if *held == 0 {
                    table.remove(holder);
                }
            }
        }
        self.subtract(matches!(holder, Holder::Address(_)), freed);
    }
}

/// What one holder has, until it is dropped.
#[derive(Debug)]
pub(crate) struct Share {
    shares: Arc<Shares>,
    holder: Holder,
    held: usize,
}

impl Share {
    /// Makes the share at least this large.
    pub(crate) fn grow_to(&mut self, wanted: usize) -> Result<(), Full> {
        if let Some(more) = wanted.checked_sub(self.held).filter(|more| *more > 0) {
            self.shares.add(&self.holder, more)?;
            self.held = wanted;
        }
        Ok(())
    }

    /// Gives everything back; [`Self::grow_to`] takes it again.
    pub(crate) fn release(&mut self) {
        let held = std::mem::take(&mut self.held);
        if held > 0 {
            self.shares.give_back(&self.holder, held);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.release();
    }
}
