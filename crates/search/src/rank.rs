//! Rank: from candidates to an order.
//!
//! Promises: an order depends on the candidates and the question alone. Trust moves a score by less than a
//! tenth; newcomers without a reputation get at most one place of a page, and only when they fit nearly as
//! well as the entry they replace; one owner fills at most a part of a page while others fit nearly as well.
//! It does not read texts; `reason` explains.

use std::cmp::Ordering;
use std::collections::VecDeque;

use agentsite_protocol::Timestamp;

use crate::index::Snapshot;
use crate::index::candidate::{Candidate, Effort, Vectors};
use crate::index::columns::owner_key;
use crate::index::scan::ScanPurpose;
use crate::index::terms::rarest;
use crate::question::Ask;

/// Places of a page, within which owners and newcomers are counted.
const PAGE: usize = 10;

/// Places of a page that one owner may have while others fit nearly as well.
const OWNER_PLACES: usize = 3;

/// How close others must be in score to take a place from an owner with more than its share.
const OWNER_MARGIN: f64 = 0.75;

/// How near a newcomer must come in score to the one whose place it takes.
const NEWCOMER_MARGIN: f64 = 0.85;

/// How long an agent is a newcomer.
const NEWCOMER_MILLIS: i64 = 14 * 24 * 60 * 60 * 1000;

/// What is trusted when nothing is known.
const UNKNOWN_TRUST: f64 = 0.5;

impl Effort {
    /// How many of the best by the plain sum are weighed more closely.
    const fn weighed(self) -> usize {
        match self {
            Self::Quick => 24,
            Self::Full => 128,
        }
    }

    /// Among this many of the best no entry may be missed that only words find.
    const fn sure(self) -> usize {
        match self {
            Self::Quick => 16,
            Self::Full => 32,
        }
    }
}

/// The weight of a term that only one entry has, relative to a meaning that counts up to 1. These four were
/// fitted to 2,452 questions with known answers, by fivefold cross-validation.
const WORDS_SHARE: f64 = 0.09;
/// How much of what a single sentence of the question is nearer than the whole counts.
const SENTENCE_SHARE: f64 = 0.7;
/// How much being like another candidate takes away: the answer among many that are alike is less likely to
/// be this one.
const CROWD_SHARE: f64 = 0.2;
/// From here on others are the same thing said again, and more likeness takes nothing more away.
const CROWD_MOST: f64 = 0.9;

/// What the best by words count as where meaning could not be compared: a middling fit.
const WORDS_ALONE: f64 = 0.35;

/// The sum that has the score of a half. Right answers of the measured questions are above it (19 of 20 above
/// 0.43), questions about something else mostly below half of it.
const MIDDLE: f64 = 0.35;

/// The score of entries that match nothing.
const LEAST: f64 = f64::MIN_POSITIVE;

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

/// What candidates a page needs: twice as many as it reaches, because trust and sentences move some of them
/// up.
pub(crate) fn sought(snapshot: &Snapshot, ask: &Ask, blend: Blend, effort: Effort) -> ScanPurpose {
    let reached = ask.offset.saturating_add(ask.limit).saturating_mul(2);
    let (places, sure) = (reached.max(effort.weighed()), reached.max(effort.sure()));
    if blend.is_plain() {
        return ScanPurpose::Each { places };
    }
    ScanPurpose::Both {
        places,
        sure,
        words: WORDS_SHARE as f32 / rarest(snapshot),
        alone: WORDS_ALONE as f32,
    }
}

