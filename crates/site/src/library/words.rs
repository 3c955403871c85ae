//! Words as a reader compares them: in lower case, without endings, without those that say nothing.
//!
//! Promises: the same word in another form mostly gives the same stem; nothing depends on a dictionary. It only knows English endings; other
//! languages are compared word by word as they are written. Meaning is the matter of `search`.

/// Words so common in questions that they say nothing about what is asked.
const COMMON: [&str; 72] = [
    "a", "about", "after", "all", "also", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by",
    "can", "could", "did", "do", "does", "for", "from", "get", "give", "had", "has", "have", "how", "i",
    "if", "in", "into", "is", "it", "its", "may", "me", "must", "my", "not", "of", "on", "or", "our",
    "please", "should", "so", "some", "tell", "than", "that", "the", "their", "them", "then", "there",
    "these", "they", "this", "to", "was", "we", "what", "when", "where", "which", "who", "why", "will",
    "with", "you", "your",
];

/// Longest word that is compared; longer ones are keys or noise.
const LONGEST: usize = 40;

/// The stems of a text in order, common words left out.
pub(super) fn stems(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric())
        .filter(|word| !word.is_empty() && word.len() <= LONGEST)
        .map(str::to_lowercase)
        .filter(|word| COMMON.binary_search(&word.as_str()).is_err())
        .map(stem)
}

/// A word without its ending.
fn stem(mut word: String) -> String {
    if !word.is_ascii() {
        return word;
    }
    let endings =
        [("ies", "y", 5), ("sses", "ss", 6), ("ings", "", 7), ("ing", "", 6), ("edly", "", 7), ("ed", "", 5)];
    let plural =
        |word: &str| word.len() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us");
    match endings.iter().find(|(ending, _, least)| word.len() >= *least && word.ends_with(ending)) {
        Some((ending, instead, _)) => {
            word.truncate(word.len() - ending.len());
            word.push_str(instead);
            undouble(&mut word);
        }
        None if plural(&word) => drop(word.pop()),
        None => {}
    }
    if word.len() > 3 && word.ends_with('e') {
        word.pop();
    }
    word
}

/// `stopp` is what is left of `stopping`.
fn undouble(word: &mut String) {
    let mut last = word.bytes().rev();
    let (one, two) = (last.next(), last.next());
    if word.len() > 3 && one == two && !matches!(one, Some(b'l' | b's' | b'z')) {
        word.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(text: &str) -> Vec<String> {
        stems(text).collect()
    }

    #[test]
    fn forms_of_a_word_have_one_stem() {
        for forms in [
            ["configure", "configured", "configuring"],
            ["agent", "agents", "Agents"],
            ["stop", "stopped", "stopping"],
            ["query", "queries", "Query"],
            ["call", "called", "calling"],
        ] {
            let stems: Vec<String> = forms.iter().flat_map(|form| all(form)).collect();
            assert!(stems.iter().all(|stem| *stem == stems[0]) && stems.len() == 3, "{stems:?}");
        }
    }

    #[test]
    fn common_words_say_nothing_and_their_list_is_in_order() {
        assert!(COMMON.is_sorted());
        assert_eq!(all("What is the token_env of an agent?"), ["token", "env", "agent"]);
        assert_eq!(all("Grüße, 時間"), ["grüße", "時間"]);
        assert!(all(&"x".repeat(1000)).is_empty());
    }
}
