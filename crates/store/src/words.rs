//! Words: how texts of people are cut so that they are found again, and what a search for some of them asks.
//!
//! Promises: letters and digits make words, whatever else parts them; scripts that are written without spaces
//! are cut into single letters, so that any stretch of them is found. Case does not count. It does not know
//! grammar: no stems, no synonyms.

/// Most words of a search that are looked at; people write a few.
const MOST: usize = 32;

/// What is searched for: phrases of words that follow one another, all of which must be there. The last word
/// of each may go on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SearchPhrases(Vec<Vec<String>>);

impl SearchPhrases {
    /// Reads what a person typed; none when there is no word in it.
    #[must_use]
    pub fn read(text: &str) -> Option<Self> {
        let mut space = MOST;
        let mut phrases: Vec<Vec<String>> = Vec::new();
        for piece in text.split_whitespace() {
            let phrase: Vec<String> = words(piece).take(space).collect();
            space -= phrase.len();
            if !phrase.is_empty() {
                phrases.push(phrase);
            }
        }
        (!phrases.is_empty()).then_some(Self(phrases))
    }

    /// The phrases, each of at least one word.
    #[must_use]
    pub fn phrases(&self) -> &[Vec<String>] {
        &self.0
    }

    /// Whether all of it stands in a text.
    #[must_use]
    pub fn fits(&self, text: &str) -> bool {
        let words: Vec<String> = words(text).collect();
        self.0.iter().all(|phrase| words.windows(phrase.len()).any(|stretch| follows(stretch, phrase)))
    }

    /// The same as a query of FTS5 within the column `words`.
    pub(crate) fn query(&self) -> String {
        let phrase = |phrase: &Vec<String>| format!("(words : \"{}\" *)", phrase.join(" "));
        self.0.iter().map(phrase).collect::<Vec<_>>().join(" AND ")
    }
}

fn follows(stretch: &[String], phrase: &[String]) -> bool {
    let last = phrase.len() - 1;
    stretch[..last] == phrase[..last] && stretch[last].starts_with(&phrase[last])
}

/// The text as the index is to read it: letters of scripts without spaces stand alone.
pub(crate) fn spaced(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for letter in text.chars() {
        if stands_alone(letter) {
            out.extend([' ', letter, ' ']);
        } else {
            out.push(letter);
        }
    }
    out
}

/// The words of a text, in their order and in small letters.
pub fn words(text: &str) -> impl Iterator<Item = String> {
    let spaced = spaced(text);
    let cut: Vec<String> = spaced
        .split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    cut.into_iter()
}

/// Whether a letter belongs to a script that is written without spaces: Han, Kana, Hangul and what belongs to
/// them.
const fn stands_alone(letter: char) -> bool {
    matches!(letter, '\u{2e80}'..='\u{2fff}' | '\u{3005}'..='\u{3007}' | '\u{3040}'..='\u{9fff}' | '\u{ac00}'..='\u{d7af}'
        | '\u{f900}'..='\u{faff}' | '\u{ff66}'..='\u{ff9f}' | '\u{20000}'..='\u{3ffff}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finds(wanted: &str, text: &str) -> bool {
        SearchPhrases::read(wanted).unwrap().fits(text)
    }

    #[test]
    fn all_words_must_be_there_in_any_order_and_case() {
        assert!(finds("paris WEATHER", "The weather in Paris"));
        assert!(!finds("paris snow", "The weather in Paris"));
        assert!(finds("wea", "The weather in Paris"), "the beginning of a word");
        assert!(!finds("her", "The weather in Paris"), "not its end");
    }

    #[test]
    fn what_is_written_together_follows_one_another() {
        assert!(finds("config.toml", "edit config.toml first"));
        assert!(!finds("config.toml", "toml is a config format"));
    }

    #[test]
    fn scripts_without_spaces_are_found_by_any_stretch() {
        assert!(finds("天气", "今天天气很好"));
        assert!(!finds("气天", "今天天气很好"));
        assert_eq!(spaced("a天b"), "a 天 b");
    }

    #[test]
    fn what_has_no_words_asks_nothing_and_quotes_cannot_escape() {
        assert_eq!(SearchPhrases::read(" \" * ( "), None);
        assert_eq!(
            SearchPhrases::read("a\" OR b").unwrap().query(),
            "(words : \"a\" *) AND (words : \"or\" *) AND (words : \"b\" *)"
        );
        let long = SearchPhrases::read(&"w ".repeat(100)).unwrap();
        assert_eq!(long.0.len(), MOST);
    }
}
