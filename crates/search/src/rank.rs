//! Rank: from candidates to an order.
//!
//! Promises: an order depends on the candidates and the question alone. Trust moves a score by less than a tenth; newcomers of whom nothing is known get
//! at most one place of a page, and only when they fit nearly as well as who stands there; one owner fills at most a part of a page while others fit
//! nearly as well. It does not read texts; `reason` explains.

use std::cmp::Ordering;

use agentsite_protocol::Timestamp;

use crate::index::Snapshot;
use crate::index::columns::owner_key;
use crate::index::scan::Candidate;
use crate::question::Ask;

/// Places of a page, within which owners and newcomers are counted.
const PAGE: usize = 10;

/// Places of a page that one owner may have while others fit nearly as well.
const OWNER_PLACES: usize = 3;

/// How near others must come in score to take a place from an owner who has more than their share.
const OWNER_MARGIN: f64 = 0.75;

/// How near a newcomer must come in score to the one whose place it takes.
const NEWCOMER_MARGIN: f64 = 0.85;

/// How long somebody is a newcomer.
const NEWCOMER_MILLIS: i64 = 14 * 24 * 60 * 60 * 1000;

/// What is trusted when nothing is known.
const UNKNOWN_TRUST: f64 = 0.5;

/// How far trust moves a score.
const TRUST_SHARE: f64 = 0.15;

/// By what is ranked. All but [`Blend::Best`] are there to be measured against.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Blend {
    /// Everything that was found to help, with trust, newcomers and owners.
    #[default]
    Best,
    /// Words alone.
    Words,
    /// Meaning alone.
    Meaning,
    /// A plain sum of both.
    Sum,
}

impl Blend {
    /// The share of words in a score.
    const fn words(self) -> f64 {
        match self {
            Self::Words => 1.0,
            Self::Meaning => 0.0,
            Self::Best | Self::Sum => 0.2,
        }
    }

    const fn is_plain(self) -> bool {
        !matches!(self, Self::Best)
    }
}

/// An entry with its place.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Ranked {
    pub(crate) candidate: Candidate,
    pub(crate) score: f64,
    pub(crate) meaning: f64,
    pub(crate) words: f64,
    pub(crate) trust: f64,
    /// Took a place kept for newcomers.
    pub(crate) newcomer: bool,
}

/// The candidates of the asked page, in order.
pub(crate) fn page(snapshot: &Snapshot, candidates: Vec<Candidate>, ask: &Ask, blend: Blend) -> Vec<Ranked> {
    let mut ranked = score(snapshot, candidates, blend);
    let order = |a: &Ranked, b: &Ranked| -> Ordering {
        b.score
            .total_cmp(&a.score)
            .then_with(|| snapshot.id(a.candidate.spot).cmp(snapshot.id(b.candidate.spot)))
    };
    ranked.sort_unstable_by(order);
    let end = ask.offset.saturating_add(ask.limit);
    if blend.is_plain() {
        return ranked.into_iter().skip(ask.offset).take(ask.limit).collect();
    }
    arrange(snapshot, ranked, ask, end).into_iter().skip(ask.offset).take(ask.limit).collect()
}

/// Gives each candidate its score.
fn score(snapshot: &Snapshot, candidates: Vec<Candidate>, blend: Blend) -> Vec<Ranked> {
    let best = candidates.iter().map(|candidate| candidate.words).fold(0f32, f32::max);
    let share = blend.words();
    let score = |candidate: Candidate| {
        let meaning = f64::from(candidate.near.unwrap_or(0.0)).clamp(0.0, 1.0);
        let words = if best > 0.0 { f64::from(candidate.words / best) } else { 0.0 };
        let segment = &snapshot.segments[candidate.spot.segment];
        let trust =
            if blend.is_plain() { 1.0 } else { factor(segment.state.columns.trust(candidate.spot.entry)) };
        let score = (((1.0 - share) * meaning + share * words) * trust).clamp(0.0, 1.0);
        Ranked { candidate, score, meaning, words, trust, newcomer: false }
    };
    candidates.into_iter().map(score).filter(|ranked| ranked.score > 0.0).collect()
}

/// What trust does to a score: 1 when nothing is known.
fn factor(trust: f64) -> f64 {
    (1.0 - TRUST_SHARE + TRUST_SHARE * trust) / (1.0 - TRUST_SHARE + TRUST_SHARE * UNKNOWN_TRUST)
}

/// Fills pages up to `end`: the best first, within the share of each owner, and a place for a newcomer.
fn arrange(snapshot: &Snapshot, mut ranked: Vec<Ranked>, ask: &Ask, end: usize) -> Vec<Ranked> {
    let own = ask.audience.owner.as_ref().map_or(0, |owner| owner_key(owner.as_str()));
    let free = !ask.filter.owners.is_empty();
    let owner = |ranked: &Ranked| {
        let spot = ranked.candidate.spot;
        let owner = snapshot.segments[spot.segment].state.columns.owner(spot.entry);
        if free || owner == own { 0 } else { owner }
    };
    let mut arranged: Vec<Ranked> = Vec::with_capacity(end.min(ranked.len()));
    while arranged.len() < end && !ranked.is_empty() {
        let page = &arranged[arranged.len() / PAGE * PAGE..];
        let has_room = |ranked: &Ranked| {
            let owner = owner(ranked);
            owner == 0
                || page.iter().filter(|other| self::same(snapshot, other, owner)).count() < OWNER_PLACES
        };
        let floor = ranked[0].score * OWNER_MARGIN;
        let within = ranked.iter().take_while(|next| next.score >= floor);
        let mut next = within.clone().position(has_room).unwrap_or(0);
        let mut newcomer = false;
        if page.len() == PAGE - 1 && !page.iter().any(|other| is_newcomer(snapshot, other, ask.now)) {
            let floor = ranked[next].score * NEWCOMER_MARGIN;
            let young = ranked.iter().take_while(|next| next.score >= floor);
            if let Some(place) =
                young.clone().position(|other| has_room(other) && is_newcomer(snapshot, other, ask.now))
            {
                newcomer = place != next;
                next = place;
            }
        }
        let chosen = ranked.remove(next);
        arranged.push(Ranked { newcomer, ..chosen });
    }
    arranged
}

fn same(snapshot: &Snapshot, other: &Ranked, owner: u64) -> bool {
    let spot = other.candidate.spot;
    snapshot.segments[spot.segment].state.columns.owner(spot.entry) == owner
}

/// Whether an entry was first seen lately and nothing is known of it.
fn is_newcomer(snapshot: &Snapshot, ranked: &Ranked, now: Option<Timestamp>) -> bool {
    let spot = ranked.candidate.spot;
    let columns = &snapshot.segments[spot.segment].state.columns;
    let since = columns.since(spot.entry).zip(now);
    columns.trust(spot.entry) == UNKNOWN_TRUST
        && since.is_some_and(|(since, now)| {
            (0..NEWCOMER_MILLIS).contains(&(now.as_millis().saturating_sub(since)))
        })
}
