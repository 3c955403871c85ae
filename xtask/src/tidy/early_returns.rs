//! Tests that can end before they have tested anything.
//!
//! Promises: a `return` in the body of a test function is found, and so is a test that is marked `ignore` or
//! prints `skipped`. A test whose counterpart is missing has to fail with the command to run, because a test
//! that returns counts as passed. Closures, `async` blocks and functions inside a test may return. A comment
//! `tidy: skipped because …` on the line or the line above it excuses it.

use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// The comment that excuses one; a reason has to follow.
const EXCUSE: &str = "tidy: skipped because ";

/// What to do instead.
const REMEDY: &str = "fail with the command to run: `cargo xtask test` sets up what a test needs";

/// Finds the tests of a file that can return early, are ignored or say that they were skipped.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut tests = Tests::default();
    tests.visit_file(&source.syntax);
    let is_said = |line: usize| source.lines[line - 1].contains(concat!("\"", "skipped: "));
    let said = (1..=source.lines.len()).filter(|line| source.is_test_line(*line) && is_said(*line));
    let returns = tests.returns.into_iter().map(|line| (line, "a test that can return early"));
    let ignored = tests.ignored.into_iter().map(|line| (line, "a test that is ignored"));
    let found = returns.chain(ignored).chain(said.map(|line| (line, "a test that skips itself")));
    found
        .filter(|(line, _)| !source.is_excused(*line, EXCUSE))
        .map(|(line, what)| Finding::error(&source.path, line, what, REMEDY))
        .collect()
}

/// The lines in test functions that end them early, and those that keep them from running.
#[derive(Default)]
struct Tests {
    returns: Vec<usize>,
    ignored: Vec<usize>,
}

impl<'ast> Visit<'ast> for Tests {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        let is_named = |attribute: &syn::Attribute, name: &str| {
            attribute.path().segments.last().is_some_and(|segment| segment.ident == name)
        };
        if function.attrs.iter().any(|attribute| is_named(attribute, "test")) {
            let ignored = function.attrs.iter().filter(|attribute| is_named(attribute, "ignore"));
            self.ignored.extend(ignored.map(|attribute| attribute.span().start().line));
            let mut body = Body::default();
            body.visit_block(&function.block);
            self.returns.extend(body.returns);
        }
        visit::visit_item_fn(self, function);
    }
}

/// The returns of one function body, without those of what is defined in it.
#[derive(Default)]
struct Body {
    returns: Vec<usize>,
}

impl<'ast> Visit<'ast> for Body {
    fn visit_expr_return(&mut self, expression: &'ast syn::ExprReturn) {
        self.returns.push(expression.span().start().line);
    }

    fn visit_expr_closure(&mut self, _: &'ast syn::ExprClosure) {}

    fn visit_expr_async(&mut self, _: &'ast syn::ExprAsync) {}

    fn visit_item(&mut self, _: &'ast syn::Item) {}
}
