//! Passage: the words of a search with what stands around them.
//!
//! Promises: pure; the passage holds the first place where one of the words stands, or else the beginning of
//! the text. It does not mark the words: that is the page's.

/// Letters before the words.
const BEFORE: usize = 60;

/// Letters of a passage.
const LETTERS: usize = 180;

/// The passage of a text in which one of the words of `wanted` stands.
pub(crate) fn passage(text: &str, wanted: &str) -> String {
    let letters: Vec<char> = text
        .chars()
        .map(|letter| if letter.is_whitespace() || letter.is_control() { ' ' } else { letter })
        .collect();
    let at = place(&letters, wanted).unwrap_or(0);
    let mut from = at.saturating_sub(BEFORE);
    // At the beginning of a word.
    if from > 0 {
        from = (from..at).find(|at| letters[*at - 1] == ' ').unwrap_or(from);
    }
    let end = (from + LETTERS).min(letters.len());
    let middle: String = letters[from..end].iter().collect();
    let middle = middle.split_whitespace().collect::<Vec<_>>().join(" ");
    let (before, after) = (if from > 0 { "…" } else { "" }, if end < letters.len() { "…" } else { "" });
    format!("{before}{middle}{after}")
}

/// Where the first of the words stands, in letters.
fn place(letters: &[char], wanted: &str) -> Option<usize> {
    let lower = |letter: char| letter.to_lowercase().next().unwrap_or(letter);
    let folded: Vec<char> = letters.iter().copied().map(lower).collect();
    let words = wanted.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    let begins = |at: usize| at == 0 || !folded[at - 1].is_alphanumeric() || !folded[at].is_ascii();
    let find = |word: &str| {
        let word: Vec<char> = word.chars().map(lower).collect();
        folded
            .windows(word.len())
            .enumerate()
            .find(|(at, stretch)| **stretch == *word && begins(*at))
            .map(|(at, _)| at)
    };
    words.filter_map(find).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_passage_shows_the_words_with_what_stands_around_them() {
        let text =
            format!("{} The weather in Paris is fine. {}", "Before. ".repeat(40), "After. ".repeat(40));
        let found = passage(&text, "paris");
        assert!(
            found.contains("weather in Paris is fine.") && found.starts_with('…') && found.ends_with('…'),
            "{found}"
        );
        assert!(found.chars().count() <= LETTERS + 2);
    }

    #[test]
    fn a_short_text_is_shown_whole_on_one_line() {
        assert_eq!(passage("one\n two", "two"), "one two");
        assert_eq!(passage("nothing of it", "x"), "nothing of it");
        assert_eq!(passage("", "x"), "");
    }

    #[test]
    fn words_in_scripts_without_spaces_are_found_inside() {
        let text = format!("{}天气很好", "好".repeat(200));
        assert!(passage(&text, "天气").contains("天气很好"));
    }
}
