//! The rule that files and functions stay small enough to be read in one go.
//!
//! Promises: counts lines that hold code; comments, documentation, blank lines and `#[cfg(test)]` modules are
//! free, so there is no reason to save on text or tests. Files that only hold unit tests are never refused,
//! only warned about.

use syn::visit::{self, Visit};

use crate::tidy::finding::Finding;
use crate::tidy::source::Source;

/// A file longer than this is refused: it is several things at once.
const FILE_FAILS: usize = 800;
/// A file longer than this should be split before it grows further.
const FILE_WARNS: usize = 500;
/// A function longer than this is refused: a reader cannot keep it in mind.
const FUNCTION_FAILS: usize = 100;
/// A function longer than this should be split before it grows further.
const FUNCTION_WARNS: usize = 60;

/// Finds files and functions that are too long.
pub(crate) fn check(source: &Source) -> Vec<Finding> {
    let mut findings: Vec<Finding> = file(source).into_iter().collect();
    let mut functions = Functions { source, findings: Vec::new() };
    functions.visit_file(&source.syntax);
    findings.append(&mut functions.findings);
    findings
}

fn file(source: &Source) -> Option<Finding> {
    let unit_tests = source.is_test_file && source.path.contains("/src/");
    let remedy = "split it by noun into `foo.rs` and `foo/`";
    if unit_tests {
        let lines = source.code_lines.len();
        let what = format!("{lines} lines of tests, over {FILE_FAILS}");
        return (lines > FILE_FAILS).then(|| Finding::warning(&source.path, 1, what, remedy));
    }
    let integration = source.is_test_file;
    let lines = source.code_lines.iter().filter(|line| integration || !source.is_test_line(**line)).count();
    judge(source, 1, "file", lines, (FILE_WARNS, FILE_FAILS), remedy)
}

/// A finding when `lines` is over the first limit, an error when it reaches the second.
fn judge(
    source: &Source,
    line: usize,
    subject: &str,
    lines: usize,
    (warns, fails): (usize, usize),
    remedy: &str,
) -> Option<Finding> {
    if lines >= fails {
        let what = format!("{subject} has {lines} code lines, the limit is {fails}");
        Some(Finding::error(&source.path, line, what, remedy))
    } else if lines > warns {
        let what = format!("{subject} has {lines} code lines, better stay under {warns}");
        Some(Finding::warning(&source.path, line, what, remedy))
    } else {
        None
    }
}

struct Functions<'a> {
    source: &'a Source,
    findings: Vec<Finding>,
}

impl Functions<'_> {
    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let first = signature.fn_token.span.start().line;
        let last = block.brace_token.span.close().end().line;
        let lines = self.source.code_lines.range(first..=last).count();
        let subject = format!("fn {}", signature.ident);
        let remedy = "name its steps and make each a function";
        let found = judge(self.source, first, &subject, lines, (FUNCTION_WARNS, FUNCTION_FAILS), remedy);
        self.findings.extend(found);
    }
}

impl<'ast> Visit<'ast> for Functions<'_> {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.function(&function.sig, &function.block);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.function(&function.sig, block);
        }
        visit::visit_trait_item_fn(self, function);
    }
}
