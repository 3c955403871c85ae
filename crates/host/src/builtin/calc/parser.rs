//! Works an expression out while reading it: precedence climbing after Pratt ("Top down operator precedence",
//! 1973).
//!
//! Promises: one pass, no tree; depth is limited, so no expression exhausts the stack. The place that an
//! error carries is where the sign, function or operand in question begins.

use super::lexer::{Lexer, Token};
use super::number::{Number, constant, folding, function};
use super::{MAX_DEPTH, Wrong};

/// How tightly things bind; a larger number binds tighter.
const SUM: u8 = 10;
const PRODUCT: u8 = 20;
const SIGN: u8 = 25;
const POWER: u8 = 30;
const SUFFIX: u8 = 40;

/// A number that may have been written as a percentage.
#[derive(Debug, Clone, Copy)]
struct Value {
    number: Number,
    percent: bool,
}

type Parsed<T> = Result<T, (usize, Wrong)>;

/// Works out a whole expression.
pub(super) fn value(text: &str) -> Parsed<Number> {
    let mut parser = Parser { lexer: Lexer::new(text), ahead: None, commas_separate: false, depth: 0 };
    let value = parser.expression(0)?;
    match parser.peek()? {
        (_, Token::End) => plain(value).map_err(|wrong| (0, wrong)),
        (at, token) => {
            Err((at, Wrong::Expected { expected: "an operator or the end", found: token.shown() }))
        }
    }
}

#[derive(Debug)]
struct Parser<'a> {
    lexer: Lexer<'a>,
    ahead: Option<(usize, Token)>,
    commas_separate: bool,
    depth: usize,
}

