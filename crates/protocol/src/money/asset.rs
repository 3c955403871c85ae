//! Asset: what an amount of money counts.
//!
//! Promises: a code is short and has one spelling, and an asset always has a number of decimals: that of a
//! table for common codes, else the one that is given with the code (`XAU/4`). It does not know what an asset
//! is worth.

use std::fmt;
use std::str::FromStr;

use super::BadMoney;

/// Longest code, in letters.
pub const MAX_CODE: usize = 7;

/// Most decimals: with more, a count of 64 bits would not reach twenty whole units.
pub const MAX_DECIMALS: u8 = 18;

/// The unit that a price without a name is in.
const CREDIT: &str = "credit";

/// Codes whose decimals need not be given: credits, and currencies by ISO 4217.
const KNOWN: [(&str, u8); 12] = [
    (CREDIT, 6),
    ("AUD", 2),
    ("CAD", 2),
    ("CHF", 2),
    ("CNY", 2),
    ("EUR", 2),
    ("GBP", 2),
    ("INR", 2),
    ("JPY", 0),
    ("KRW", 0),
    ("USD", 2),
    ("USDC", 6),
];

/// What an amount counts: `credit`, the site's own unit, or another asset by its code.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Asset {
    /// The letters of the code, then zeros.
    code: [u8; MAX_CODE],
    decimals: u8,
}

impl Asset {
    /// The site's own unit of account; one credit has 1,000,000 minor units.
    pub const CREDIT: Self = Self { code: *b"credit\0", decimals: 6 };

    /// The code, such as `credit` or `USD`.
    #[must_use]
    pub fn code(&self) -> &str {
        let length = self.code.iter().position(|byte| *byte == 0).unwrap_or(MAX_CODE);
        std::str::from_utf8(&self.code[..length]).unwrap_or_default()
    }

    /// How many decimals an amount has.
    #[must_use]
    pub const fn decimals(&self) -> u8 {
        self.decimals
    }

    fn known(code: &str) -> Option<u8> {
        KNOWN.iter().find(|(known, _)| *known == code).map(|(_, decimals)| *decimals)
    }
}

/// The code, with the decimals where they are not commonly known.
impl fmt::Display for Asset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.code())?;
        match Self::known(self.code()) {
            Some(_) => Ok(()),
            None => write!(out, "/{}", self.decimals),
        }
    }
}

impl fmt::Debug for Asset {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "Asset({self})")
    }
}

impl FromStr for Asset {
    type Err = BadMoney;

    fn from_str(text: &str) -> Result<Self, BadMoney> {
        let wrong = || BadMoney::Asset(text.chars().take(2 * MAX_CODE).collect());
        let (code, given) = match text.split_once('/') {
            Some((code, decimals)) => {
                let plain = matches!(decimals.as_bytes(), [b'0'..=b'9'] | [b'1'..=b'9', b'0'..=b'9']);
                let decimals = decimals.parse::<u8>().ok().filter(|_| plain);
                (code, Some(decimals.filter(|decimals| *decimals <= MAX_DECIMALS).ok_or_else(wrong)?))
            }
            None => (text, None),
        };
        let known = Self::known(code);
        let is_code = code.len() >= 2
            && code.starts_with(|first: char| first.is_ascii_uppercase())
            && code.bytes().all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit());
        let decimals = match (known, given) {
            (Some(known), given) if given.is_none_or(|given| given == known) => known,
            (None, Some(given)) if is_code => given,
            _ => return Err(wrong()),
        };
        let mut bytes = [0; MAX_CODE];
        bytes.get_mut(..code.len()).ok_or_else(wrong)?.copy_from_slice(code.as_bytes());
        Ok(Self { code: bytes, decimals })
    }
}
