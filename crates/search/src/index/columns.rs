//! Columns: the facts of a segment's entries, as filters read them.
//!
//! Promises: [`Columns::pass`] gives exactly the entries that a filter and an audience let through, without
//! looking at the others. Words are compared without regard to case; owners of an audience are compared as
//! they are, because they decide who sees what. Prices are kept exactly, trust to seven digits, times to the
//! second. It does not know ids.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::{Arc, LazyLock};

use agentsite_protocol::{Filter, Money, Timestamp, Visibility};

use super::bits::Bits;
use super::column::Column;
use super::postings::{Posting, Postings};
use super::space::own_pages;
use crate::{Audience, Facts};

/// Which fact a word belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Field {
    Tag,
    Protocol,
    Input,
    Output,
    Region,
    /// The owner in small letters, where it is written otherwise.
    Owner,
    /// The owner as it is written.
    ExactOwner,
}

/// Words are identified by a keyed hash of 64 bits that callers cannot predict.
static KEYS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The facts of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    /// Which entries peers see, and which all callers see.
    peers: Bits,
    public: Bits,
    live: Bits,
    trust: Column<f32>,
    price: Column<Option<Money>>,
    /// In seconds; [`UNKNOWN`] when it is unknown.
    since: Vec<u32>,
    owner: Vec<u16>,
    /// How many different words each entry has, [`MANY`] when they are more.
    kinds: Vec<u8>,
    /// Which entries have a word, by the word's key.
    words: Arc<Postings>,
    /// Words of a segment in the making, in order of the entry.
    fresh: Vec<Posting>,
}

/// From here on different words are not counted.
const MANY: u8 = u8::MAX;

/// Not known when it was first seen.
const UNKNOWN: u32 = u32::MAX;

impl Columns {
    /// Adds the next entry's facts.
    pub(crate) fn push(&mut self, facts: &Facts) {
        self.peers.push(facts.visibility >= Visibility::Peers);
        self.public.push(facts.visibility >= Visibility::Public);
        self.live.push(facts.live);
        self.trust.push(facts.trust as f32);
        self.price.push(facts.price);
        self.since.push(seconds(facts.since));
        self.owner.push(owner_key(&facts.owner));
        let words = keys(facts);
        own_pages(&mut self.fresh, words.len());
        let entry = self.kinds.len() as u16;
        self.kinds.push(kinds(&words));
        self.fresh.extend(words.into_iter().map(|word| (word, entry, 1)));
    }

    /// Gives an entry other facts.
    pub(crate) fn set(&mut self, entry: usize, facts: &Facts) {
        self.peers.set(entry, facts.visibility >= Visibility::Peers);
        self.public.set(entry, facts.visibility >= Visibility::Public);
        self.live.set(entry, facts.live);
        self.trust.set(entry, facts.trust as f32);
        self.price.set(entry, facts.price);
        self.since[entry] = seconds(facts.since);
        self.owner[entry] = owner_key(&facts.owner);
        let words = keys(facts);
        let same = kinds(&words) == self.kinds[entry] && self.kinds[entry] < MANY;
        self.kinds[entry] = kinds(&words);
        let number = entry as u16;
        let new = words.iter().map(|word| (*word, number, 1));
        if self.fresh.is_empty() {
            // Words change seldom; liveness and trust change often.
            if !same || !words.iter().all(|word| self.words.find(*word).of(number) > 0) {
                let others = self.words.iter().filter(|(_, other, _)| *other != number);
                self.words = Arc::new(Postings::of(others.chain(new).collect(), self.kinds.len()));
            }
        } else {
            let from = self.fresh.partition_point(|(_, other, _)| *other < number);
            let to = self.fresh.partition_point(|(_, other, _)| *other <= number);
            self.fresh.splice(from..to, new);
        }
    }

    /// No entries follow.
    pub(crate) fn settle(&mut self) {
        if !self.fresh.is_empty() {
            self.words = Arc::new(Postings::of(std::mem::take(&mut self.fresh), self.kinds.len()));
        }
        self.since.shrink_to_fit();
        self.owner.shrink_to_fit();
        self.trust.settle();
        self.price.settle();
        self.kinds.shrink_to_fit();
    }

    /// Columns of the entries of several that stay; entry `old` of the part `p` is now `moved(p, old)`.
    pub(crate) fn join(parts: &[(&Self, &Bits)], moved: &dyn Fn(usize, u16) -> Option<u16>) -> Self {
        let mut joined = Self::default();
        for (part, stay) in parts {
            for entry in stay.iter() {
                joined.peers.push(part.peers.has(entry));
                joined.public.push(part.public.has(entry));
                joined.live.push(part.live.has(entry));
                joined.trust.push(part.trust.of(entry));
                joined.price.push(part.price.of(entry));
                joined.since.push(part.since[entry]);
                joined.owner.push(part.owner[entry]);
                joined.kinds.push(part.kinds[entry]);
            }
        }
        let words: Vec<&Postings> = parts.iter().map(|(part, _)| &*part.words).collect();
        joined.words = Arc::new(Postings::join(&words, moved, joined.kinds.len()));
        joined.settle();
        joined
    }

