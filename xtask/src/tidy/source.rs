//! One Rust file, parsed once for every rule that needs more than its text.
//!
//! Promises: knows which lines are code (comments, docs and blank lines are not), which lines only exist in
//! tests, and every path the file names. Code is test code when it is under `#[cfg(test)]` or `#[test]`, in a
//! file such a module refers to, in a `tests.rs`, or below a `tests/` folder. Code made by macros is seen as
//! tokens only.

use std::collections::BTreeSet;
use std::ops::RangeInclusive;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::tidy::finding::Finding;
use crate::tidy::mentions::{self, Mention};
use crate::tidy::tree::{TextFile, Tree};

/// One parsed Rust file.
pub(crate) struct Source {
    /// The path relative to the workspace root.
    pub(crate) path: String,
    /// The text, by lines.
    pub(crate) lines: Vec<String>,
    /// The syntax tree.
    pub(crate) syntax: syn::File,
    /// The lines that hold code, tests included.
    pub(crate) code_lines: BTreeSet<usize>,
    /// The lines with the word `unsafe` in code.
    pub(crate) unsafe_lines: Vec<usize>,
    /// Every string literal as it is written, with its first line.
    pub(crate) strings: Vec<(usize, String)>,
    /// Every path the file names.
    pub(crate) mentions: Vec<Mention>,
    /// The name and line of every module written inside the file.
    pub(crate) inline_modules: Vec<(String, usize)>,
    /// The whole file only exists in tests.
    pub(crate) is_test_file: bool,
    test_lines: Vec<RangeInclusive<usize>>,
    test_modules: Vec<String>,
}

/// Parses every Rust file; a file that does not parse becomes a finding.
pub(crate) fn parse_all(tree: &Tree) -> (Vec<Source>, Vec<Finding>) {
    let mut sources = Vec::new();
    let mut findings = Vec::new();
    for file in tree.files().iter().filter(|file| file.path.ends_with(".rs")) {
        match Source::parse(file) {
            Ok(source) => sources.push(source),
            Err((line, error)) => {
                let what = format!("does not parse: {error}");
                findings.push(Finding::error(&file.path, line, what, "make it compile first"));
            }
        }
    }
    let test_modules: Vec<String> = sources.iter().flat_map(|source| source.test_modules.clone()).collect();
    for source in &mut sources {
        let stem = source.path.trim_end_matches(".rs");
        let referred = |module: &String| stem == module || stem.starts_with(&format!("{module}/"));
        source.is_test_file |= test_modules.iter().any(referred);
    }
    (sources, findings)
}

impl Source {
    fn parse(file: &TextFile) -> Result<Self, (usize, String)> {
        let tokens: TokenStream = file
            .text
            .parse()
            .map_err(|error: proc_macro2::LexError| (error.span().start().line, error.to_string()))?;
        let syntax: syn::File =
            syn::parse2(tokens.clone()).map_err(|error| (error.span().start().line, error.to_string()))?;
        let mut code = CodeLines::default();
        code.walk(tokens);
        let mut tests = TestCode { folder: folder_of_modules(&file.path), ..TestCode::default() };
        tests.visit_file(&syntax);
        Ok(Self {
            path: file.path.clone(),
            lines: file.text.lines().map(str::to_owned).collect(),
            mentions: mentions::collect(&syntax),
            syntax,
            code_lines: code.lines,
            unsafe_lines: code.unsafe_lines,
            strings: code.strings,
            inline_modules: tests.inline_modules,
            is_test_file: is_test_path(&file.path),
            test_lines: tests.lines,
            test_modules: tests.modules,
        })
    }

    /// True when the line or the line above it has a comment with this beginning and a reason after it.
    pub(crate) fn is_excused(&self, line: usize, excuse: &str) -> bool {
        let (above, last) = (line.saturating_sub(2), self.lines.len());
        self.lines[above.min(last)..line.min(last)].iter().any(|line| {
            line.split_once(excuse)
                .is_some_and(|(before, reason)| before.contains("//") && !reason.trim().is_empty())
        })
    }

    /// True when the line only exists in tests.
    pub(crate) fn is_test_line(&self, line: usize) -> bool {
        self.is_test_file || self.test_lines.iter().any(|range| range.contains(&line))
    }

    /// The folder name of the crate and the path inside it; `None` outside our crates.
    pub(crate) fn crate_and_rest(&self) -> Option<(&str, &str)> {
        match self.path.strip_prefix("crates/") {
            Some(rest) => rest.split_once('/'),
            None => Some(("xtask", self.path.strip_prefix("xtask/")?)),
        }
    }
}

fn is_test_path(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.starts_with("tests/") || path.contains("/tests/")
}

