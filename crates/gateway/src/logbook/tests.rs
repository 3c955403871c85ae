//! What is promised about the logbook, told as facts.
//!
//! Lines are written by hand; how the program's own events become lines is the binary's matter.

use super::*;

fn at(millis: i64) -> Timestamp {
    Timestamp::from_millis(millis)
}

fn book(lines: usize) -> LogBook {
    let book = LogBook::default();
    (1..=lines)
        .for_each(|number| book.write(at(1), Loudness::Info, "agentsite", &format!("line {number}"), []));
    book
}

fn seqs(portion: &Portion) -> Vec<u64> {
    portion.lines.iter().map(|one| one.seq).collect()
}

#[test]
fn the_last_lines_are_kept_and_no_more() {
    let book = book(LINES + 3);
    let all = book.tail(&LogFilter::default(), usize::MAX);
    assert_eq!((all.lines.len(), all.lines[0].seq, all.last), (LINES, 4, LINES as u64 + 3));
    assert_eq!(seqs(&book.tail(&LogFilter::default(), 2)), [LINES as u64 + 2, LINES as u64 + 3]);
}

#[test]
fn lines_are_chosen_by_loudness_and_words() {
    let book = LogBook::default();
    book.write(at(1), Loudness::Debug, "agentsite_gateway", "answered", [("face".into(), "Api".into())]);
    book.write(at(2), Loudness::Warn, "agentsite_store", "The disk is nearly full.", []);
    let chosen = |level, text: &str| seqs(&book.tail(&LogFilter { level, text: Some(text.into()) }, 9));
    assert_eq!(chosen(Some(Loudness::Info), ""), [2]);
    assert_eq!(chosen(None, "API"), [1], "by the value of a field");
    assert_eq!(chosen(None, "_store"), [2], "by the target");
    assert_eq!(chosen(Some(Loudness::Error), "disk"), [0; 0]);
}

#[tokio::test]
async fn a_reader_gets_what_comes_and_one_that_is_too_slow_learns_what_it_missed() {
    let book = book(2);
    let mut watch = book.follow(LogFilter::default(), 2);
    let waiting = tokio::spawn(async move {
        let portion = watch.next().await;
        (seqs(&portion), watch)
    });
    book.write(at(3), Loudness::Info, "agentsite", "news", []);
    let (found, mut watch) = waiting.await.unwrap();
    assert_eq!(found, [3]);
    for _ in 0..LINES + 10 {
        book.write(at(4), Loudness::Info, "agentsite", "more", []);
    }
    let late = watch.next().await;
    assert_eq!((late.missed, late.lines.len(), late.lines[0].seq), (10, PORTION, 14));
    assert_eq!(watch.next().await.lines[0].seq, 14 + PORTION as u64);
}

#[test]
fn secrets_are_masked_and_long_lines_cut() {
    for (said, kept) in [
        ("the key ask_ab12_cafe was refused", "the key ask_*** was refused"),
        ("Authorization: Bearer eyJ.a.b, then", "Authorization: Bearer ***, then"),
        ("https://x/signin?key=ask_ab_cd", "https://x/signin?key=ask_***"),
        ("a bearer of news", "a bearer *** news"),
        ("nothing to hide", "nothing to hide"),
    ] {
        assert_eq!(masked(said), kept);
    }
    assert_eq!(masked(&"é".repeat(LONGEST + 9)).chars().count(), LONGEST);
    let book = LogBook::default();
    book.write(at(1), Loudness::Info, "x", "signed in", [("api_token".into(), "abc".into())]);
    assert_eq!(book.tail(&LogFilter::default(), 1).lines[0].fields["api_token"], "***");
}
