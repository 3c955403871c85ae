//! Number: exact whole numbers as long as they fit, floating point otherwise.
//!
//! Promises: an operation on whole numbers whose result is whole and fits 128 bits is exact; no result
//! overflows silently, is infinite or undefined: those are [`Trouble`]. The written form has at most 15
//! significant digits, so that the noise of binary fractions does not show.

use std::fmt;

use Number::{Float, Int};

/// Largest argument whose factorial floating point can hold.
const MAX_FACTORIAL: i128 = 170;

/// Digits that floating point holds for certain.
const DIGITS: usize = 15;

/// Results of angles below this are noise around zero: pi itself is only known to 16 digits.
const ANGLE_NOISE: f64 = 1e-15;

/// A number.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Number {
    /// Whole and exact.
    Int(i128),
    /// Anything else; always finite.
    Float(f64),
}

/// Why an operation has no result.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(in crate::builtin) enum Trouble {
    /// Division by zero.
    #[error("division by zero has no result")]
    DivisionByZero,
    /// Larger than floating point can hold.
    #[error("the result is too large; the largest possible number is about 1.8e308")]
    TooLarge,
    /// No real number is the result.
    #[error("{0} has no real result")]
    NotReal(&'static str),
    /// The factorial of something that has none.
    #[error("only whole numbers from 0 on have a factorial")]
    NoFactorial,
    /// The factorial is too large.
    #[error("the factorial is too large; {MAX_FACTORIAL}! is the largest possible")]
    FactorialTooLarge,
    /// Whole numbers are needed.
    #[error("`{0}` takes whole numbers only")]
    NotWhole(&'static str),
}

impl Number {
    fn float(self) -> f64 {
        match self {
            Int(whole) => whole as f64,
            Float(float) => float,
        }
    }

    /// The number as a whole one, when it is.
    fn whole(self) -> Option<i128> {
        // Up to here every whole number is a floating point number too.
        const EXACT: f64 = 9_007_199_254_740_992.0;
        match self {
            Int(whole) => Some(whole),
            Float(float) if float.fract() == 0.0 && float.abs() <= EXACT => Some(float as i128),
            Float(_) => None,
        }
    }

    fn is_zero(self) -> bool {
        self.float() == 0.0
    }

    pub(super) fn add(self, other: Self) -> Result<Self, Trouble> {
        self.both(other, i128::checked_add, |one, two| one + two)
    }

    pub(super) fn subtract(self, other: Self) -> Result<Self, Trouble> {
        self.both(other, i128::checked_sub, |one, two| one - two)
    }

    pub(super) fn multiply(self, other: Self) -> Result<Self, Trouble> {
        self.both(other, i128::checked_mul, |one, two| one * two)
    }

    pub(super) fn divide(self, other: Self) -> Result<Self, Trouble> {
        if other.is_zero() {
            return Err(Trouble::DivisionByZero);
        }
        let exact =
            |one: i128, two: i128| if one.checked_rem(two)? == 0 { one.checked_div(two) } else { None };
        self.both(other, exact, |one, two| one / two)
    }

    /// The remainder with the sign of `other`, as a clock counts: -1 mod 12 is 11.
    pub(super) fn modulo(self, other: Self) -> Result<Self, Trouble> {
        if other.is_zero() {
            return Err(Trouble::DivisionByZero);
        }
        let exact = |one: i128, two: i128| {
            let rest = one.checked_rem(two)?;
            if rest != 0 && (rest < 0) != (two < 0) { rest.checked_add(two) } else { Some(rest) }
        };
        self.both(other, exact, |one, two| one - two * (one / two).floor())
    }

    pub(super) fn power(self, exponent: Self) -> Result<Self, Trouble> {
        if self.is_zero() && exponent.float() < 0.0 {
            return Err(Trouble::DivisionByZero);
        }
        if let (Int(base), Int(exponent)) = (self, exponent)
            && let Some(exact) = u32::try_from(exponent).ok().and_then(|exponent| base.checked_pow(exponent))
        {
            return Ok(Int(exact));
        }
        finite(self.float().powf(exponent.float()), "a fractional power of a negative number")
    }

    pub(super) fn negate(self) -> Self {
        match self {
            Int(whole) => whole.checked_neg().map_or(Float(-(whole as f64)), Int),
            Float(float) => Float(-float),
        }
    }

    pub(super) fn factorial(self) -> Result<Self, Trouble> {
        let of = self.whole().filter(|whole| *whole >= 0).ok_or(Trouble::NoFactorial)?;
        if of > MAX_FACTORIAL {
            return Err(Trouble::FactorialTooLarge);
        }
        (2..=of).try_fold(Int(1), |product, factor| product.multiply(Int(factor)))
    }

    fn both(
        self,
        other: Self,
        exact: impl Fn(i128, i128) -> Option<i128>,
        float: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, Trouble> {
        if let (Int(one), Int(two)) = (self, other)
            && let Some(result) = exact(one, two)
        {
            return Ok(Int(result));
        }
        finite(float(self.float(), other.float()), "this")
    }
}

fn finite(result: f64, what: &'static str) -> Result<Number, Trouble> {
    if result.is_nan() {
        Err(Trouble::NotReal(what))
    } else if result.is_infinite() {
        Err(Trouble::TooLarge)
    } else {
        Ok(Float(result))
    }
}

/// A function of one number.
pub(super) type Function = fn(Number) -> Result<Number, Trouble>;

/// A function of two numbers that takes a whole list when it is folded over it.
pub(super) type Folding = fn(Number, Number) -> Result<Number, Trouble>;

/// The function of this name; `None` when there is none of this name.
pub(super) fn function(name: &str) -> Option<Function> {
    Some(match name {
        "sqrt" => |of| match of {
            Int(whole) if whole >= 0 && whole.isqrt().checked_pow(2) == Some(whole) => Ok(Int(whole.isqrt())),
            _ => finite(of.float().sqrt(), "the square root of a negative number"),
        },
        "cbrt" => |of| finite(of.float().cbrt(), "this"),
        "sin" => |of| angle(of.float().sin()),
        "cos" => |of| angle(of.float().cos()),
        "tan" => |of| {
            let over = of.float().cos();
            if over.abs() < ANGLE_NOISE {
                Err(Trouble::NotReal("the tangent of a right angle"))
            } else {
                angle(of.float().tan())
            }
        },
        "asin" => |of| finite(of.float().asin(), "asin of a number outside -1 to 1"),
        "acos" => |of| finite(of.float().acos(), "acos of a number outside -1 to 1"),
        "atan" => |of| finite(of.float().atan(), "this"),
        "ln" => |of| logarithm(of, f64::ln),
        "log" => |of| logarithm(of, f64::log10),
        "log2" => |of| logarithm(of, f64::log2),
        "exp" => |of| finite(of.float().exp(), "this"),
        "abs" => |of| Ok(if of.float() < 0.0 { of.negate() } else { of }),
        "floor" => |of| Ok(rounded(of, f64::floor)),
        "ceil" => |of| Ok(rounded(of, f64::ceil)),
        "round" => |of| Ok(rounded(of, f64::round)),
        _ => return None,
    })
}

/// The folding function of this name; `None` when there is none.
pub(super) fn folding(name: &str) -> Option<Folding> {
    Some(match name {
        "min" => |one, two| Ok(if two.float() < one.float() { two } else { one }),
        "max" => |one, two| Ok(if two.float() > one.float() { two } else { one }),
        "gcd" => |one, two| {
            let (one, two) = one.whole().zip(two.whole()).ok_or(Trouble::NotWhole("gcd"))?;
            divisor(one, two).map(Int)
        },
        "lcm" => |one, two| {
            let (first, second) = one.whole().zip(two.whole()).ok_or(Trouble::NotWhole("lcm"))?;
            if first == 0 || second == 0 {
                return Ok(Int(0));
            }
            let multiple = Int(first / divisor(first, second)?).multiply(Int(second))?;
            Ok(if multiple.float() < 0.0 { multiple.negate() } else { multiple })
        },
        _ => return None,
    })
}

/// A constant by its name.
pub(super) fn constant(name: &str) -> Option<Number> {
    match name {
        "pi" | "π" => Some(Float(std::f64::consts::PI)),
        "tau" | "τ" => Some(Float(std::f64::consts::TAU)),
        "e" => Some(Float(std::f64::consts::E)),
        _ => None,
    }
}

fn angle(result: f64) -> Result<Number, Trouble> {
    finite(if result.abs() < ANGLE_NOISE { 0.0 } else { result }, "this")
}

fn logarithm(of: Number, log: fn(f64) -> f64) -> Result<Number, Trouble> {
    if of.float() <= 0.0 {
        return Err(Trouble::NotReal("the logarithm of zero or less"));
    }
    finite(log(of.float()), "this")
}

fn rounded(of: Number, round: fn(f64) -> f64) -> Number {
    match of {
        Int(_) => of,
        Float(float) => Float(round(float)).whole().map_or(Float(round(float)), Int),
    }
}

fn divisor(one: i128, two: i128) -> Result<i128, Trouble> {
    let (mut one, mut two) = (one.unsigned_abs(), two.unsigned_abs());
    while two != 0 {
        (one, two) = (two, one % two);
    }
    i128::try_from(one).map_err(|_| Trouble::TooLarge)
}

impl fmt::Display for Number {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Int(whole) => write!(out, "{whole}"),
            Float(float) => out.write_str(&written(*float)),
        }
    }
}

/// Fifteen significant digits at most; an exponent only for what is very large or very small.
fn written(float: f64) -> String {
    let scientific = format!("{float:.*e}", DIGITS - 1);
    let (mantissa, exponent) = scientific.split_once('e').expect("the scientific form has an exponent");
    let exponent: i32 = exponent.parse().expect("the exponent is a number");
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let all_digits = mantissa.replace('.', "");
    let digits = all_digits.trim_end_matches('0');
    if digits.is_empty() {
        return "0".into();
    }
    let point = usize::try_from(exponent + 1).unwrap_or(0);
    match exponent {
        -7..0 => format!("{sign}0.{}{digits}", "0".repeat(usize::try_from(-exponent - 1).unwrap_or(0))),
        0..15 if digits.len() <= point => format!("{sign}{digits}{}", "0".repeat(point - digits.len())),
        0..15 => format!("{sign}{}.{}", &digits[..point], &digits[point..]),
        _ if digits.len() == 1 => format!("{sign}{digits}e{exponent}"),
        _ => format!("{sign}{}.{}e{exponent}", &digits[..1], &digits[1..]),
    }
}
