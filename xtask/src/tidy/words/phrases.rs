//! The rule that texts are plain technical English: literary phrases, each with what to write instead.
//!
//! Promises: comments and string literals of every crate and the Markdown pages are read across line breaks,
//! and a finding names the line where the phrase begins. String literals of tests are data and are not read.
//! A path in [`EXEMPT`] without a finding is a finding itself, so the list can only shrink. History
//! (`CHANGELOG.md`) is not read. It cannot judge a sentence; it only finds phrases that are never needed.

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::{TextFile, Tree};

/// A phrase that does not belong into technical text.
struct Phrase {
    /// The words, in lower case.
    words: &'static str,
    /// Longer phrases that contain it and are fine.
    unless: &'static [&'static str],
    /// What to write instead.
    instead: &'static str,
}

const fn phrase(words: &'static str, instead: &'static str) -> Phrase {
    Phrase { words, unless: &[], instead }
}

const PHRASES: &[Phrase] = &[
    Phrase {
        words: "is no",
        unless: &[
            "there is no",
            "is no longer",
            "is no more than",
            "is no other",
            "is no need",
            "is no better",
        ],
        instead: "`is not a`, or for an error `invalid X` or `unknown X`",
    },
    Phrase {
        words: "are no",
        unless: &["there are no", "are no longer", "are no more than", "are no better"],
        instead: "`are not`",
    },
    phrase("whoever", "the actor: the caller, the reader, the owner"),
    phrase("nobody", "the actor with `not`, or the passive"),
    phrase("somebody", "the actor: a user, a caller, another program"),
    phrase("stands behind", "`owns`, `operates` or `represents`"),
    phrase("goes on", "`continues` or `resumes`"),
    phrase("is told", "`receives`, `is notified of` or `is asked to`"),
    phrase("are told", "`receive`, `are notified of` or `are asked to`"),
    phrase("how it fares", "`its health` or `its progress`"),
    phrase("wants of it", "`requires` or `requests`"),
    phrase("want of it", "`require` or `request`"),
    phrase("beside", "`next to` for a place, `besides` for an addition"),
    phrase("of its own accord", "`by itself` or `automatically`"),
    phrase("turned away", "`refused` or `rejected`"),
    phrase("lies in", "`is in`"),
    phrase("stands in", "`is in` or `occurs in`"),
    phrase("stands for", "`means` or `represents`"),
    phrase("where it stands", "`its status` or `its position`"),
    phrase("knows no", "`has no` or `does not use`"),
    phrase("the people who run", "`admin` or `operator`"),
    phrase("at this machine", "`local caller`"),
    phrase("in words", "`as text`"),
    phrase("the words say", "`the text describes`"),
    phrase("speaks", "`supports`, `uses` or `implements`"),
    phrase("under way", "`running` or `in progress`"),
    phrase("cannot be had", "`is not available` or `cannot be fetched`"),
    phrase("for good", "`permanently`"),
    phrase("in vain", "`without success`"),
    phrase("stranger", "`anonymous caller` or `foreign client`"),
    phrase("strangers", "`anonymous callers` or `foreign clients`"),
];

/// A file or folder whose texts are still to be rewritten.
struct Exempt {
    /// The path, or the beginning of the paths.
    path: &'static str,
    /// Why it is on the list.
    reason: &'static str,
}

const EXEMPT: &[Exempt] = &[
    Exempt { path: "xtask/src/tidy/words/phrases.rs", reason: "lists the phrases" },
    Exempt { path: "crates/gateway/", reason: "its handlers still move; rewrite them with it" },
    Exempt { path: "crates/registry/", reason: "its modules still move; rewrite them with it" },
    Exempt { path: "crates/rooms/", reason: "its modules still move; rewrite them with it" },
    Exempt { path: "crates/site/", reason: "its capabilities still move out; rewrite them with it" },
    Exempt { path: "crates/store/", reason: "its traits still change; rewrite them with it" },
    Exempt { path: "crates/tasks/", reason: "its hooks still change; rewrite them with it" },
    Exempt { path: "docs/configuration.md", reason: "generated; quotes sections of registry and site" },
];