/// Where the modules that a file declares live: next to a crate root, else in the folder of the same name.
fn folder_of_modules(path: &str) -> String {
    let stem = path.trim_end_matches(".rs");
    let (folder, name) = stem.rsplit_once('/').unwrap_or(("", stem));
    if matches!(name, "lib" | "main" | "mod") { folder.to_owned() } else { stem.to_owned() }
}

/// Collects the lines that hold tokens other than documentation.
#[derive(Default)]
struct CodeLines {
    lines: BTreeSet<usize>,
    unsafe_lines: Vec<usize>,
    strings: Vec<(usize, String)>,
}

impl CodeLines {
    fn walk(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            let documentation = documentation_length(&tokens[at..]);
            if documentation > 0 {
                at += documentation;
                continue;
            }
            self.token(&tokens[at]);
            at += 1;
        }
    }

    fn token(&mut self, token: &TokenTree) {
        if let TokenTree::Group(group) = token {
            if group.delimiter() != Delimiter::None {
                self.lines.insert(group.span_open().start().line);
                self.lines.insert(group.span_close().end().line);
            }
            self.walk(group.stream());
            return;
        }
        let span = token.span();
        self.lines.extend(span.start().line..=span.end().line);
        if matches!(token, TokenTree::Ident(word) if word == "unsafe") {
            self.unsafe_lines.push(span.start().line);
        }
        if let TokenTree::Literal(literal) = token {
            let written = literal.to_string();
            if written.starts_with(['"', 'r']) {
                self.strings.push((span.start().line, written));
            }
        }
    }
}

/// How many tokens at the start are one documentation comment. Such tokens all carry the span of the whole
/// comment, which tells them from a written `#[doc = …]`.
fn documentation_length(tokens: &[TokenTree]) -> usize {
    let bang = usize::from(matches!(tokens.get(1), Some(TokenTree::Punct(mark)) if mark.as_char() == '!'));
    match (&tokens[0], tokens.get(1 + bang)) {
        (TokenTree::Punct(hash), Some(TokenTree::Group(group))) if hash.as_char() == '#' => {
            let first = group.stream().into_iter().next();
            let named_doc = matches!(first, Some(TokenTree::Ident(word)) if word == "doc");
            let comment = named_doc && hash.span().start() == group.span().start();
            if comment { 2 + bang } else { 0 }
        }
        _ => 0,
    }
}

/// Collects what only exists in tests.
#[derive(Default)]
struct TestCode {
    folder: String,
    lines: Vec<RangeInclusive<usize>>,
    modules: Vec<String>,
    inline_modules: Vec<(String, usize)>,
}

impl TestCode {
    fn note(&mut self, spanned: &impl Spanned) {
        let span = spanned.span();
        self.lines.push(span.start().line..=span.end().line);
    }
}

impl<'ast> Visit<'ast> for TestCode {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        if attributes(item).iter().any(is_test_attribute) {
            self.note(item);
            if let syn::Item::Mod(module) = item
                && module.content.is_none()
            {
                self.modules.push(format!("{}/{}", self.folder, module.ident));
            }
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if function.attrs.iter().any(is_test_attribute) {
            self.note(function);
        }
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_some() {
            self.inline_modules.push((module.ident.to_string(), module.ident.span().start().line));
        }
        visit::visit_item_mod(self, module);
    }
}

fn attributes(item: &syn::Item) -> &[syn::Attribute] {
    match item {
        syn::Item::Const(item) => &item.attrs,
        syn::Item::Enum(item) => &item.attrs,
        syn::Item::Fn(item) => &item.attrs,
        syn::Item::Impl(item) => &item.attrs,
        syn::Item::Macro(item) => &item.attrs,
        syn::Item::Mod(item) => &item.attrs,
        syn::Item::Static(item) => &item.attrs,
        syn::Item::Struct(item) => &item.attrs,
        syn::Item::Trait(item) => &item.attrs,
        syn::Item::Type(item) => &item.attrs,
        syn::Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// `#[test]`, `#[tokio::test]`, `#[cfg(test)]` and `#[cfg(all(test, …))]`; not `any`, which exists outside
/// tests too.
fn is_test_attribute(attribute: &syn::Attribute) -> bool {
    let path = attribute.path();
    if path.segments.last().is_some_and(|segment| segment.ident == "test") {
        return true;
    }
    let syn::Meta::List(list) = &attribute.meta else { return false };
    path.is_ident("cfg") && requires_test(list.tokens.clone())
}

fn requires_test(condition: TokenStream) -> bool {
    let tokens: Vec<TokenTree> = condition.into_iter().collect();
    match tokens.as_slice() {
        [TokenTree::Ident(word), TokenTree::Group(group)] if word == "all" => {
            group.stream().into_iter().any(|token| matches!(token, TokenTree::Ident(word) if word == "test"))
        }
        [TokenTree::Ident(word)] => word == "test",
        _ => false,
    }
}
