//! Every path of two or more segments that a Rust file names, with its line.
//!
//! Promises: `use` trees come flattened with one mention for each leaf, paths inside macro calls and inside
//! string arguments of attributes (as serde takes them) are seen too, and each mention knows the inline
//! modules around it. It does not resolve names; the rules do what little of that they need.

use proc_macro2::{TokenStream, TokenTree};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

/// One path somewhere in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mention {
    /// The names between the `::`; a glob import ends in `*`.
    pub(crate) segments: Vec<String>,
    /// The line of the last name.
    pub(crate) line: usize,
    /// The inline modules around it, outermost first.
    pub(crate) scope: Vec<String>,
}

/// Collects the mentions of one file.
pub(crate) fn collect(syntax: &syn::File) -> Vec<Mention> {
    let mut collector = Collector::default();
    collector.visit_file(syntax);
    collector.mentions
}

/// One leaf of a `use` tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Import {
    /// The path of what is imported; a glob ends in `*`.
    pub(crate) segments: Vec<String>,
    /// The name it has here.
    pub(crate) name: String,
    /// The line of its last name.
    pub(crate) line: usize,
}

/// The leaves of a `use` tree.
pub(crate) fn imports(tree: &syn::UseTree) -> Vec<Import> {
    let mut leaves = Vec::new();
    flatten(tree, &mut Vec::new(), &mut leaves);
    leaves
}

fn flatten(tree: &syn::UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<Import>) {
    let mut leaf = |last: String, name: String, line: usize| {
        let mut segments = prefix.clone();
        if last != "self" {
            segments.push(last);
        }
        let name = if name == "self" { segments.last().cloned().unwrap_or_default() } else { name };
        leaves.push(Import { segments, name, line });
    };
    match tree {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.to_string());
            flatten(&path.tree, prefix, leaves);
            prefix.pop();
        }
        syn::UseTree::Name(name) => {
            leaf(name.ident.to_string(), name.ident.to_string(), name.ident.span().start().line);
        }
        syn::UseTree::Rename(rename) => {
            leaf(rename.ident.to_string(), rename.rename.to_string(), rename.ident.span().start().line);
        }
        syn::UseTree::Glob(glob) => leaf("*".to_owned(), "*".to_owned(), glob.span().start().line),
        syn::UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, prefix, leaves);
            }
        }
    }
}

#[derive(Default)]
struct Collector {
    scope: Vec<String>,
    mentions: Vec<Mention>,
}

impl Collector {
    fn note(&mut self, segments: Vec<String>, line: usize) {
        if segments.len() > 1 {
            self.mentions.push(Mention { segments, line, scope: self.scope.clone() });
        }
    }

    /// Paths in unparsed tokens: `name :: name`, and strings that hold one.
    fn tokens(&mut self, stream: TokenStream) {
        let tokens: Vec<TokenTree> = stream.into_iter().collect();
        let mut at = 0;
        while at < tokens.len() {
            match &tokens[at] {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(first) => {
                    let mut segments = vec![first.to_string()];
                    let line = first.span().start().line;
                    while let Some(next) = after_colons(&tokens[at + 1..]) {
                        segments.push(next);
                        at += 3;
                    }
                    self.note(segments, line);
                }
                TokenTree::Literal(literal) => self.string(&literal.to_string(), literal.span().start().line),
                TokenTree::Punct(_) => {}
            }
            at += 1;
        }
    }

    fn string(&mut self, literal: &str, line: usize) {
        let text = literal.trim_matches('"');
        let is_path = text.chars().all(|letter| letter.is_alphanumeric() || letter == '_' || letter == ':');
        if is_path && (text.starts_with("crate::") || text.starts_with("super::")) {
            self.note(text.split("::").map(str::to_owned).collect(), line);
        }
    }
}

fn after_colons(tokens: &[TokenTree]) -> Option<String> {
    match tokens {
        [TokenTree::Punct(one), TokenTree::Punct(two), TokenTree::Ident(word), ..]
            if one.as_char() == ':' && two.as_char() == ':' =>
        {
            Some(word.to_string())
        }
        _ => None,
    }
}

impl<'ast> Visit<'ast> for Collector {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        self.scope.push(module.ident.to_string());
        visit::visit_item_mod(self, module);
        self.scope.pop();
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        for import in imports(&item.tree) {
            self.note(import.segments, import.line);
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
        self.note(segments, path.segments.last().span().start().line);
        visit::visit_path(self, path);
    }

    fn visit_visibility(&mut self, _: &'ast syn::Visibility) {
        // `pub(in crate::room)` says who may look, not what is used.
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        visit::visit_macro(self, call);
        self.tokens(call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        visit::visit_attribute(self, attribute);
        if let syn::Meta::List(list) = &attribute.meta {
            self.tokens(list.tokens.clone());
        }
    }
}
