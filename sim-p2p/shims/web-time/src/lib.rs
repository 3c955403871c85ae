//! The part of web-time that libp2p uses, on the clock of tokio.
//!
//! Promises: [`Instant`] is tokio's, so it stands still while the time is paused. [`SystemTime`] is the real
//! one: libp2p only takes the beginnings of sequence numbers from it.

pub use std::time::{Duration, SystemTime, SystemTimeError, UNIX_EPOCH};
pub use tokio::time::Instant;
