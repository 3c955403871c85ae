//! Columns: the facts of a segment's entries, as filters read them.
//!
//! Promises: [`Columns::pass`] gives exactly the entries that a filter and an audience let through, without looking at the others. Words are compared
//! without regard to case; owners of an audience are compared as they are, because they decide who sees what. It does not know ids.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::LazyLock;

use agentsite_protocol::{Filter, Timestamp, Visibility};

use super::bits::Bits;
use crate::{Audience, Facts};

/// Which fact a word belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Tag,
    Protocol,
    Input,
    Output,
    Region,
    Owner,
    /// The owner as it is written.
    ExactOwner,
}

/// Owners are told apart by a hash that nobody outside can aim at.
static OWNERS: LazyLock<RandomState> = LazyLock::new(RandomState::new);

/// The facts of a segment.
#[derive(Debug, Clone, Default)]
pub(crate) struct Columns {
    visibility: Vec<Visibility>,
    live: Vec<bool>,
    trust: Vec<f64>,
    price: Vec<f64>,
    since: Vec<i64>,
    owner: Vec<u64>,
    /// Which entries have a word, in order.
    words: BTreeMap<(Field, Box<str>), Vec<u16>>,
}

impl Columns {
    /// Adds the next entry's facts.
    pub(crate) fn push(&mut self, facts: &Facts) {
        let entry = self.trust.len();
        self.visibility.push(facts.visibility);
        self.live.push(facts.live);
        self.trust.push(facts.trust);
        self.price.push(facts.price.unwrap_or(0.0));
        self.since.push(facts.since.map_or(i64::MIN, Timestamp::as_millis));
        self.owner.push(owner_key(&facts.owner));
        self.spread(entry, facts);
    }

    /// Gives an entry other facts.
    pub(crate) fn set(&mut self, entry: usize, facts: &Facts) {
        self.visibility[entry] = facts.visibility;
        self.live[entry] = facts.live;
        self.trust[entry] = facts.trust;
        self.price[entry] = facts.price.unwrap_or(0.0);
        self.since[entry] = facts.since.map_or(i64::MIN, Timestamp::as_millis);
        self.owner[entry] = owner_key(&facts.owner);
        let number = entry as u16;
        self.words.retain(|_, entries| {
            if let Ok(place) = entries.binary_search(&number) {
                entries.remove(place);
            }
            !entries.is_empty()
        });
        self.spread(entry, facts);
    }

    /// Adds the next entries as they are in other columns: those that `moved` gives a number, in order.
    pub(crate) fn join(&mut self, other: &Self, stay: &Bits, moved: &dyn Fn(u16) -> Option<u16>) {
        for entry in stay.iter() {
            self.visibility.push(other.visibility[entry]);
            self.live.push(other.live[entry]);
            self.trust.push(other.trust[entry]);
            self.price.push(other.price[entry]);
            self.since.push(other.since[entry]);
            self.owner.push(other.owner[entry]);
        }
        for (word, entries) in &other.words {
            let mut entries = entries.iter().filter_map(|entry| moved(*entry)).peekable();
            if entries.peek().is_some() {
                self.words.entry(word.clone()).or_default().extend(entries);
            }
        }
    }

    fn spread(&mut self, entry: usize, facts: &Facts) {
        let number = entry as u16;
        let lists = [
            (Field::Tag, &facts.tags[..]),
            (Field::Protocol, &facts.protocols),
            (Field::Input, &facts.input_modes),
            (Field::Output, &facts.output_modes),
            (Field::Region, facts.region.as_slice()),
            (Field::Owner, std::slice::from_ref(&facts.owner)),
        ];
        let words = lists
            .iter()
            .flat_map(|(field, values)| values.iter().map(|value| (*field, value.to_lowercase())));
        for (field, word) in words.chain([(Field::ExactOwner, facts.owner.clone())]) {
            let entries = self.words.entry((field, word.into())).or_default();
            if let Err(place) = entries.binary_search(&number) {
                entries.insert(place, number);
            }
        }
    }

    /// The entries of `among` that the filter lets through and the audience sees. `also` are entries that it sees in any case.
    pub(crate) fn pass(&self, among: &Bits, filter: &Filter, audience: &Audience, also: &[usize]) -> Bits {
        let mut passed = among.clone();
        let size = self.trust.len();
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
                self.with(field, &value.to_lowercase()).iter().for_each(|entry| has.add(usize::from(*entry)));
            }
            passed.keep(&has);
        }
        if filter.live {
            only(&mut passed, |entry| self.live[entry]);
        }
        if let Some(most) = filter.max_price {
            only(&mut passed, |entry| self.price[entry] <= most);
        }
        if let Some(least) = filter.min_trust {
            only(&mut passed, |entry| self.trust[entry] >= least);
        }
        if audience.sees > Visibility::Private {
            let mut seen = Bits::none(size);
            also.iter().for_each(|entry| seen.add(*entry));
            if let Some(owner) = &audience.owner {
                self.with(Field::ExactOwner, owner.as_str())
                    .iter()
                    .for_each(|entry| seen.add(usize::from(*entry)));
            }
            only(&mut passed, |entry| self.visibility[entry] >= audience.sees || seen.has(entry));
        }
        passed
    }

    /// How far an entry is trusted.
    pub(crate) fn trust(&self, entry: usize) -> f64 {
        self.trust[entry]
    }

    /// When an entry was first seen, in milliseconds; `None` when nobody knows.
    pub(crate) fn since(&self, entry: usize) -> Option<i64> {
        Some(self.since[entry]).filter(|since| *since != i64::MIN)
    }

    /// Stands for the owner of an entry; 0 when it has none.
    pub(crate) fn owner(&self, entry: usize) -> u64 {
        self.owner[entry]
    }

    fn with(&self, field: Field, word: &str) -> &[u16] {
        self.words.get(&(field, word.into())).map_or(&[], Vec::as_slice)
    }
}

/// Stands for an owner; 0 for nobody.
pub(crate) fn owner_key(owner: &str) -> u64 {
    if owner.is_empty() { 0 } else { OWNERS.hash_one(owner).max(1) }
}

fn only(bits: &mut Bits, holds: impl Fn(usize) -> bool) {
    let out: Vec<usize> = bits.iter().filter(|entry| !holds(*entry)).collect();
    for entry in out {
        bits.take(entry);
    }
}