    /// The entries of `among` that the filter lets through and the audience sees. `also` are entries that it
    /// sees in any case.
    pub(crate) fn pass(&self, among: &Bits, filter: &Filter, audience: &Audience, also: &[usize]) -> Bits {
        let mut passed = among.clone();
        let size = self.owner.len();
        let lists = [
            (Field::Tag, &filter.tags),
            (Field::Protocol, &filter.protocols),
            (Field::Input, &filter.input_modes),
            (Field::Output, &filter.output_modes),
            (Field::Region, &filter.regions),
            (Field::Owner, &filter.owners),
        ];
        for (field, values) in lists.into_iter().filter(|(_, values)| !values.is_empty()) {
            let mut has = Bits::none(size);
            for value in values {
                let value = value.to_lowercase();
                self.add_with(field, &value, &mut has);
                if field == Field::Owner {
                    self.add_with(Field::ExactOwner, &value, &mut has);
                }
            }
            passed.keep(&has);
        }
        if filter.live {
            passed.keep(&self.live);
        }
        if let Some(most) = filter.max_price {
            only(&mut passed, |entry| self.price.of(entry).is_none_or(|price| price <= most));
        }
        if let Some(least) = filter.min_trust {
            only(&mut passed, |entry| self.trust.of(entry) >= least as f32);
        }
        if audience.sees > Visibility::Private {
            let mut seen =
                if audience.sees == Visibility::Public { self.public.clone() } else { self.peers.clone() };
            also.iter().for_each(|entry| seen.add(*entry));
            if let Some(owner) = &audience.owner {
                self.add_with(Field::ExactOwner, owner.as_str(), &mut seen);
            }
            passed.keep(&seen);
        }
        passed
    }

    /// How far an entry is trusted.
    pub(crate) fn trust(&self, entry: usize) -> f64 {
        f64::from(self.trust.of(entry))
    }

    /// When an entry was first seen, in milliseconds of a whole second; `None` when it is unknown.
    pub(crate) fn since(&self, entry: usize) -> Option<i64> {
        Some(self.since[entry]).filter(|since| *since != UNKNOWN).map(|since| i64::from(since) * 1000)
    }

    /// Represents the owner of an entry; 0 when it has none.
    pub(crate) fn owner(&self, entry: usize) -> u16 {
        self.owner[entry]
    }

    fn add_with(&self, field: Field, word: &str, to: &mut Bits) {
        self.words.find(key(field, word)).each(|entry, _| to.add(usize::from(entry)));
    }
}

/// Represents a word of a field.
fn key(field: Field, word: &str) -> u64 {
    KEYS.hash_one((field, word))
}

/// The keys of all words of an entry, in order.
fn keys(facts: &Facts) -> Vec<u64> {
    let lists = [
        (Field::Tag, &facts.tags[..]),
        (Field::Protocol, &facts.protocols),
        (Field::Input, &facts.input_modes),
        (Field::Output, &facts.output_modes),
        (Field::Region, facts.region.as_slice()),
    ];
    let owner = facts.owner.to_lowercase();
    let owner = (owner != facts.owner).then(|| key(Field::Owner, &owner));
    let words = lists
        .iter()
        .flat_map(|(field, values)| values.iter().map(|value| key(*field, &value.to_lowercase())));
    let mut keys: Vec<u64> = words.chain(owner).chain([key(Field::ExactOwner, &facts.owner)]).collect();
    keys.sort_unstable();
    keys.dedup();
    keys
}

fn seconds(since: Option<Timestamp>) -> u32 {
    since.map_or(UNKNOWN, |since| {
        u32::try_from(since.as_millis().div_euclid(1000).clamp(0, i64::from(UNKNOWN - 1))).unwrap_or(UNKNOWN)
    })
}

/// Represents an owner in 16 bits; 0 for none. Sufficient to share out a page (in one of a thousand, two
/// owners count as one), not to decide who sees what.
pub(crate) fn owner_key(owner: &str) -> u16 {
    if owner.is_empty() { 0 } else { ((key(Field::ExactOwner, owner) >> 48) as u16).max(1) }
}

fn kinds(words: &[u64]) -> u8 {
    u8::try_from(words.len()).unwrap_or(MANY)
}

fn only(bits: &mut Bits, holds: impl Fn(usize) -> bool) {
    let out: Vec<usize> = bits.iter().filter(|entry| !holds(*entry)).collect();
    for entry in out {
        bits.take(entry);
    }
}
