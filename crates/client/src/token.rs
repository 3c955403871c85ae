//! Token: a bearer credential that does not show itself in logs.
//!
//! Promises: neither its debug form nor any error holds the secret. It does not check that the token is
//! valid.

use std::fmt;

/// A bearer credential.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

impl Token {
    /// Takes the secret over; spaces around it (as files have them) are dropped.
    #[must_use]
    pub fn new(secret: &str) -> Self {
        Self(secret.trim().to_owned())
    }

    /// The secret itself, for the one header that carries it.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Token(…)")
    }
}
