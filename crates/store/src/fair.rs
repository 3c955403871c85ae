//! Fair choice among accounts: whose rows of the outbox are claimed next.
//!
//! Promises: pure. Accounts take turns, beginning after the one that was served last; none gets a second row
//! before every other account with due rows and space has got one; none exceeds its cap, and anonymous
//! accounts together do not exceed theirs. Known and anonymous accounts take turns at being first, so with
//! `a` accounts of a kind waiting and `f` free places each is served within 2 ⌈a / f⌉ rounds. It reads rows
//! only through the functions it is given.

use std::collections::HashMap;

use agentsite_protocol::Timestamp;

use crate::storage::{AFTER_ANONYMOUS, ANONYMOUS, is_anonymous};

/// Accounts looked at in one round: a seek each, so a round stays within a few milliseconds however many
/// accounts wait.
pub const VISITED: usize = 256;

/// Which rows of the outbox a worker wants to take.
#[derive(Debug, Clone)]
pub struct DeliveryClaimRequest {
    /// Rows that are due by then.
    pub now: Timestamp,
    /// Until when they are hidden from other workers.
    pub until: Timestamp,
    /// At most so many: the free places of the worker.
    pub limit: usize,
    /// Most rows of one account in flight, those of `busy` included.
    pub per_account: usize,
    /// Most rows of all anonymous accounts in flight, those of `busy` included.
    pub per_anonymous: usize,
    /// How many rows of each account are in flight.
    pub busy: HashMap<String, usize>,
    /// Whose turn it is: what the round before gave.
    pub turn: ClaimTurn,
}

/// Whose turn it is. A new worker begins with the default.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ClaimTurn {
    /// The account with a key that was served last.
    known: Option<String>,
    /// The account without a key that was served last.
    anonymous: Option<String>,
    /// Whether accounts without a key come first.
    anonymous_first: bool,
}

impl ClaimTurn {
    /// The accounts with and without a key that were served last.
    pub(crate) fn last(&self) -> (Option<&str>, Option<&str>) {
        (self.known.as_deref(), self.anonymous.as_deref())
    }
}

impl DeliveryClaimRequest {
    /// A request without caps, for a worker that knows no accounts.
    #[must_use]
    pub fn all(now: Timestamp, until: Timestamp, limit: usize) -> Self {
        let (per_account, per_anonymous) = (usize::MAX, usize::MAX);
        Self {
            now,
            until,
            limit,
            per_account,
            per_anonymous,
            busy: HashMap::new(),
            turn: ClaimTurn::default(),
        }
    }

    /// How many more rows an account may have in flight.
    fn space(&self, account: &str) -> usize {
        self.per_account.saturating_sub(self.busy.get(account).copied().unwrap_or(0))
    }

    /// How many more rows all anonymous accounts may have in flight.
    fn anonymous_space(&self) -> usize {
        let busy = self.busy.iter().filter(|(account, _)| is_anonymous(account)).map(|(_, count)| count);
        self.per_anonymous.saturating_sub(busy.sum())
    }
}

/// What was chosen.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Chosen {
    /// The rows, account by account.
    pub rows: Vec<u64>,
    /// Whose turn it is in the next round.
    pub turn: ClaimTurn,
}

/// The accounts of one kind that could be served, in the order of their turns.
struct Waiting {
    accounts: Vec<(String, Vec<u64>)>,
    /// The account that was looked at last.
    last: Option<String>,
}

impl Waiting {
    /// Where the next round begins: after the last account that was served, or after all that were looked at
    /// when none was passed over.
    fn turn(&self, shares: &[usize], before: Option<&String>) -> Option<String> {
        if !shares.contains(&0) {
            return self.last.clone();
        }
        let served = shares.iter().rposition(|share| *share > 0);
        served.map(|at| &self.accounts[at].0).or(before).cloned()
    }
}

