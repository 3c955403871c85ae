//! Words: what the lexical half of the index counts.
//!
//! Promises: the same text gives the same terms on every machine; a word and its usual endings give one term;
//! `camelCase`, `snake_case` and digits are taken apart and also kept whole; text without spaces between
//! words (Chinese, Japanese, Korean) is read in pairs of letters. Terms are known by a 64-bit hash of their
//! letters, so that no dictionary has to be kept or agreed on.
//!
//! It only has the common endings and the stop words of English; other languages are matched word by word.

/// Longest word that is read, in bytes; what is longer is an encoded blob, not part of a question.
const LONGEST_WORD: usize = 64;

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    /// As written in the text.
    pub(crate) said: &'a str,
    /// By what it is counted.
    pub(crate) term: u64,
    /// Whether it says nothing about what is looked for.
    pub(crate) empty: bool,
}

/// Pairs of neighbouring words, empty words left out: `find the best flights` has `find best` and `best
/// flights`.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    before: Option<u64>,
}

impl Pairs {
    /// The term of the pair that ends with the next word of the text.
    pub(crate) fn next(&mut self, word: Word<'_>) -> Option<u64> {
        if word.empty {
            return None;
        }
        let before = self.before.replace(word.term)?;
        // A pair is not a word: its lowest bit marks it.
        Some((before.rotate_left(17) ^ word.term).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }
}

/// Gives every word of a text to `take`, in order; stops when `take` gives false.
pub(crate) fn read<'a>(text: &'a str, take: &mut dyn FnMut(Word<'a>) -> bool) {
    let mut rest = text;
    while let Some(from) = rest.find(char::is_alphanumeric) {
        let run = &rest[from..];
        let to = run.find(|letter: char| !letter.is_alphanumeric()).unwrap_or(run.len());
        if !read_run(&run[..to], take) {
            return;
        }
        rest = &run[to..];
        if let Some(after) = possessive(rest) {
            rest = after;
        }
    }
}

/// The terms by which the words of a text are compared, in order, without stop words: a word and its usual
/// endings have one term.
#[must_use]
pub fn terms(text: &str) -> Vec<u64> {
    let mut terms = Vec::new();
    read(text, &mut |word| {
        if !word.empty {
            terms.push(word.term);
        }
        true
    });
    terms
}

/// What follows an `'s`, if the text begins with one.
fn possessive(rest: &str) -> Option<&str> {
    let after = rest.strip_prefix(['\'', '’'])?.strip_prefix('s')?;
    (!after.starts_with(char::is_alphanumeric)).then_some(after)
}

/// One run of letters and digits: pairs, parts and whole.
fn read_run<'a>(run: &'a str, take: &mut dyn FnMut(Word<'a>) -> bool) -> bool {
    if run.chars().any(without_spaces) {
        return pairs(run, take);
    }
    if run.len() > LONGEST_WORD {
        return true;
    }
    let mut parts = 0;
    let mut from = 0;
    let mut before = Kind::Start;
    let mut letters = run.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        let kind = Kind::of(letter);
        let next = letters.peek().map_or(Kind::Start, |(_, letter)| Kind::of(*letter));
        if at > from && kind.begins_after(before, next) {
            parts += 1;
            if !take(word(&run[from..at])) {
                return false;
            }
            from = at;
        }
        before = kind;
    }
    (parts == 0 || take(word(&run[from..]))) && take(word(run))
}

/// What a letter is to the cutting of `camelCase4You`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Start,
    Upper,
    Lower,
    Digit,
}

impl Kind {
    fn of(letter: char) -> Self {
        if letter.is_numeric() {
            Self::Digit
        } else if letter.is_uppercase() {
            Self::Upper
        } else {
            Self::Lower
        }
    }

    /// Whether a part begins with a letter of this kind, after one kind and before another.
    fn begins_after(self, before: Self, next: Self) -> bool {
        match (before, self) {
            (Self::Digit, Self::Upper | Self::Lower) | (Self::Upper | Self::Lower, Self::Digit) => true,
            (Self::Lower, Self::Upper) => true,
            (Self::Upper, Self::Upper) => next == Self::Lower,
            _ => false,
        }
    }
}

