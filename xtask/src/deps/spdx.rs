//! A reader of SPDX licence expressions, and whether one can be satisfied.
//!
//! Promises: understands `AND`, `OR`, `WITH`, parentheses, and the old `A/B` that means `OR`; `AND` binds
//! tighter than `OR` as the SPDX specification (annex D) says. An expression it does not understand is an
//! error that shows the expression. It does not know which licences exist: the caller decides which names it
//! accepts.

/// Whether `accepted` names are enough to satisfy the expression. A name with an exception is asked for as
/// `Name WITH Exception` first, then as `Name` alone, because an exception only ever grants more.
pub(crate) fn satisfiable(expression: &str, accepted: &dyn Fn(&str) -> bool) -> Result<bool, String> {
    let tokens = tokens(expression);
    let mut reader = Reader { tokens: &tokens, at: 0, accepted };
    let answer = reader.any().ok_or_else(|| format!("`{expression}` is not a licence expression"))?;
    if reader.at < tokens.len() {
        return Err(format!("`{expression}` continues where a licence expression ends"));
    }
    Ok(answer)
}

fn tokens(expression: &str) -> Vec<String> {
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    spaced.split_whitespace().map(str::to_owned).collect()
}

struct Reader<'a> {
    tokens: &'a [String],
    at: usize,
    accepted: &'a dyn Fn(&str) -> bool,
}

impl Reader<'_> {
    fn any(&mut self) -> Option<bool> {
        let mut answer = self.all()?;
        while self.take("OR") {
            answer |= self.all()?;
        }
        Some(answer)
    }

    fn all(&mut self) -> Option<bool> {
        let mut answer = self.one()?;
        while self.take("AND") {
            answer &= self.one()?;
        }
        Some(answer)
    }

    fn one(&mut self) -> Option<bool> {
        if self.take("(") {
            let answer = self.any()?;
            return self.take(")").then_some(answer);
        }
        let name = self.name()?;
        if !self.take("WITH") {
            return Some((self.accepted)(&name));
        }
        let exception = self.name()?;
        Some((self.accepted)(&format!("{name} WITH {exception}")) || (self.accepted)(&name))
    }

    fn name(&mut self) -> Option<String> {
        let name = self.tokens.get(self.at)?;
        let legal = |letter: char| letter.is_ascii_alphanumeric() || "-.+:".contains(letter);
        if matches!(name.as_str(), "AND" | "OR" | "WITH") || !name.chars().all(legal) {
            return None;
        }
        self.at += 1;
        Some(name.clone())
    }

    fn take(&mut self, word: &str) -> bool {
        let taken = self.tokens.get(self.at).is_some_and(|token| token.eq_ignore_ascii_case(word));
        self.at += usize::from(taken);
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(accepted: &[&str], expression: &str) -> Result<bool, String> {
        satisfiable(expression, &|name| accepted.contains(&name))
    }

    #[test]
    fn one_of_several_is_enough() {
        assert_eq!(with(&["MIT"], "MIT OR Apache-2.0"), Ok(true));
        assert_eq!(with(&["MIT"], "Apache-2.0/MIT"), Ok(true));
        assert_eq!(with(&["MIT"], "GPL-3.0-only"), Ok(false));
    }

    #[test]
    fn both_are_needed_when_both_are_asked_for() {
        assert_eq!(with(&["MIT"], "MIT AND Unicode-3.0"), Ok(false));
        assert_eq!(with(&["MIT", "Unicode-3.0"], "MIT AND Unicode-3.0"), Ok(true));
    }

    #[test]
    fn and_binds_tighter_than_or_and_parentheses_tighter_still() {
        assert_eq!(with(&["A"], "A OR B AND C"), Ok(true));
        assert_eq!(with(&["A"], "(A OR B) AND C"), Ok(false));
        assert_eq!(with(&["B", "C"], "((A) OR B) AND C"), Ok(true));
    }

    #[test]
    fn an_exception_grants_more_but_does_not_excuse_the_licence() {
        let llvm = "Apache-2.0 WITH LLVM-exception";
        assert_eq!(with(&[llvm], "Apache-2.0 WITH LLVM-exception OR GPL-2.0"), Ok(true));
        assert_eq!(with(&["Apache-2.0"], llvm), Ok(true));
        assert_eq!(with(&["MIT"], llvm), Ok(false));
        assert_eq!(with(&[llvm], "Apache-2.0"), Ok(false));
    }

    #[test]
    fn a_later_version_is_a_name_of_its_own() {
        assert_eq!(with(&["Apache-2.0"], "Apache-2.0+"), Ok(false));
    }

    #[test]
    fn nonsense_is_an_error_and_never_a_yes() {
        for nonsense in
            ["", "MIT OR", "OR MIT", "(MIT", "MIT)", "MIT MIT", "MIT WITH", "MIT, Apache-2.0", "()"]
        {
            assert!(with(&["MIT", "Apache-2.0"], nonsense).is_err(), "{nonsense}");
        }
    }
}
