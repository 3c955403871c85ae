//! Cuts an expression into tokens, one at a time, as the parser asks for them.
//!
//! Promises: many ways to write a thing become one token (`×`, `x`, `times` and `*`; `**` and `^`). A comma
//! between groups of three digits belongs to the number, except where the parser says that commas separate
//! arguments. It decides whether `%` is a percentage or a remainder by its neighbours.

use super::Wrong;
use super::number::Number;

/// The smallest piece of an expression.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token {
    /// A number.
    Number(Number),
    /// A name: a function or a constant.
    Word(String),
    /// One of `+ - * / m ^ ! ( ) ,`, where `m` is the remainder.
    Sign(char),
    /// A percentage sign after a number.
    Percent,
    /// The word `of`.
    Of,
    /// Nothing more.
    End,
}

impl Token {
    /// The token as it is shown in a sentence.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Number(number) => format!("the number {number}"),
            Self::Word(word) => format!("`{word}`"),
            Self::Sign('m') => "`mod`".into(),
            Self::Sign(sign) => format!("`{sign}`"),
            Self::Percent => "`%`".into(),
            Self::Of => "`of`".into(),
            Self::End => "the end".into(),
        }
    }
}

/// Where the next token is taken from.
#[derive(Debug)]
pub(super) struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Lexer<'a> {
    /// Begins at the beginning.
    pub(super) const fn new(text: &'a str) -> Self {
        Self { text, at: 0 }
    }

    /// The next token with its place in bytes. `commas_separate` says what a comma means here.
    pub(super) fn next(&mut self, commas_separate: bool) -> Result<(usize, Token), (usize, Wrong)> {
        let spaces = self.rest().len() - self.rest().trim_start().len();
        self.at += spaces;
        let (start, Some(first)) = (self.at, self.rest().chars().next()) else {
            return Ok((self.at, Token::End));
        };
        let token = match first {
            '0'..='9' | '.' => self.number(commas_separate).map(Token::Number),
            _ if first.is_alphabetic() => Ok(self.word()),
            '%' => {
                self.at += 1;
                Ok(if self.is_remainder(spaces > 0) { Token::Sign('m') } else { Token::Percent })
            }
            _ => self.sign(first),
        };
        token.map(|token| (start, token)).map_err(|wrong| (start, wrong))
    }

    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn sign(&mut self, first: char) -> Result<Token, Wrong> {
        if self.rest().starts_with("**") {
            self.at += 2;
            return Ok(Token::Sign('^'));
        }
        let meant = match first {
            '+' | '*' | '/' | '^' | '!' | '(' | ')' | ',' | '-' => first,
            '−' | '–' => '-',
            '×' | '·' | '⋅' | '∗' => '*',
            '÷' | '∕' => '/',
            '[' | '{' => '(',
            ']' | '}' => ')',
            ';' => ',',
            '√' => {
                self.at += first.len_utf8();
                return Ok(Token::Word("sqrt".into()));
            }
            _ => return Err(Wrong::UnknownCharacter(first)),
        };
        self.at += first.len_utf8();
        Ok(Token::Sign(meant))
    }

    fn word(&mut self) -> Token {
        let rest = self.rest();
        let end = rest.find(|next: char| !next.is_alphanumeric()).unwrap_or(rest.len());
        self.at += end;
        let word = rest[..end].to_lowercase();
        match word.as_str() {
            "mod" | "modulo" => Token::Sign('m'),
            "x" | "times" => Token::Sign('*'),
            "plus" => Token::Sign('+'),
            "minus" => Token::Sign('-'),
            "over" => Token::Sign('/'),
            "percent" => Token::Percent,
            "of" => Token::Of,
            "divided" if self.rest().trim_start().to_lowercase().starts_with("by ") => {
                self.at += self.rest().len() - self.rest().trim_start().len() + "by".len();
                Token::Sign('/')
            }
            _ => Token::Word(word),
        }
    }

    /// Whether `%` means the remainder: an operand follows. A sign that follows belongs to an operand only
    /// when it is written that way: `10 % -3`, but not `10% - 3`.
    fn is_remainder(&self, spaced: bool) -> bool {
        let rest = self.rest().trim_start();
        let mut ahead = rest.chars();
        match ahead.next() {
            Some('0'..='9' | '.' | '(') => true,
            Some('+' | '-') => spaced && ahead.next().is_some_and(|next| !next.is_whitespace()),
            Some(first) if first.is_alphabetic() => {
                let word: String = rest.chars().take_while(|next| next.is_alphanumeric()).collect();
                !["of", "mod", "modulo", "x", "times", "plus", "minus", "over", "divided"]
                    .contains(&word.to_lowercase().as_str())
            }
            _ => false,
        }
    }

    fn number(&mut self, commas_separate: bool) -> Result<Number, Wrong> {
        for (prefix, radix) in [("0x", 16), ("0b", 2)] {
            if self.rest().get(..2).is_some_and(|head| head.eq_ignore_ascii_case(prefix)) {
                return self.number_of(radix);
            }
        }
        let start = self.at;
        let mut digits = String::new();
        self.digits(&mut digits);
        while !commas_separate && !digits.is_empty() && self.has_group() {
            self.at += 1;
            self.digits(&mut digits);
        }
        let mut whole = true;
        if self.rest().starts_with('.') {
            whole = false;
            self.at += 1;
            digits.push('.');
            self.digits(&mut digits);
        }
        if let Some(length) = exponent(self.rest()) {
            whole = false;
            digits.push_str(&self.rest()[..length]);
            self.at += length;
        }
        let exact = whole.then(|| digits.parse().ok()).flatten().map(Number::Int);
        let float = || digits.parse().ok().filter(|float: &f64| float.is_finite()).map(Number::Float);
        exact
            .or_else(float)
            .ok_or_else(|| Wrong::BadNumber(self.text[start..self.at].chars().take(40).collect()))
    }

    fn number_of(&mut self, radix: u32) -> Result<Number, Wrong> {
        let rest = self.rest();
        let end = rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(rest.len());
        self.at += end;
        let digits = rest[2..end].replace('_', "");
        let bad = |_| Wrong::BadNumber(rest[..end].chars().take(40).collect());
        i128::from_str_radix(&digits, radix).map(Number::Int).map_err(bad)
    }

    /// Takes digits, leaving out the underscores between them.
    fn digits(&mut self, into: &mut String) {
        let rest = self.rest();
        let end = rest.find(|next: char| !next.is_ascii_digit() && next != '_').unwrap_or(rest.len());
        into.extend(rest[..end].chars().filter(char::is_ascii_digit));
        self.at += end;
    }

    /// Whether a comma and exactly three digits follow.
    fn has_group(&self) -> bool {
        let rest = self.rest().as_bytes();
        rest.first() == Some(&b',')
            && rest.len() > 3
            && rest[1..4].iter().all(u8::is_ascii_digit)
            && !rest.get(4).is_some_and(u8::is_ascii_digit)
    }
}

/// How many bytes an exponent at the beginning of the text takes; `2e` alone is two times e.
fn exponent(text: &str) -> Option<usize> {
    let rest = text.strip_prefix(['e', 'E'])?;
    let unsigned = rest.strip_prefix(['+', '-']).unwrap_or(rest);
    let digits = unsigned.bytes().take_while(u8::is_ascii_digit).count();
    (digits > 0).then(|| text.len() - unsigned.len() + digits)
}