/// Scripts that put no spaces between words.
fn without_spaces(letter: char) -> bool {
    matches!(u32::from(letter), 0x3040..=0x30ff | 0x3400..=0x9fff | 0xac00..=0xd7af | 0xf900..=0xfaff | 0x2_0000..=0x3_ffff)
}

/// Each two neighbouring letters; a single one by itself.
fn pairs<'a>(run: &'a str, take: &mut dyn FnMut(Word<'a>) -> bool) -> bool {
    let mut before = None;
    let mut any = false;
    for (at, letter) in run.char_indices() {
        let to = at + letter.len_utf8();
        if let Some(from) = before {
            any = true;
            let said = &run[from..to];
            if !take(Word { said, term: term(&said.to_lowercase()), empty: false }) {
                return false;
            }
        }
        before = Some(at);
    }
    any || take(Word { said: run, term: term(&run.to_lowercase()), empty: false })
}

fn word(said: &str) -> Word<'_> {
    let lower = said.to_lowercase();
    let empty = EMPTY.binary_search(&lower.as_str()).is_ok();
    Word { said, term: term(&stem(lower)), empty }
}

/// The term of a word: even, because odd ones are pairs.
fn term(word: &str) -> u64 {
    hash(word) & !1
}

/// FNV-1a: the same on every machine and in every version, because it is written to disk.
pub(crate) fn hash(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Takes off the common endings of English, so that `searches`, `searching` and `search` are one term. The
/// result need not be a word.
fn stem(mut word: String) -> String {
    if word.len() < 4 || !word.is_ascii() {
        return word;
    }
    plural(&mut word);
    if word.len() > 5 && cut(&mut word, "ing", 3)
        || word.len() > 4 && !word.ends_with("eed") && cut(&mut word, "ed", 3)
    {
        undouble(&mut word);
    }
    if word.len() > 4 {
        cut(&mut word, "ly", 3);
    }
    if word.len() > 6 {
        let _ = ENDINGS.iter().any(|ending| cut(&mut word, ending, 4));
    }
    if word.len() > 3 {
        cut(&mut word, "e", 3);
    }
    if word.len() > 3 && cut(&mut word, "y", 3) {
        word.push('i');
    }
    word
}

fn plural(word: &mut String) {
    let bytes = word.as_bytes();
    let (last, before) = (bytes[bytes.len() - 1], bytes[bytes.len() - 2]);
    if last != b's' {
        return;
    }
    if cut(word, "ies", 1) {
        word.push('y');
    } else if word.ends_with("sses")
        || word.len() > 4 && before == b'e' && b"sxz".contains(&word.as_bytes()[word.len() - 3])
    {
        word.truncate(word.len() - 2);
    } else if !b"sui".contains(&before) {
        word.truncate(word.len() - 1);
    }
}

/// Takes an ending off where at least `keep` letters stay.
fn cut(word: &mut String, ending: &str, keep: usize) -> bool {
    let stays = word.len().saturating_sub(ending.len());
    let does = stays >= keep && word.ends_with(ending);
    if does {
        word.truncate(stays);
    }
    does
}

/// `runn` becomes `run`; `sell`, `miss` and `buzz` stay.
fn undouble(word: &mut String) {
    let bytes = word.as_bytes();
    if bytes.len() > 3 {
        let (last, before) = (bytes[bytes.len() - 1], bytes[bytes.len() - 2]);
        if last == before && !b"lsz".contains(&last) {
            word.truncate(bytes.len() - 1);
        }
    }
}

/// Endings that make one word out of another, the longest first.
const ENDINGS: &[&str] = &[
    "ations", "ation", "ators", "ator", "ments", "ment", "ions", "ion", "ness", "ers", "er", "ors", "or",
    "able", "ible", "ives", "ive", "ate", "at", "al",
];

/// Words of a request that say nothing about what is looked for, in order.
const EMPTY: &[&str] = &[
    "a", "about", "above", "after", "again", "all", "also", "am", "an", "and", "any", "are", "as", "at",
    "be", "because", "been", "before", "being", "below", "between", "both", "but", "by", "can", "could", "d",
    "did", "do", "does", "doing", "don", "down", "during", "each", "few", "for", "from", "further", "get",
    "give", "had", "has", "have", "having", "he", "hello", "help", "her", "here", "hers", "hey", "hi", "him",
    "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself", "just", "know", "let", "like", "ll",
    "m", "make", "me", "more", "most", "my", "myself", "need", "no", "nor", "not", "now", "of", "off", "on",
    "once", "only", "or", "other", "our", "ours", "out", "over", "own", "please", "re", "s", "same", "she",
    "should", "show", "so", "some", "such", "t", "tell", "than", "thanks", "that", "the", "their", "theirs",
    "them", "then", "there", "these", "they", "this", "those", "through", "to", "too", "under", "until",
    "up", "ve", "very", "want", "was", "we", "were", "what", "when", "where", "which", "while", "who",
    "whom", "why", "will", "with", "would", "you", "your", "yours",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn said(text: &str) -> Vec<&str> {
        let mut all = Vec::new();
        read(text, &mut |word| {
            all.push(word.said);
            true
        });
        all
    }

    fn last_term(text: &str) -> u64 {
        let mut last = 0;
        read(text, &mut |word| {
            last = word.term;
            true
        });
        last
    }

    #[test]
    fn names_are_taken_apart_and_kept_whole() {
        assert_eq!(said("getWeatherNow"), ["get", "Weather", "Now", "getWeatherNow"]);
        assert_eq!(said("find_PDFPages v2"), ["find", "PDF", "Pages", "PDFPages", "v", "2", "v2"]);
        assert_eq!(said("the agent's own — café!"), ["the", "agent", "own", "café"]);
        assert_eq!(said("天気予報 を"), ["天気", "気予", "予報", "を"]);
        assert_eq!(said(&"x".repeat(LONGEST_WORD + 1)), [""; 0]);
        assert_eq!(said(" \u{0}\u{7}…! "), [""; 0]);
    }

    #[test]
    fn a_word_and_its_usual_endings_are_one_term() {
        for family in [
            &["search", "searches", "searching", "searched", "Search"][..],
            &["translate", "translates", "translating", "translated", "translation", "translator"],
            &["city", "cities"],
            &["run", "runs", "running"],
            &["address", "addresses"],
            &["summary", "summaries"],
        ] {
            family.iter().for_each(|word| {
                assert_eq!(last_term(word), last_term(family[0]), "{word} and {}", family[0]);
            });
        }
        for (one, other) in [("bus", "bu"), ("feed", "fe"), ("class", "clas"), ("weather", "wealth")] {
            assert_ne!(last_term(one), last_term(other), "{one} and {other}");
        }
    }

    #[test]
    fn neighbours_make_pairs_and_empty_words_do_not_part_them() {
        let pairs = |text: &str| {
            let (mut pairs, mut all) = (Pairs::default(), Vec::new());
            read(text, &mut |word| {
                all.extend(pairs.next(word));
                true
            });
            all
        };
        assert_eq!(pairs("find the best flights"), pairs("finding best flight"));
        assert_eq!(pairs("find the best flights").len(), 2);
        assert_ne!(pairs("best flights"), pairs("flights best"));
        assert!(pairs("the flights of").is_empty());
        assert!(pairs("find the best flights in 東京都").iter().all(|pair| pair % 2 == 1));
        assert!(terms("find the best flights in 東京都").iter().all(|term| term % 2 == 0));
    }

    #[test]
    fn the_empty_words_are_in_order_so_that_they_are_found() {
        assert!(EMPTY.is_sorted());
        let mut empty = 0;
        read("Can you please tell me about the weather", &mut |word| {
            empty += usize::from(word.empty);
            true
        });
        assert_eq!(empty, 7);
    }
}
