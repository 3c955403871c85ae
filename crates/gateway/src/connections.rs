//! Connections: who may have how many, and which one ends when there are too many.
//!
//! Promises: a new connection always gets in while an unproven one can be ended for it, so that a caller who
//! floods the site only competes with itself: an address that has used its share loses its own slowest
//! connection, and a full site ends one of the address that has most. A connection on which a caller has
//! authenticated is proven: it is never ended for another one. Connections that a request is being worked on
//! are ended last. Pure: it holds no sockets and reads no clock; `server` drives it.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use agentsite_protocol::Principal;

use crate::settings::Division;
use crate::shares::Neighbourhood;

#[cfg(test)]
mod tests;

/// Most addresses that are looked at for a connection to end; the ones with most connections come first.
const ADDRESSES_LOOKED_AT: usize = 64;

/// What tells one connection from another.
pub(crate) type ConnectionId = u64;

/// Where a connection comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum ConnectionSource {
    /// A caller.
    Direct(Neighbourhood),
    /// A proxy that the operator trusts, with the connections of many callers.
    Proxy(Neighbourhood),
}

/// What a connection is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ConnectionActivity {
    /// Whether a request that has arrived completely is being worked on; otherwise the site waits for the
    /// other end.
    pub(crate) working: bool,
    /// For how long.
    pub(crate) since: Duration,
}

/// What happens to a new connection.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Admission<T> {
    /// It is open.
    Open,
    /// It is open, and this one must end.
    Instead(T),
    /// There is no space: everything is taken by authenticated callers, or is being worked on.
    Refused,
}

/// The open connections. `T` is the driver's handle on one.
#[derive(Debug)]
pub(crate) struct Connections<T> {
    division: Division,
    open: HashMap<ConnectionId, Entry<T>>,
    /// The unproven ones.
    unproven: HashMap<ConnectionSource, Vec<ConnectionId>>,
    /// The addresses by the number of their unproven connections, proxies apart.
    by_count: BTreeSet<(usize, ConnectionSource)>,
    /// How many of the unproven ones come directly.
    direct: usize,
    owners: HashMap<Principal, usize>,
}

#[derive(Debug)]
struct Entry<T> {
    handle: T,
    source: ConnectionSource,
    proof: Option<Proof>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Proof {
    Operator,
    Owner(Principal),
}

impl<T: Clone> Connections<T> {
    pub(crate) fn new(division: Division) -> Self {
        Self {
            division,
            open: HashMap::new(),
            unproven: HashMap::new(),
            by_count: BTreeSet::new(),
            direct: 0,
            owners: HashMap::new(),
        }
    }

    /// Takes in a new connection; `standing` says what another one is doing.
    pub(crate) fn admit(
        &mut self,
        id: ConnectionId,
        source: ConnectionSource,
        handle: T,
        standing: impl Fn(&T) -> ConnectionActivity,
    ) -> Admission<T> {
        let mut ended = None;
        if self.count(source) >= self.limit(source) {
            let Some(victim) = self.slowest(source, &standing) else { return Admission::Refused };
            ended = self.close(victim);
        }
        let crowded = matches!(source, ConnectionSource::Direct(_)) && self.direct >= self.division.public();
        if ended.is_none() && (crowded || self.open.len() >= self.division.total) {
            let Some(victim) = self.of_the_heaviest(source, &standing) else { return Admission::Refused };
            ended = self.close(victim);
        }
        self.insert(id, source, handle);
        ended.map_or(Admission::Open, Admission::Instead)
    }

    /// Notes that a caller has authenticated on a connection; `None` for admins. An
    /// owner who has its share of proven connections gets no more of them: this one stays as it is.
    pub(crate) fn prove(&mut self, id: ConnectionId, owner: Option<&Principal>) -> bool {
        let Some(entry) = self.open.get(&id).filter(|entry| entry.proof.is_none()) else { return true };
        let source = entry.source;
        let proof = match owner {
            None => Proof::Operator,
            Some(owner) => {
                let held = self.owners.entry(owner.clone()).or_default();
                if *held >= self.division.per_owner {
                    return false;
                }
                *held += 1;
                Proof::Owner(owner.clone())
            }
        };
        self.take_out(id, source);
        if let Some(entry) = self.open.get_mut(&id) {
            entry.proof = Some(proof);
        }
        true
    }

