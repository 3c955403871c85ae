//! The text that the repository may not contain.
//!
//! Promises: unfinished work, paths of one machine, unbounded queues, sleeping tests and `unsafe` outside its
//! few files are found by line; `phrases` does the same for literary wording. A test that has to wait for the
//! outside world may say so: a comment `tidy: waits because …` on the line or the line above it excuses one
//! sleep. The needles are written in two halves so that this file does not find itself.

mod phrases;

pub(crate) use self::phrases::check as check_phrases;
use crate::tidy::finding::Finding;
use crate::tidy::source::Source;
use crate::tidy::tree::{TextFile, Tree};

/// A forbidden text and where it is forbidden.
struct Forbidden {
    word: &'static str,
    rust_only: bool,
    what: &'static str,
    remedy: &'static str,
}

const FORBIDDEN: &[Forbidden] = &[
    Forbidden {
        word: concat!("todo", "!("),
        rust_only: true,
        what: "unfinished code",
        remedy: "finish it or leave it out",
    },
    Forbidden {
        word: concat!("unimplemented", "!("),
        rust_only: true,
        what: "unfinished code",
        remedy: "finish it or leave it out",
    },
    Forbidden {
        word: concat!("FIX", "ME"),
        rust_only: false,
        what: "a note about unfinished work",
        remedy: "fix it now or write it down as an issue",
    },
    Forbidden {
        word: concat!("XX", "X"),
        rust_only: false,
        what: "a note about unfinished work",
        remedy: "fix it now or write it down as an issue",
    },
    Forbidden {
        word: concat!("/wo", "rk/"),
        rust_only: false,
        what: "a path of one machine",
        remedy: "use a path relative to the repository",
    },
    Forbidden {
        word: concat!("/ro", "ot/"),
        rust_only: false,
        what: "a path of one machine",
        remedy: "use a path relative to the repository",
    },
];

/// The only files that may say `unsafe`: the child's confinement, and the vector arithmetic.
const MAY_BE_UNSAFE: &[&str] =
    &["crates/host/src/sandbox.rs", "crates/host/src/sandbox/fork.rs", "crates/search/src/simd.rs"];

/// The comment that excuses a test's sleep; a reason has to follow.
const EXCUSE: &str = "tidy: waits because ";

/// Finds forbidden words in the text of every file.
pub(crate) fn check_text(tree: &Tree) -> Vec<Finding> {
    let written = tree.files().iter().filter(|file| !is_lock_file(&file.path));
    written.flat_map(|file| FORBIDDEN.iter().flat_map(|forbidden| in_text(file, forbidden))).collect()
}

/// Finds forbidden names in Rust code.
pub(crate) fn check_code(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for mention in &source.mentions {
        let last_two = mention.segments.windows(2).last().unwrap_or_default();
        if mention.segments.last().is_some_and(|name| name == concat!("unbounded", "_channel")) {
            let remedy = "name a capacity and say why it is enough";
            findings.push(Finding::error(&source.path, mention.line, "an unbounded queue", remedy));
        }
        if is_sleep(last_two) && source.is_test_line(mention.line) && !source.is_excused(mention.line, EXCUSE)
        {
            let remedy = format!("wait for an event, or say `// {EXCUSE}…`");
            findings.push(Finding::error(&source.path, mention.line, "a test that sleeps", remedy));
        }
    }
    if !MAY_BE_UNSAFE.contains(&source.path.as_str()) {
        let remedy = "use a safe crate; the few files that may are listed in xtask/src/tidy/words.rs";
        findings.extend(
            source.unsafe_lines.iter().map(|line| Finding::error(&source.path, *line, "`unsafe`", remedy)),
        );
    }
    findings
}

fn is_lock_file(path: &str) -> bool {
    path.ends_with(".lock") || path.ends_with("package-lock.json")
}

fn in_text(file: &TextFile, forbidden: &Forbidden) -> Vec<Finding> {
    if forbidden.rust_only && !file.path.ends_with(".rs") {
        return Vec::new();
    }
    file.text
        .lines()
        .enumerate()
        .filter(|(_, line)| stands_alone(line, forbidden.word))
        .map(|(index, _)| {
            let what = format!("`{}`, {}", forbidden.word, forbidden.what);
            Finding::error(&file.path, index + 1, what, forbidden.remedy)
        })
        .collect()
}

/// True when the word occurs and is not part of a longer word or of a longer path.
fn stands_alone(line: &str, word: &str) -> bool {
    let ends_in_letter = word.ends_with(|letter: char| letter.is_alphanumeric());
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        let joins =
            |letter: Option<char>| letter.is_some_and(|letter| letter.is_alphanumeric() || letter == '_');
        let inside_path = word.starts_with('/') && before.is_some_and(|letter| "-.*}>)$~".contains(letter));
        !(joins(before) || inside_path || ends_in_letter && joins(after))
    })
}

fn is_sleep(last_two: &[String]) -> bool {
    matches!(last_two, [of, name] if (of == "time" || of == "thread") && name == "sleep")
}
