//! Share: how the findings of several registries become one list.
//!
//! Promises: by score, those of this site first among equals; scores of others are only their word, so of the
//! places so far no registry has more than half and one, as long as anybody else has something left. The same
//! findings give the same list, whatever page is shown of it.

use std::collections::VecDeque;

/// What one finder has left, the best first.
struct Finder<T> {
    /// Whether its share is bounded.
    foreign: bool,
    found: VecDeque<(f64, T)>,
    placed: usize,
}

impl<T> Finder<T> {
    fn new(foreign: bool, mut found: Vec<(f64, T)>) -> Self {
        found.sort_by(|one, other| other.0.total_cmp(&one.0));
        Self { foreign, found: found.into(), placed: 0 }
    }

    fn best(&self) -> Option<f64> {
        self.found.front().map(|(score, _)| *score)
    }

    /// Whether it may have the next place after so many.
    fn may(&self, places: usize) -> bool {
        !self.foreign || self.placed * 2 <= places + 2
    }
}

/// Joins what was found here with what registries found, each of which is known by its number.
pub(super) fn merge<T>(own: Vec<(f64, T)>, foreign: Vec<(f64, usize, T)>) -> Vec<T> {
    let mut finders = vec![Finder::new(false, own)];
    let registries = foreign.iter().map(|(_, number, _)| number + 1).max().unwrap_or_default();
    let mut found: Vec<Vec<(f64, T)>> = (0..registries).map(|_| Vec::new()).collect();
    for (score, number, one) in foreign {
        found[number].push((score, one));
    }
    finders.extend(found.into_iter().map(|found| Finder::new(true, found)));
    let mut places = Vec::new();
    while let Some(next) = next(&finders, places.len()) {
        let finder = &mut finders[next];
        finder.placed += 1;
        places.extend(finder.found.pop_front().map(|(_, one)| one));
    }
    places
}

/// Whose finding has the next place: the best of those who may, else the best.
fn next<T>(finders: &[Finder<T>], places: usize) -> Option<usize> {
    let best = |may: &dyn Fn(&Finder<T>) -> bool| {
        let each = finders.iter().enumerate().filter(|(_, finder)| may(finder));
        let scored = each.filter_map(|(number, finder)| Some((number, finder.best()?)));
        // The first of equals stays: this site, then registries in the order in which the operator named
        // them.
        scored.reduce(|one, other| if other.1 > one.1 { other } else { one }).map(|(number, _)| number)
    };
    best(&|finder| finder.may(places)).or_else(|| best(&|_| true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(own: &[f64], foreign: &[(usize, f64)]) -> String {
        let own = own.iter().map(|score| (*score, 'o')).collect();
        let name = |number: usize| char::from(b'a' + u8::try_from(number).unwrap());
        let foreign = foreign.iter().map(|(number, score)| (*score, *number, name(*number))).collect();
        merge(own, foreign).into_iter().collect()
    }

    #[test]
    fn the_best_comes_first_whoever_found_it() {
        assert_eq!(merged(&[0.9, 0.3], &[(0, 0.5), (1, 0.7)]), "obao");
        assert_eq!(merged(&[0.5], &[(0, 0.5), (1, 0.5)]), "oab", "among equals this site is first");
        assert_eq!(merged(&[], &[]), "");
    }

    #[test]
    fn one_registry_that_praises_itself_does_not_fill_the_page() {
        let loud = vec![(0, 1.0); 20];
        let page: String = merged(&[0.2; 10], &loud).chars().take(10).collect();
        assert_eq!(page, "aaaoaoaoao");
        let two = [vec![(0, 1.0); 10], vec![(1, 0.1); 10]].concat();
        assert_eq!(merged(&[], &two).chars().take(8).collect::<String>(), "aaababab");
    }

    #[test]
    fn what_nobody_else_wants_is_filled() {
        assert_eq!(merged(&[0.2], &[(0, 0.9); 6]), "aaaoaaa");
        assert_eq!(merged(&[], &[(3, 0.9); 4]), "dddd");
    }
}