/// Chooses rows. `next` gives the first account with rows after the named one, in order of names; `due` gives
/// up to so many due rows of an account, the longest due first.
///
/// # Errors
/// Those of the two questions.
pub fn choose<E>(
    request: &DeliveryClaimRequest,
    mut next: impl FnMut(Option<&str>) -> Result<Option<String>, E>,
    mut due: impl FnMut(&str, usize) -> Result<Vec<u64>, E>,
) -> Result<Chosen, E> {
    let ClaimTurn { known: last_known, anonymous: last_anonymous, anonymous_first } = &request.turn;
    let known = gather(request, last_known.as_ref(), &mut |after| next_known(&mut next, after), &mut due)?;
    let anonymous =
        gather(request, last_anonymous.as_ref(), &mut |after| next_anonymous(&mut next, after), &mut due)?;
    let wants = |waiting: &Waiting, anonymous: bool| -> Vec<Want> {
        waiting.accounts.iter().map(|(_, rows)| Want { rows: rows.len(), anonymous }).collect()
    };
    let (of_known, of_anonymous) = (wants(&known, false), wants(&anonymous, true));
    let (shares_known, shares_anonymous) = if *anonymous_first {
        let shares =
            share(request.limit, request.anonymous_space(), &[&of_anonymous[..], &of_known].concat());
        let (first, second) = shares.split_at(of_anonymous.len());
        (second.to_vec(), first.to_vec())
    } else {
        let shares =
            share(request.limit, request.anonymous_space(), &[&of_known[..], &of_anonymous].concat());
        let (first, second) = shares.split_at(of_known.len());
        (first.to_vec(), second.to_vec())
    };
    let turn = ClaimTurn {
        known: known.turn(&shares_known, last_known.as_ref()),
        anonymous: anonymous.turn(&shares_anonymous, last_anonymous.as_ref()),
        anonymous_first: !anonymous_first,
    };
    let all = known.accounts.into_iter().chain(anonymous.accounts);
    let shares = shares_known.into_iter().chain(shares_anonymous);
    let rows = all.zip(shares).flat_map(|((_, rows), share)| rows.into_iter().take(share));
    Ok(Chosen { rows: rows.collect(), turn })
}

/// Walks once around the accounts of one kind, beginning after `last`.
#[expect(clippy::type_complexity, reason = "two questions to the store; a name would only hide them")]
fn gather<E>(
    request: &DeliveryClaimRequest,
    last: Option<&String>,
    next: &mut dyn FnMut(Option<&str>) -> Result<Option<String>, E>,
    due: &mut dyn FnMut(&str, usize) -> Result<Vec<u64>, E>,
) -> Result<Waiting, E> {
    let mut waiting = Waiting { accounts: Vec::new(), last: last.cloned() };
    let (mut first, mut wrapped) = (None, last.is_none());
    let mut after = last.cloned();
    for _ in 0..VISITED {
        let account = match next(after.as_deref())? {
            Some(account) => account,
            None if wrapped => break,
            None => {
                (wrapped, after) = (true, None);
                continue;
            }
        };
        if first.as_ref() == Some(&account) {
            break;
        }
        let rows = due(&account, request.space(&account).min(request.limit))?;
        first.get_or_insert_with(|| account.clone());
        (after, waiting.last) = (Some(account.clone()), Some(account.clone()));
        if !rows.is_empty() {
            waiting.accounts.push((account, rows));
        }
    }
    Ok(waiting)
}

/// The next account that is not anonymous.
fn next_known<E>(
    next: &mut impl FnMut(Option<&str>) -> Result<Option<String>, E>,
    after: Option<&str>,
) -> Result<Option<String>, E> {
    match next(after)? {
        Some(account) if is_anonymous(&account) => next(Some(AFTER_ANONYMOUS)),
        found => Ok(found),
    }
}

/// The next account that is anonymous.
fn next_anonymous<E>(
    next: &mut impl FnMut(Option<&str>) -> Result<Option<String>, E>,
    after: Option<&str>,
) -> Result<Option<String>, E> {
    Ok(next(Some(after.unwrap_or(ANONYMOUS)))?.filter(|account| is_anonymous(account)))
}

/// What one account could use.
#[derive(Debug, Clone, Copy)]
struct Want {
    rows: usize,
    anonymous: bool,
}

