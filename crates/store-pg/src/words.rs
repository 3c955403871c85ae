//! Words as columns hold them, so that conversations are found by them.
//!
//! Promises: the words are those of the store's own splitter, for every script; PostgreSQL's parsers of
//! languages are not used. A text lies there as its words with a space before each, in which a phrase whose
//! last word may go on is a plain stretch; an index of the words narrows the search. It does not use grammar.

use std::collections::BTreeSet;

use agentsite_store::engine::SearchPhrases;

/// Longest beginning of a word that the index holds, in letters; the text is compared whole.
const TERM: usize = 64;

/// Most different words of a text that the index holds: its limit is a megabyte. A longer text is searched
/// without the index.
const TERMS: usize = 4_000;

/// Words with a space before each.
pub(crate) fn spaced(words: impl Iterator<Item = String>) -> String {
    let mut out = String::new();
    for word in words {
        out.push(' ');
        out.push_str(&word);
    }
    out
}

/// What the index holds of these words; none when they are too many.
pub(crate) fn terms(words: &[String]) -> Option<Vec<String>> {
    let terms: BTreeSet<String> = words.iter().map(|word| term(word)).collect();
    (terms.len() <= TERMS).then(|| terms.into_iter().collect())
}

fn term(word: &str) -> String {
    word.chars().take(TERM).collect()
}

/// The question to the index: every word, the last of each phrase as a beginning.
pub(crate) fn index_query(wanted: &SearchPhrases) -> String {
    let word = |word: &String, goes_on: bool| {
        let goes_on = goes_on || word.chars().count() > TERM;
        format!("'{}'{}", term(word).replace('\'', "''"), if goes_on { ":*" } else { "" })
    };
    let mut all = Vec::new();
    for phrase in wanted.phrases() {
        let last = phrase.len() - 1;
        all.extend(phrase.iter().enumerate().map(|(at, one)| word(one, at == last)));
    }
    all.join(" & ")
}

/// The stretches that must stand in the text, as patterns of LIKE; words have no letters that mean something
/// there.
pub(crate) fn patterns(wanted: &SearchPhrases) -> Vec<String> {
    wanted.phrases().iter().map(|phrase| format!("%{}%", spaced(phrase.iter().cloned()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_becomes_beginnings_for_the_index_and_stretches_for_the_text() {
        let wanted = SearchPhrases::read("天气 config.toml").unwrap();
        assert_eq!(index_query(&wanted), "'天' & '气':* & 'config' & 'toml':*");
        assert_eq!(patterns(&wanted), ["% 天 气%", "% config toml%"]);
    }
}