impl Parser<'_> {
    fn peek(&mut self) -> Parsed<(usize, Token)> {
        let next = match self.ahead.take() {
            Some(next) => next,
            None => self.lexer.next(self.commas_separate)?,
        };
        self.ahead = Some(next.clone());
        Ok(next)
    }

    fn take(&mut self) -> Parsed<(usize, Token)> {
        let next = self.peek()?;
        self.ahead = None;
        Ok(next)
    }

    /// Reads as long as what follows binds at least as tightly as `least`.
    fn expression(&mut self, least: u8) -> Parsed<Value> {
        if self.depth == MAX_DEPTH {
            let (at, _) = self.peek()?;
            return Err((at, Wrong::TooDeep));
        }
        self.depth += 1;
        let mut left = self.operand()?;
        loop {
            let (at, token) = self.peek()?;
            let Some((binds, right_binds)) = binding(&token) else { break };
            if binds < least {
                break;
            }
            left = match token {
                Token::Percent | Token::Sign('!') => {
                    self.take()?;
                    suffixed(left, &token)
                }
                // Two operands side by side are multiplied: 2pi, 3(4 + 5).
                Token::Word(_) | Token::Sign('(') => {
                    joined(left, &Token::Sign('*'), self.expression(right_binds)?)
                }
                _ => {
                    self.take()?;
                    joined(left, &token, self.expression(right_binds)?)
                }
            }
            .map_err(|wrong| (at, wrong))?;
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operand(&mut self) -> Parsed<Value> {
        let (at, token) = self.take()?;
        match token {
            Token::Number(number) => Ok(Value { number, percent: false }),
            Token::Sign('-') => {
                let value = self.expression(SIGN)?;
                Ok(Value { number: value.number.negate(), ..value })
            }
            Token::Sign('+') => self.expression(SIGN),
            Token::Sign('(') => self.inside(self.commas_separate).and_then(|mut values| match values.pop() {
                Some(only) if values.is_empty() => Ok(Value { number: only, percent: false }),
                _ => Err((
                    at,
                    Wrong::Expected { expected: "one expression in parentheses", found: "a list".into() },
                )),
            }),
            Token::Word(word) => self.named(at, &word),
            other => Err((at, Wrong::Expected { expected: "a number", found: other.shown() })),
        }
    }

    fn named(&mut self, at: usize, word: &str) -> Parsed<Value> {
        if let Some(number) = constant(word) {
            return Ok(Value { number, percent: false });
        }
        let number = if let Some(function) = function(word) {
            let arguments = self.arguments(false)?;
            let [argument] = arguments[..] else {
                return Err((at, wrong_count(word, "one number", arguments.len())));
            };
            function(argument)
        } else if let Some(fold) = folding(word) {
            let arguments = self.arguments(true)?;
            let Some((first, rest)) = arguments.split_first() else {
                return Err((at, wrong_count(word, "one number or more", 0)));
            };
            rest.iter().try_fold(*first, |result, next| fold(result, *next))
        } else {
            return Err((at, Wrong::UnknownWord(word.chars().take(40).collect())));
        };
        Ok(Value { number: number.map_err(|trouble| (at, trouble.into()))?, percent: false })
    }

    /// What a function is given: a list in parentheses, or the operand that follows.
    fn arguments(&mut self, many: bool) -> Parsed<Vec<Number>> {
        if let (_, Token::Sign('(')) = self.peek()? {
            self.take()?;
            return self.inside(many);
        }
        let (at, _) = self.peek()?;
        let value = self.expression(POWER)?;
        Ok(vec![plain(value).map_err(|wrong| (at, wrong))?])
    }

    /// A list up to its closing parenthesis; the opening one has been read.
    fn inside(&mut self, commas_separate: bool) -> Parsed<Vec<Number>> {
        let outside = std::mem::replace(&mut self.commas_separate, commas_separate);
        let mut values = Vec::new();
        if let (_, Token::Sign(')')) = self.peek()? {
            self.take()?;
            self.commas_separate = outside;
            return Ok(values);
        }
        loop {
            let (at, _) = self.peek()?;
            let value = self.expression(0)?;
            values.push(plain(value).map_err(|wrong| (at, wrong))?);
            match self.take()? {
                (_, Token::Sign(',')) => {}
                (_, Token::Sign(')')) => break,
                (at, other) => {
                    return Err((
                        at,
                        Wrong::Expected { expected: "an operator or `)`", found: other.shown() },
                    ));
                }
            }
        }
        self.commas_separate = outside;
        Ok(values)
    }
}

/// How tightly a token binds its left and right operand, when it can follow an operand.
const fn binding(token: &Token) -> Option<(u8, u8)> {
    match token {
        Token::Sign('+' | '-') => Some((SUM, SUM + 1)),
        Token::Sign('*' | '/' | 'm' | '(') | Token::Of | Token::Word(_) => Some((PRODUCT, PRODUCT + 1)),
        // The same on both sides: a power belongs to its right operand.
        Token::Sign('^') => Some((POWER, POWER)),
        Token::Sign('!') | Token::Percent => Some((SUFFIX, SUFFIX)),
        _ => None,
    }
}

fn suffixed(left: Value, token: &Token) -> Result<Value, Wrong> {
    match token {
        Token::Percent => Ok(Value { number: plain(left)?, percent: true }),
        _ => Ok(Value { number: plain(left)?.factorial()?, percent: false }),
    }
}

fn joined(left: Value, token: &Token, right: Value) -> Result<Value, Wrong> {
    let number = match token {
        // 200 + 10% means a tenth more, as on a pocket calculator.
        Token::Sign(sign @ ('+' | '-')) if right.percent && !left.percent => {
            let part = left.number.multiply(right.number)?.divide(HUNDRED)?;
            if *sign == '+' { left.number.add(part) } else { left.number.subtract(part) }
        }
        Token::Sign('+') => plain(left)?.add(plain(right)?),
        Token::Sign('-') => plain(left)?.subtract(plain(right)?),
        Token::Sign('/') => plain(left)?.divide(plain(right)?),
        Token::Sign('m') => plain(left)?.modulo(plain(right)?),
        Token::Sign('^') => plain(left)?.power(plain(right)?),
        // Multiplied first and divided by a hundred last, so that whole results are exact.
        _ => {
            let product = Value { number: left.number.multiply(right.number)?, percent: left.percent };
            return plain(Value { number: plain(product)?, percent: right.percent }).map(unmarked);
        }
    };
    Ok(unmarked(number?))
}

/// A value that is not a percentage.
const fn unmarked(number: Number) -> Value {
    Value { number, percent: false }
}

/// What percentages are parts of.
const HUNDRED: Number = Number::Int(100);

fn plain(value: Value) -> Result<Number, Wrong> {
    if value.percent { Ok(value.number.divide(HUNDRED)?) } else { Ok(value.number) }
}

fn wrong_count(name: &str, takes: &'static str, given: usize) -> Wrong {
    Wrong::Arguments { name: name.to_owned(), takes, given }
}