/// Finds literary phrases, and exemptions that are no longer needed.
pub(crate) fn check(tree: &Tree, sources: &[Source]) -> Vec<Finding> {
    let (exempt, mut findings): (Vec<_>, Vec<_>) =
        in_all(tree, sources).into_iter().partition(|finding| exemption(&finding.path).is_some());
    for stale in EXEMPT.iter().filter(|entry| is_stale(entry, tree, &exempt)) {
        let what = format!("`{}` is exempt and has no literary phrase", stale.path);
        let remedy = "remove it from EXEMPT in xtask/src/tidy/words/phrases.rs";
        findings.push(Finding::error(stale.path, 1, what, remedy));
    }
    findings
}

/// Whether a listed path exists and is clean by now.
fn is_stale(entry: &Exempt, tree: &Tree, exempt: &[Finding]) -> bool {
    let present = tree.files().iter().any(|file| file.path.starts_with(entry.path));
    present && !exempt.iter().any(|finding| finding.path.starts_with(entry.path))
}

fn exemption(path: &str) -> Option<&'static str> {
    EXEMPT.iter().find(|entry| path.starts_with(entry.path)).map(|entry| entry.reason)
}

fn in_all(tree: &Tree, sources: &[Source]) -> Vec<Finding> {
    let pages = tree.files().iter().filter(|file| is_page(file));
    let mut findings: Vec<Finding> = pages.flat_map(|file| in_passage(&file.path, &whole(file))).collect();
    for source in sources.iter().filter(|source| !source.path.starts_with("fuzz/")) {
        for passage in comments(source) {
            findings.extend(in_passage(&source.path, &passage));
        }
        for (line, written) in &source.strings {
            if !source.is_test_line(*line) && !source.path.contains("/tests/") {
                findings.extend(in_passage(&source.path, &string(*line, written)));
            }
        }
    }
    findings
}

fn is_page(file: &TextFile) -> bool {
    file.path.ends_with(".md") && file.path != "CHANGELOG.md"
}

/// Text that is read as one, by lines: each with its number and without its marks.
type Passage = Vec<(usize, String)>;

fn whole(file: &TextFile) -> Passage {
    file.text.lines().enumerate().map(|(index, line)| (index + 1, line.trim().to_owned())).collect()
}

/// A string literal; a backslash at the end of a line only breaks it.
fn string(first: usize, written: &str) -> Passage {
    let lines = written.lines().enumerate();
    lines
        .map(|(index, line)| (first + index, line.trim().trim_end_matches('\\').trim_end().to_owned()))
        .collect()
}

/// The comments of a file: lines of comments that follow each other are one passage.
fn comments(source: &Source) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    for (index, line) in source.lines.iter().enumerate() {
        let number = index + 1;
        let Some(text) = comment(line, source.code_lines.contains(&number)) else { continue };
        match passages.last_mut() {
            Some(passage) if passage.last().is_some_and(|(last, _)| last + 1 == number) => {
                passage.push((number, text));
            }
            _ => passages.push(vec![(number, text)]),
        }
    }
    passages
}

/// The text of a comment that fills a line or ends a line of code.
fn comment(line: &str, is_code: bool) -> Option<String> {
    if !is_code {
        let text = line.trim().strip_prefix("//")?;
        return Some(text.trim_start_matches(['/', '!']).trim().to_owned());
    }
    let (code, text) = line.rsplit_once(" // ")?;
    (code.matches('"').count() % 2 == 0).then(|| text.trim().to_owned())
}

fn in_passage(path: &str, passage: &Passage) -> Vec<Finding> {
    let mut text = String::new();
    let mut starts = Vec::new();
    for (number, line) in passage {
        starts.push((text.len(), *number));
        text.push_str(&line.to_ascii_lowercase());
        text.push(' ');
    }
    let mut findings = Vec::new();
    for phrase in PHRASES {
        for at in occurrences(&text, phrase) {
            let line = starts.iter().rev().find(|(start, _)| *start <= at).map_or(1, |(_, number)| *number);
            let what = format!("literary phrase `{}`", phrase.words);
            findings.push(Finding::error(path, line, what, format!("write {}", phrase.instead)));
        }
    }
    findings
}

