//! Searches that this site makes, and those that it answers for others.
//!
//! Promises: a search ends, whatever others do: after three steps of at most 32 cells, each with a
//! deadline. A server answers for the cells that it keeps and for cells that a split has made of them or
//! into them.

use super::event::{CellAnswer, CellEffect, CellMessage};
use super::page::page;
use super::search::{ANSWER_WITHIN, Question, SPARE, Search};
use super::shelf::CellHit;
use super::{CellTurn, Cells};
use crate::cell_id::CellId;
use crate::site_id::SiteId;
use crate::vectors::VectorCodes;

/// Most searches in progress at once; the next one gets what this site keeps.
pub(super) const MAX_SEARCHES: usize = 256;
/// Most questions in progress: each search has two servers for each of 32 cells, and replaces some.
pub(super) const MAX_QUESTIONS: usize = MAX_SEARCHES * 32 * 4;
/// Most agents of an answer: 32 records of 2 kB fit a message.
const MAX_ANSWER: usize = 32;
/// Most servers whose omissions are remembered.
const MAX_STRIKES: usize = 4_096;

impl Cells {
    /// The nearest agents of a cell, for another site; none when this site keeps nothing of it.
    pub(super) fn serve(&self, cell: CellId, vector: &VectorCodes, limit: usize) -> Option<CellAnswer> {
        let is_part = |kept: CellId| cell.contains(kept) || kept.contains(cell);
        let mut shelves = self.shelves.iter().filter(|(kept, _)| is_part(**kept)).peekable();
        shelves.peek()?;
        let (mut best, mut reach) = (Vec::new(), 1.0);
        for (kept, shelf) in shelves {
            shelf.search(vector, limit.min(MAX_ANSWER), &self.known, &mut best);
            // Of another cell than the one in question the centre is another one.
            reach = if *kept == cell { shelf.reach() } else { -1.0_f64 }.min(reach);
        }
        Some(CellAnswer { hits: best.into_iter().map(|hit| hit.entry).collect(), reach, is_cut: false })
    }

    pub(super) fn begin_search(
        &mut self,
        number: u64,
        vector: VectorCodes,
        (limit, effort): (usize, usize),
        turn: &mut CellTurn<'_>,
    ) {
        let limit = limit.clamp(1, MAX_ANSWER / SPARE);
        let ranked = self.codebook.rank(&vector);
        let mut local: Vec<CellHit> = Vec::new();
        self.shelves.values().for_each(|shelf| shelf.search(&vector, limit * SPARE, &self.known, &mut local));
        let effort = if self.searches.len() >= MAX_SEARCHES { 0 } else { effort };
        let is_kept = |cell: CellId| self.shelves.contains_key(&cell);
        let search = Search::new(vector, (limit, effort), ranked, is_kept, local);
        self.searches.insert(number, search);
        self.continue_search(number, turn);
    }

    /// Asks the cells of the next step, or ends the search.
    fn continue_search(&mut self, number: u64, turn: &mut CellTurn<'_>) {
        let Some(mut search) = self.searches.remove(&number) else { return };
        let reaches = &self.reaches;
        let angle = |cosine: f64| cosine.clamp(-1.0, 1.0).acos();
        // A cell of unknown reach may hold anything.
        let bound = |cell: CellId, near: f64| {
            reaches.get(&cell).map_or(1.0, |reach| (angle(near) - angle(*reach)).max(0.0).cos())
        };
        let cells = search.next_cells(bound);
        if cells.is_empty() {
            return self.end_search(number, search, turn);
        }
        for cell in cells {
            self.ask(number, &mut search, cell, turn);
        }
        search.deadline = turn.now.plus(ANSWER_WITHIN);
        let is_settled = search.is_settled();
        self.searches.insert(number, search);
        if is_settled {
            self.continue_search(number, turn);
        }
    }

    fn ask(&mut self, number: u64, search: &mut Search, cell: CellId, turn: &mut CellTurn<'_>) {
        let strikes = |site: &SiteId| self.strikes.get(site).copied().unwrap_or(0);
        let mut random = || turn.random();
        let peers = search.choose(cell, &self.known, self.settings.replicas, strikes, &mut random);
        for peer in peers {
            let request = self.next_request;
            self.next_request += 1;
            self.questions.insert(request, (number, Question { request, peer, cell }));
            let (vector, limit) = (search.vector.clone(), search.limit * SPARE);
            let message = CellMessage::Ask { request, cell, vector, limit };
            turn.push(CellEffect::Send { peer, message });
        }
    }

    pub(super) fn answered(
        &mut self,
        peer: SiteId,
        request: u64,
        answer: Option<CellAnswer>,
        turn: &mut CellTurn<'_>,
    ) {
        let is_asked =
            |(_, question): &&(u64, Question)| question.peer == peer && question.request == request;
        let Some((number, question)) = self.questions.get(&request).filter(is_asked).cloned() else { return };
        self.questions.remove(&request);
        let Some(mut search) = self.searches.remove(&number) else { return };
        let cell = question.cell;
        if let Some(answer) = &answer {
            // Of two servers the one that states more counts: too little would hide the cell from later
            // searches.
            let reach = self.reaches.entry(cell).or_insert(answer.reach);
            *reach = reach.min(answer.reach);
        }
        let answer = answer.map(|answer| (answer.hits, answer.is_cut));
        if search.answered((cell, peer), answer, &self.known) && search.needs_more(cell) {
            self.ask(number, &mut search, cell, turn);
        }
        let is_settled = search.is_settled();
        self.searches.insert(number, search);
        if is_settled {
            self.continue_search(number, turn);
        }
    }

    /// Replaces servers that did not answer in time.
    pub(super) fn stalled_searches(&mut self, turn: &mut CellTurn<'_>) {
        let stalled = self.searches.iter().filter(|(_, search)| search.deadline <= turn.now);
        let stalled: Vec<u64> = stalled.map(|(number, _)| *number).collect();
        for number in stalled {
            let Some(mut search) = self.searches.remove(&number) else { continue };
            for cell in search.give_up_waiting() {
                self.ask(number, &mut search, cell, turn);
            }
            search.deadline = turn.now.plus(ANSWER_WITHIN);
            let is_settled = search.is_settled();
            self.searches.insert(number, search);
            if is_settled {
                self.continue_search(number, turn);
            }
        }
    }

    fn end_search(&mut self, number: u64, search: Search, turn: &mut CellTurn<'_>) {
        self.questions.retain(|_, (asked, _)| *asked != number);
        let limit = search.limit;
        let (hits, coverage, omitters) = search.finish(turn.now);
        for peer in omitters {
            if self.strikes.len() < MAX_STRIKES || self.strikes.contains_key(&peer) {
                *self.strikes.entry(peer).or_default() += 1;
            }
            turn.push(CellEffect::Omitted { peer });
        }
        let hits = page(hits.into_iter().filter(|hit| !hit.entry.is_removed()).collect(), limit, &self.known);
        turn.push(CellEffect::Found { search: number, hits, coverage });
    }
}
