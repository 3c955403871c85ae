//! Money: an amount of one asset, counted in whole minor units.
//!
//! Promises: an amount is an integer, so it is never rounded. Reading what was printed gives the same amount.
//! Arithmetic that would overflow or mix assets is an error, never a panic, and amounts are ordered only
//! within one asset. It does not convert between assets and does not know rates or accounts.

mod asset;
mod wire;

#[cfg(test)]
mod tests;

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

pub use asset::{Asset, MAX_CODE, MAX_DECIMALS};
pub(crate) use wire::{limit, listed_price};

/// Longest text of an amount, in bytes: the digits of the largest one, a point, and zeros at either end.
const MAX_TEXT: usize = 64;

/// An amount of one asset, such as a price.
///
/// As text, credits are a bare number (`0.5`) and other assets are named after it (`0.50 USD`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Money {
    /// How many minor units; one credit has 1,000,000 of them, one dollar has 100.
    pub minor: u64,
    /// What is counted.
    pub asset: Asset,
}

/// Why a value is not an amount of money, or two amounts cannot be combined.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadMoney {
    /// It is not a decimal number.
    #[error("`{0}` is not an amount: write digits and a point, such as 0.50")]
    NotDecimal(String),
    /// It is below zero.
    #[error("an amount cannot be negative")]
    Negative,
    /// It has more decimals than its asset.
    #[error("{0} has {decimals} decimals and the amount has more", decimals = .0.decimals())]
    TooPrecise(Asset),
    /// It does not fit.
    #[error("the amount is too large")]
    TooLarge,
    /// It is a JSON number with more digits than every reader keeps.
    #[error(
        "the number has more than 15 digits: write it as {{\"amount\": \"12.5\", \"asset\": \"credit\"}}"
    )]
    TooManyDigits,
    /// The asset has no valid code.
    #[error(
        "`{0}` is not an asset: write `credit`, a currency such as `EUR`, or CODE/DECIMALS such as `XAU/4`"
    )]
    Asset(String),
    /// The amounts are of different assets.
    #[error("{0} and {1} are different assets")]
    OtherAsset(Asset, Asset),
}

impl Money {
    /// So many minor units of an asset.
    #[must_use]
    pub const fn new(minor: u64, asset: Asset) -> Self {
        Self { minor, asset }
    }

    /// So many whole credits; `None` when they do not fit.
    #[must_use]
    pub const fn credits(whole: u64) -> Option<Self> {
        match whole.checked_mul(CREDIT_UNITS) {
            Some(minor) => Some(Self::new(minor, Asset::CREDIT)),
            None => None,
        }
    }

    /// Reads the decimal number before an asset's name, such as `0.50`.
    ///
    /// # Errors
    /// [`BadMoney`] when it is not a decimal number, negative, too large, or more precise than the asset.
    pub fn parse_amount(text: &str, asset: Asset) -> Result<Self, BadMoney> {
        let wrong = || BadMoney::NotDecimal(text.chars().take(MAX_TEXT).collect());
        if text.len() > MAX_TEXT {
            return Err(wrong());
        }
        if text.starts_with('-') {
            return Err(BadMoney::Negative);
        }
        let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
        let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        if !is_number(whole) || !is_number(fraction) {
            return Err(wrong());
        }
        let (fraction, decimals) = (fraction.trim_end_matches('0'), usize::from(asset.decimals()));
        if fraction.len() > decimals {
            return Err(BadMoney::TooPrecise(asset));
        }
        let zeros = std::iter::repeat_n(b'0', decimals - fraction.len());
        let digits = whole.bytes().chain(fraction.bytes()).chain(zeros);
        let minor = digits
            .map(|digit| u64::from(digit - b'0'))
            .try_fold(0_u64, |sum, digit| sum.checked_mul(10)?.checked_add(digit))
            .ok_or(BadMoney::TooLarge)?;
        Ok(Self { minor, asset })
    }

    /// The decimal number without the asset, with all decimals of the asset.
    #[must_use]
    pub fn amount(&self) -> String {
        let decimals = usize::from(self.asset.decimals());
        let digits = format!("{:0>width$}", self.minor, width = decimals + 1);
        let (whole, fraction) = digits.split_at(digits.len() - decimals);
        if fraction.is_empty() { whole.to_owned() } else { format!("{whole}.{fraction}") }
    }

    /// The sum.
    ///
    /// # Errors
    /// [`BadMoney::OtherAsset`], [`BadMoney::TooLarge`].
    pub fn checked_add(self, other: Self) -> Result<Self, BadMoney> {
        self.same_asset(other)?;
        let minor = self.minor.checked_add(other.minor).ok_or(BadMoney::TooLarge)?;
        Ok(Self { minor, ..self })
    }

    /// What is left after taking the other away.
    ///
    /// # Errors
    /// [`BadMoney::OtherAsset`], [`BadMoney::Negative`].
    pub fn checked_sub(self, other: Self) -> Result<Self, BadMoney> {
        self.same_asset(other)?;
        let minor = self.minor.checked_sub(other.minor).ok_or(BadMoney::Negative)?;
        Ok(Self { minor, ..self })
    }

    /// So many times the amount.
    ///
    /// # Errors
    /// [`BadMoney::TooLarge`].
    pub fn checked_mul(self, times: u64) -> Result<Self, BadMoney> {
        let minor = self.minor.checked_mul(times).ok_or(BadMoney::TooLarge)?;
        Ok(Self { minor, ..self })
    }

    fn same_asset(self, other: Self) -> Result<(), BadMoney> {
        if self.asset == other.asset { Ok(()) } else { Err(BadMoney::OtherAsset(self.asset, other.asset)) }
    }
}

/// Minor units of one credit: enough to price a single token of a model.
const CREDIT_UNITS: u64 = 1_000_000;

/// Amounts of different assets have no order.
impl PartialOrd for Money {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self.asset == other.asset).then(|| self.minor.cmp(&other.minor))
    }
}

impl fmt::Display for Money {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let amount = self.amount();
        if self.asset != Asset::CREDIT {
            return write!(out, "{amount} {}", self.asset);
        }
        out.write_str(amount.trim_end_matches('0').trim_end_matches('.'))
    }
}

impl FromStr for Money {
    type Err = BadMoney;

    fn from_str(text: &str) -> Result<Self, BadMoney> {
        match text.trim().split_once(' ') {
            Some((amount, asset)) => Self::parse_amount(amount, asset.trim().parse()?),
            None => Self::parse_amount(text.trim(), Asset::CREDIT),
        }
    }
}
