//! Facts about the readers: what they find in a valid document, and that an invalid one does no harm. The
//! documents are made here; none is in the repository.

use super::*;
use crate::passage::Location;

fn read(kind: Kind, text: &str) -> Vec<Block> {
    blocks(kind, text.as_bytes()).unwrap()
}

fn headings(block: &Block) -> String {
    block.heading.join(" › ")
}

const MARKDOWN: &str = "---
title: not read
---
# Agents

See [the docs](https://example.org/a(b) \"t\") and ![a picture](p.png), `[not](a link)`.
Second line.

## Limits ##

- one
  goes on
- two

| key | meaning |
|---|:--|
| `timeout` | how long |

```toml
# no heading
timeout = \"60s\"
```

<!-- a comment
that is not read -->
Under
-----
Last words. [x]

[x]: https://example.org
";

#[test]
fn markdown_is_read_in_sections_with_code_tables_and_lists_as_lines() {
    let blocks = read(Kind::Markdown, MARKDOWN);
    let seen: Vec<(String, &str, bool)> =
        blocks.iter().map(|block| (headings(block), block.text.as_str(), block.lines)).collect();
    let limits = || "Agents › Limits".to_owned();
    assert_eq!(seen[0].0, "Agents");
    assert!(
        seen[0].1.starts_with("See the docs") && seen[0].1.ends_with("`[not](a link)`. Second line."),
        "{seen:?}"
    );
    assert_eq!(seen[1], (limits(), "- one goes on\n- two", true));
    assert_eq!(seen[2], (limits(), "| key | meaning |\n| `timeout` | how long |", true));
    assert_eq!(seen[3], (limits(), "# no heading\ntimeout = \"60s\"", true));
    assert_eq!(seen[4], ("Agents › Under".to_owned(), "Last words. [x]", false));
    assert_eq!((blocks[0].place, blocks[3].place), (Location::Line(6), Location::Line(20)));
}

#[test]
fn markdown_that_is_never_closed_ends_all_the_same() {
    for text in [
        "```\ncode",
        "<!-- open\n# no heading",
        "---\nnever closed",
        "[[[[[",
        "`",
        "[x](",
        "####### seven",
        "#",
        "|",
    ] {
        let _ = read(Kind::Markdown, text);
    }
    assert_eq!(read(Kind::Markdown, "```\ncode")[0].text, "code");
    assert_eq!(read(Kind::Markdown, "####### seven")[0].text, "####### seven");
}

#[test]
fn plain_text_is_read_in_paragraphs() {
    let blocks = read(Kind::Plain, "One\ntwo.\r\n\r\n\n  Three.");
    let seen: Vec<(&str, Location)> = blocks.iter().map(|block| (block.text.as_str(), block.place)).collect();
    assert_eq!(seen, [("One two.", Location::Line(1)), ("Three.", Location::Line(5))]);
}

#[test]
fn a_web_page_is_read_without_what_is_not_shown() {
    let page = "<!doctype html><html><head><title>Guide</title><style>p{}</style><script>var a = '<p>no</p>';</script></head>
<body><nav><ul><li>Home</li></ul></nav><h1>Install &amp; run</h1>
<p>Take the <b>binary</b>,
   start <a href='x'>it</a>.</p><ul><li>one</li><li>two</ul>
<table><tr><th>key</th><th>meaning</th></tr><tr><td>a<td>b</table>
<h2>Code</h2><pre>let a = 1;
let b = 2;</pre></body>";
    let blocks = read(Kind::Html, page);
    let seen: Vec<(String, &str)> =
        blocks.iter().map(|block| (headings(block), block.text.as_str())).collect();
    let first = || "Guide › Install & run".to_owned();
    assert_eq!(
        seen,
        [
            (first(), "Take the binary, start it."),
            (first(), "- one"),
            (first(), "- two"),
            (first(), "key | meaning"),
            (first(), "a | b"),
            ("Guide › Install & run › Code".to_owned(), "let a = 1;\nlet b = 2;"),
        ]
    );
    assert_eq!((blocks[0].place, blocks[5].place), (Location::Line(3), Location::Line(6)));
    assert!(blocks[5].lines);
}

#[test]
fn a_web_page_may_be_nested_as_deep_as_it_likes() {
    let page = format!("{}deep words{}", "<div>".repeat(50_000), "</b>".repeat(1_000));
    assert_eq!(read(Kind::Html, &page)[0].text, "deep words");
    for text in ["<", "<a", "<nav>never closed", "</nav></nav>", "<h1>open", "<pre>", "&#x110000;&amp"] {
        let _ = read(Kind::Html, text);
    }
}

#[test]
fn text_is_read_in_any_of_the_usual_encodings() {
    let wide: Vec<u8> =
        [0xff, 0xfe].into_iter().chain("Grüße".encode_utf16().flat_map(u16::to_le_bytes)).collect();
    for bytes in [wide.as_slice(), b"\xef\xbb\xbfGr\xc3\xbc\xc3\x9fe", b"Gr\xfc\xdfe"] {
        assert_eq!(blocks(Kind::Plain, bytes).unwrap()[0].text, "Grüße");
    }
    assert_eq!(blocks(Kind::Markdown, b"\x7fELF\0\0\0"), Err(Unreadable::NoText));
    assert_eq!(blocks(Kind::Plain, b"").unwrap(), []);
}

/// A file of pages, each with one line of text for each of its words; `packed` pages are deflated.
pub(super) fn pdf(pages: &[&str], packed: bool) -> Vec<u8> {
    use lopdf::content::{Content, Operation};
    use lopdf::{Document, Object, Stream, dictionary};
    let mut document = Document::with_version("1.5");
    let tree = document.new_object_id();
    let font = dictionary! { "Type" => "Font", "Subtype" => "Type1", "BaseFont" => "Courier" };
    let font = document.add_object(font);
    let resources = document.add_object(dictionary! { "Font" => dictionary! { "F1" => font } });
    let mut kids: Vec<Object> = Vec::new();
    for page in pages {
        let mut operations = vec![
            Operation::new("BT", vec![]),
            Operation::new("Tf", vec!["F1".into(), 12.into()]),
            Operation::new("Td", vec![50.into(), 700.into()]),
        ];
        for line in page.lines() {
            operations.push(Operation::new("Tj", vec![Object::string_literal(line)]));
            operations.push(Operation::new("Td", vec![0.into(), (-14).into()]));
        }
        operations.push(Operation::new("ET", vec![]));
        let mut content = Stream::new(dictionary! {}, Content { operations }.encode().unwrap());
        if packed {
            content.compress().unwrap();
        }
        let content = document.add_object(content);
        let page = dictionary! { "Type" => "Page", "Parent" => tree, "Contents" => content };
        kids.push(document.add_object(page).into());
    }
    let count = i64::try_from(kids.len()).unwrap();
    let pages = dictionary! {
        "Type" => "Pages", "Kids" => kids, "Count" => count, "Resources" => resources,
        "MediaBox" => vec![0.into(), 0.into(), 595.into(), 842.into()],
    };
    document.objects.insert(tree, Object::Dictionary(pages));
    let catalog = document.add_object(dictionary! { "Type" => "Catalog", "Pages" => tree });
    document.trailer.set("Root", catalog);
    let mut bytes = Vec::new();
    document.save_to(&mut bytes).unwrap();
    bytes
}

#[test]
fn a_pdf_is_read_page_by_page() {
    for packed in [false, true] {
        let bytes =
            pdf(&["The warranty lasts two\nyears from the pur-\nchase.", "Returns are free."], packed);
        let read = blocks(Kind::Pdf, &bytes).unwrap();
        let seen: Vec<(&str, Location)> =
            read.iter().map(|block| (block.text.as_str(), block.place)).collect();
        let first = "The warranty lasts two years from the purchase.";
        assert_eq!(
            seen,
            [(first, Location::Page(1)), ("Returns are free.", Location::Page(2))],
            "packed: {packed}"
        );
    }
}

#[test]
fn a_pdf_that_is_cut_or_scrambled_anywhere_is_an_error_or_less_text() {
    let whole = pdf(&["Some words of a page that is soon damaged."], true);
    for cut in (0..whole.len()).step_by(7) {
        let _ = blocks(Kind::Pdf, &whole[..cut]);
        let mut scrambled = whole.clone();
        scrambled[cut] ^= 0x5a;
        let _ = blocks(Kind::Pdf, &scrambled);
    }
    assert!(matches!(blocks(Kind::Pdf, b"%PDF-1.7 and nothing else"), Err(Unreadable::Broken(_))));
    assert_eq!(blocks(Kind::Pdf, &pdf(&[""], true)), Err(Unreadable::Wordless));
}

#[test]
fn a_page_that_unpacks_to_gigabytes_is_not_unpacked() {
    let bomb = "x".repeat(24 << 20);
    let bytes = pdf(&[&bomb, "A sound page."], true);
    assert!(bytes.len() < 1 << 20, "it is small when packed");
    let read = blocks(Kind::Pdf, &bytes).unwrap();
    assert_eq!(read.len(), 1, "the sound page is there all the same");
    assert_eq!(read[0].text, "A sound page.");
}