/// Where a phrase occurs as whole words and not inside one of the longer phrases that are fine.
fn occurrences(text: &str, phrase: &Phrase) -> Vec<usize> {
    let joins = |letter: Option<char>| {
        letter.is_some_and(|letter| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '`' | '/'))
    };
    text.match_indices(phrase.words)
        .map(|(at, _)| at)
        .filter(|at| {
            let (before, after) =
                (text[..*at].chars().next_back(), text[at + phrase.words.len()..].chars().next());
            !joins(before) && !joins(after)
        })
        .filter(|at| !phrase.unless.iter().any(|longer| is_inside(text, *at, longer, phrase.words)))
        .collect()
}

/// Whether the words at a place are part of a longer phrase there.
fn is_inside(text: &str, at: usize, longer: &str, words: &str) -> bool {
    longer
        .match_indices(words)
        .any(|(offset, _)| at.checked_sub(offset).is_some_and(|start| text[start..].starts_with(longer)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::tests::{assert_one, printed, tree};

    fn found(files: &[(&str, &str)]) -> Vec<Finding> {
        let tree = tree(files);
        let (sources, broken) = crate::tidy::source::parse_all(&tree);
        assert_eq!(broken, []);
        check(&tree, &sources)
    }

    #[test]
    fn a_literary_phrase_is_found_in_comments_strings_and_pages() {
        let code =
            "//! Header.\n/// Told to whoever asks.\nfn f() {\n    g(\"`x` is no number\"); // for good\n}\n";
        let lines = printed(&found(&[("crates/x/src/a.rs", code), ("docs/a.md", "One\nNobody knows.\n")]));
        assert_eq!(lines.len(), 4, "{lines:#?}");
        assert!(lines[0].starts_with("docs/a.md:2: literary phrase `nobody` (write "), "{lines:#?}");
        assert!(lines[1].starts_with("crates/x/src/a.rs:2: literary phrase `whoever`"), "{lines:#?}");
        assert!(lines[2].starts_with("crates/x/src/a.rs:4: literary phrase `for good`"), "{lines:#?}");
        assert!(lines[3].starts_with("crates/x/src/a.rs:4: literary phrase `is no`"), "{lines:#?}");
    }

    #[test]
    fn a_phrase_that_a_line_break_parts_is_found_where_it_begins() {
        let code = "/// The task goes\n/// on later.\nconst A: &str = \"it is \\\n    told so\";\n";
        let lines = printed(&found(&[("crates/x/src/a.rs", code)]));
        assert_eq!(lines.len(), 2, "{lines:#?}");
        assert!(lines[0].starts_with("crates/x/src/a.rs:1: literary phrase `goes on`"), "{lines:#?}");
        assert!(lines[1].starts_with("crates/x/src/a.rs:3: literary phrase `is told`"), "{lines:#?}");
    }

    #[test]
    fn plain_sentences_names_and_data_of_tests_are_fine() {
        let code = "/// There is no task here. It is no longer used; foo-beside and `nobody` are names.\n\
                    fn nobody_goes_on() {}\n#[test]\nfn story() { call(\"nobody\"); }\n";
        let history = ("CHANGELOG.md", "Nobody is told.\n");
        assert_eq!(found(&[("crates/x/src/a.rs", code), history]), []);
    }

    #[test]
    fn an_exemption_that_is_not_needed_is_found() {
        let literary = ("crates/tasks/src/a.rs", "// Nobody.\n");
        assert_eq!(found(&[literary]), []);
        let plain = ("crates/tasks/src/a.rs", "// Plain.\n");
        assert_one(
            &found(&[plain]),
            "crates/tasks/:1: `crates/tasks/` is exempt and has no literary phrase (",
        );
    }

    #[test]
    fn every_phrase_is_lower_case_and_says_what_to_write() {
        for phrase in PHRASES {
            assert_eq!(phrase.words, phrase.words.to_lowercase());
            assert!(
                !phrase.instead.is_empty()
                    && phrase.unless.iter().all(|longer| longer.contains(phrase.words))
            );
        }
        assert!(EXEMPT.iter().all(|entry| !entry.reason.is_empty()));
    }
}