/// How many rows each account gets: one each in turn, until the places, the rows or the space of the
/// anonymous accounts are used up.
fn share(mut free: usize, mut anonymous: usize, wants: &[Want]) -> Vec<usize> {
    let mut shares = vec![0; wants.len()];
    loop {
        let before = free;
        for (want, share) in wants.iter().zip(&mut shares) {
            let has_room = !want.anonymous || anonymous > 0;
            if free > 0 && has_room && *share < want.rows {
                *share += 1;
                free -= 1;
                anonymous -= usize::from(want.anonymous);
            }
        }
        if free == before {
            return shares;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    type Rows = BTreeMap<String, Vec<u64>>;

    fn round(request: &DeliveryClaimRequest, rows: &Rows) -> Chosen {
        let next = |after: Option<&str>| {
            let found = rows.keys().find(|account| after.is_none_or(|after| account.as_str() > after));
            Ok::<_, ()>(found.cloned())
        };
        choose(request, next, |account, most| Ok(rows[account].iter().take(most).copied().collect())).unwrap()
    }

    fn request(limit: usize, per_account: usize) -> DeliveryClaimRequest {
        let at = Timestamp::from_millis(0);
        DeliveryClaimRequest { per_account, ..DeliveryClaimRequest::all(at, at, limit) }
    }

    fn accounts() -> impl Strategy<Value = Rows> {
        let name = prop_oneof![
            (0..30_u8).prop_map(|n| format!("key:{n}")),
            (0..9_u8).prop_map(|n| format!("anon:{n}"))
        ];
        proptest::collection::btree_map(name, 1..12_usize, 0..30).prop_map(|counts| {
            let mut id = 0;
            let mut rows = |count: usize| {
                (0..count)
                    .map(|_| {
                        id += 1;
                        id
                    })
                    .collect::<Vec<u64>>()
            };
            counts.into_iter().map(|(name, count)| (name, rows(count))).collect()
        })
    }

    #[test]
    fn a_flood_of_one_account_leaves_places_for_the_others() {
        let rows = Rows::from([("key:flood".into(), (0..1_000).collect()), ("key:one".into(), vec![2_000])]);
        let chosen = round(&request(10, 8), &rows);
        assert_eq!(chosen.rows.len(), 9);
        assert!(chosen.rows.contains(&2_000));
    }

    #[test]
    fn an_account_at_its_cap_gets_nothing_more() {
        let rows = Rows::from([("key:flood".into(), (0..1_000).collect())]);
        let mut request = request(10, 8);
        request.busy.insert("key:flood".into(), 8);
        assert!(round(&request, &rows).rows.is_empty());
    }

    proptest! {
        #[test]
        fn no_cap_is_exceeded_and_no_place_is_wasted(rows in accounts(), limit in 0..40_usize, cap in 1..6_usize, anonymous in 0..9_usize) {
            let request = DeliveryClaimRequest { per_anonymous: anonymous, ..request(limit, cap) };
            let chosen = round(&request, &rows);
            let of = |account: &str| rows[account].iter().filter(|row| chosen.rows.contains(row)).count();
            let counts: Vec<(bool, usize, usize)> =
                rows.iter().map(|(name, all)| (is_anonymous(name), of(name), all.len().min(cap))).collect();
            prop_assert!(counts.iter().all(|(_, got, wanted)| got <= wanted));
            let got: usize = counts.iter().map(|(_, got, _)| got).sum();
            let sum = |kind: bool| counts.iter().filter(|(anon, ..)| *anon == kind).map(|(_, _, want)| want).sum::<usize>();
            prop_assert_eq!(got, limit.min(sum(false) + sum(true).min(anonymous)));
            let unknown: usize = counts.iter().filter(|(anon, ..)| *anon).map(|(_, got, _)| got).sum();
            prop_assert!(unknown <= anonymous);
            // No account has two rows more than another known one that could use one more.
            for (anon, mine, _) in &counts {
                for (_, other, wanted) in counts.iter().filter(|(other_anon, ..)| !other_anon && !anon) {
                    prop_assert!(*mine <= other + 1 || other == wanted);
                }
            }
        }

        #[test]
        fn no_account_waits_longer_than_the_others_take_turns(rows in accounts(), limit in 1..6_usize, pool in 6..9_usize) {
            let rounds = 2 * rows.len().div_ceil(limit);
            let mut request = DeliveryClaimRequest { per_anonymous: pool, ..request(limit, 1) };
            let mut served = std::collections::HashSet::new();
            for _ in 0..rounds {
                let chosen = round(&request, &rows);
                served.extend(rows.iter().filter(|(_, all)| chosen.rows.contains(&all[0])).map(|(name, _)| name.clone()));
                request.turn = chosen.turn;
            }
            prop_assert_eq!(served.len(), rows.len());
        }
    }
}