/// The candidates of the asked page, in order.
pub(crate) fn page(
    snapshot: &Snapshot,
    candidates: Vec<Candidate>,
    sentences: &[Vectors<'_>],
    ask: &Ask,
    blend: Blend,
    effort: Effort,
) -> Vec<Ranked> {
    let mut ranked = score(snapshot, candidates, blend);
    if !blend.is_plain() {
        weigh(snapshot, &mut ranked, sentences, effort.weighed());
    }
    let end = ask.offset.saturating_add(ask.limit);
    // Entries that match nothing come last, ordered by id; there are many of them, and readers rarely page
    // that far.
    let fitting = front(&mut ranked, |ranked| ranked.score > LEAST);
    let last = if fitting < end { ranked.len() } else { fitting };
    let mut places: Vec<(f64, usize)> =
        ranked[..last].iter().enumerate().map(|(place, ranked)| (ranked.score, place)).collect();
    places.sort_unstable_by(|(a, one), (b, other)| {
        b.total_cmp(a).then_with(|| order(snapshot, &ranked[*one], &ranked[*other]))
    });
    let ranked: Vec<Ranked> = places.into_iter().map(|(_, place)| ranked[place]).collect();
    if blend.is_plain() {
        return ranked.into_iter().skip(ask.offset).take(ask.limit).collect();
    }
    arrange(snapshot, ranked, ask, end).into_iter().skip(ask.offset).take(ask.limit).collect()
}

/// The best first, and by id where there is no difference.
fn order(snapshot: &Snapshot, a: &Ranked, b: &Ranked) -> Ordering {
    b.score
        .total_cmp(&a.score)
        .then_with(|| snapshot.id(a.candidate.spot).cmp(&snapshot.id(b.candidate.spot)))
}

/// Brings those that hold to the front; gives how many they are.
fn front(ranked: &mut [Ranked], holds: impl Fn(&Ranked) -> bool) -> usize {
    let mut count = 0;
    for place in 0..ranked.len() {
        if holds(&ranked[place]) {
            ranked.swap(place, count);
            count += 1;
        }
    }
    count
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

/// Gives candidates the closer score, the best `weighed` of them by more than the others.
fn weigh(snapshot: &Snapshot, ranked: &mut [Ranked], sentences: &[Vectors<'_>], weighed: usize) {
    let rarest = f64::from(rarest(snapshot));
    let plain = |ranked: &Ranked| match ranked.candidate.near {
        Some(_) => ranked.meaning + WORDS_SHARE * f64::from(ranked.candidate.words) / rarest,
        None => WORDS_ALONE * ranked.words,
    };
    ranked.iter_mut().for_each(|ranked| ranked.score = plain(ranked));
    if ranked.len() > weighed {
        ranked.select_nth_unstable_by(weighed - 1, |a, b| order(snapshot, a, b));
    }
    let crowds = crowds(snapshot, &ranked[..ranked.len().min(weighed)]);
    for (place, ranked) in ranked.iter_mut().enumerate() {
        let candidate = &ranked.candidate;
        let mut sum = ranked.score;
        if place < weighed && candidate.near.is_some() {
            let space = &snapshot.segments[candidate.spot.segment].body.spaces[candidate.model];
            let queries = sentences.iter().filter_map(|vectors| vectors.get(candidate.model)?.as_ref());
            let near =
                queries.filter_map(|query| space.nearest(candidate.spot.entry, query)).map(|(near, _)| near);
            let gain = near.fold(0.0, f32::max);
            sum += SENTENCE_SHARE * (f64::from(gain) - ranked.meaning).max(0.0);
        }
        if candidate.near.is_some() {
            sum -= CROWD_SHARE * crowds.get(place).copied().unwrap_or(CROWD_MOST).min(CROWD_MOST);
        }
        ranked.score = fit(sum * ranked.trust);
    }
}

/// A sum as a score from 0 to 1: a half at [`MIDDLE`], little below it, and never so near to 1 that the order
/// is lost.
fn fit(sum: f64) -> f64 {
    let square = sum.max(0.0).powi(2);
    (square / (square + MIDDLE * MIDDLE)).max(LEAST)
}

/// For each candidate, how near the nearest other one of the same model is, as far as it counts
/// ([`CROWD_MOST`]).
fn crowds(snapshot: &Snapshot, ranked: &[Ranked]) -> Vec<f64> {
    let rows: Vec<_> = ranked
        .iter()
        .map(|ranked| {
            let Candidate { spot, vector, model, near, .. } = ranked.candidate;
            near.map(|_| {
                (model, snapshot.segments[spot.segment].body.spaces[model].vector_of(spot.entry, vector))
            })
        })
        .collect();
    let mut crowds = vec![0f64; ranked.len()];
    for (one, row) in rows.iter().enumerate() {
        for (other, second) in rows.iter().enumerate().skip(one + 1) {
            if let (Some((model, a)), Some((same, b))) = (row, second)
                && model == same
                && crowds[one].min(crowds[other]) < CROWD_MOST
            {
                let near = f64::from(a.near(*b));
                crowds[one] = crowds[one].max(near);
                crowds[other] = crowds[other].max(near);
            }
        }
    }
    crowds
}

/// What trust does to a score: 1 when nothing is known.
fn factor(trust: f64) -> f64 {
    (1.0 - TRUST_SHARE + TRUST_SHARE * trust) / (1.0 - TRUST_SHARE + TRUST_SHARE * UNKNOWN_TRUST)
}

/// Fills pages up to `end`: the best first, within the share of each owner, and a place for a newcomer.
fn arrange(snapshot: &Snapshot, ranked: Vec<Ranked>, ask: &Ask, end: usize) -> Vec<Ranked> {
    // Places are taken at or near the front, again and again.
    let mut ranked = VecDeque::from(ranked);
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
        let has_space = |ranked: &Ranked| {
            let owner = owner(ranked);
            owner == 0
                || page.iter().filter(|other| self::same(snapshot, other, owner)).count() < OWNER_PLACES
        };
        let floor = ranked[0].score * OWNER_MARGIN;
        let within = ranked.iter().take_while(|next| next.score >= floor);
        let mut next = within.clone().position(has_space).unwrap_or(0);
        let mut newcomer = false;
        if page.len() == PAGE - 1 && !page.iter().any(|other| is_newcomer(snapshot, other, ask.now)) {
            let floor = ranked[next].score * NEWCOMER_MARGIN;
            let young = ranked.iter().take_while(|next| next.score >= floor);
            if let Some(place) =
                young.clone().position(|other| has_space(other) && is_newcomer(snapshot, other, ask.now))
            {
                newcomer = place != next;
                next = place;
            }
        }
        let Some(chosen) = ranked.remove(next) else { break };
        arranged.push(Ranked { newcomer, ..chosen });
    }
    arranged
}

fn same(snapshot: &Snapshot, other: &Ranked, owner: u16) -> bool {
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