    /// Forgets a connection that has ended; gives its handle.
    pub(crate) fn close(&mut self, id: ConnectionId) -> Option<T> {
        let Entry { handle, source, proof } = self.open.remove(&id)?;
        match proof {
            None => self.take_out(id, source),
            Some(Proof::Operator) => {}
            Some(Proof::Owner(owner)) => {
                if let Some(held) = self.owners.get_mut(&owner) {
                    *held -= 1;
                    if *held == 0 {
                        self.owners.remove(&owner);
                    }
                }
            }
        }
        Some(handle)
    }

    /// Every open connection.
    pub(crate) fn handles(&self) -> impl Iterator<Item = &T> {
        self.open.values().map(|entry| &entry.handle)
    }

    fn count(&self, source: ConnectionSource) -> usize {
        self.unproven.get(&source).map_or(0, Vec::len)
    }

    /// Most unproven connections of one source. A proxy may have half of what everybody has: behind it are
    /// many callers.
    fn limit(&self, source: ConnectionSource) -> usize {
        match source {
            ConnectionSource::Direct(_) => self.division.per_address,
            ConnectionSource::Proxy(_) => self.division.per_address.max(self.division.public() / 2),
        }
    }

    fn insert(&mut self, id: ConnectionId, source: ConnectionSource, handle: T) {
        self.open.insert(id, Entry { handle, source, proof: None });
        let of_source = self.unproven.entry(source).or_default();
        of_source.push(id);
        let count = of_source.len();
        if let ConnectionSource::Direct(_) = source {
            self.direct += 1;
            self.by_count.remove(&(count - 1, source));
            self.by_count.insert((count, source));
        }
    }

    /// Takes a connection out of the unproven ones.
    fn take_out(&mut self, id: ConnectionId, source: ConnectionSource) {
        let Some(of_source) = self.unproven.get_mut(&source) else { return };
        let Some(place) = of_source.iter().position(|one| *one == id) else { return };
        of_source.swap_remove(place);
        let count = of_source.len();
        if count == 0 {
            self.unproven.remove(&source);
        }
        if let ConnectionSource::Direct(_) = source {
            self.direct -= 1;
            self.by_count.remove(&(count + 1, source));
            if count > 0 {
                self.by_count.insert((count, source));
            }
        }
    }

    /// The connection of a source that has kept the site waiting longest.
    fn slowest(
        &self,
        source: ConnectionSource,
        standing: &impl Fn(&T) -> ConnectionActivity,
    ) -> Option<ConnectionId> {
        let of_source = self.unproven.get(&source)?.iter();
        let known = of_source.filter_map(|id| Some((*id, standing(&self.open.get(id)?.handle))));
        let waiting = known.filter(|(_, standing)| !standing.working);
        waiting.max_by_key(|(id, standing)| (standing.since, std::cmp::Reverse(*id))).map(|(id, _)| id)
    }

    /// The slowest connection of the address that has most, of the next one when all of its are being worked
    /// on, and so on; never of an address that has fewer than the newcomer's.
    fn of_the_heaviest(
        &self,
        newcomer: ConnectionSource,
        standing: &impl Fn(&T) -> ConnectionActivity,
    ) -> Option<ConnectionId> {
        let own = self.count(newcomer);
        let heaviest = self.by_count.iter().rev().take(ADDRESSES_LOOKED_AT);
        let candidates = heaviest.take_while(|(count, _)| *count >= own).map(|(_, source)| *source);
        candidates.chain([newcomer]).find_map(|source| self.slowest(source, standing))
    }
}
