//! Why a socket is closed: the table of close codes.
//!
//! Promises: each reason has one code, of RFC 6455 where that has one and of the range for programs (4000 to
//! 4999) otherwise, and a sentence that fits into a close frame. A program that reads the code knows whether
//! to connect again.

use std::borrow::Cow;

use agentsite_protocol::agent_session::{MAX_FRAME, MAX_REASON};
use agentsite_site::SessionEnd;
use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::protocol::CloseFrame;

/// Why a socket is closed by the site.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Closing {
    /// The site or the agent's place ended it.
    Ended(SessionEnd),
    /// The program may not be what it wants to be; the words say why.
    Refused(String),
    /// Its owner, or the site, has as many agents as it may; the words say which. Later there may be room.
    Full(String),
    /// It sent bytes where text is spoken.
    NotText,
    /// It sent something that is not a frame; the words say why.
    NoFrame(String),
    /// It sent a frame that is too large, or broke off within one.
    TooLarge,
    /// It did not say in time who it is.
    NoIntroduction,
    /// It was silent for too long.
    Silent,
    /// Too much is being sent at once, by its owner or by all.
    Busy,
}

impl Closing {
    /// The code and whether a program should connect again by itself.
    pub(crate) const fn code(&self) -> u16 {
        match self {
            Self::Ended(SessionEnd::Stopping) => 1001,
            Self::NotText => 1003,
            Self::NoFrame(_) => 1007,
            Self::Refused(_) => 1008,
            Self::TooLarge => 1009,
            Self::Busy => 1013,
            Self::Ended(SessionEnd::Replaced) => 4001,
            Self::Ended(SessionEnd::Overflow) => 4002,
            Self::Ended(SessionEnd::Removed) => 4003,
            Self::Ended(SessionEnd::NameTaken) => 4004,
            Self::Silent => 4005,
            Self::NoIntroduction => 4006,
            Self::Full(_) => 4007,
        }
    }

    /// The sentence, however long.
    pub(crate) fn sentence(&self) -> Cow<'static, str> {
        match self {
            Self::Ended(end) => end.to_string().into(),
            Self::Refused(why) | Self::Full(why) | Self::NoFrame(why) => why.clone().into(),
            Self::NotText => "frames are text; bytes are not taken".into(),
            Self::TooLarge => format!(
                "a frame could not be read; it has at most {MAX_FRAME} bytes, and 65536 before agent/register"
            )
            .into(),
            Self::NoIntroduction => "the first frame must be agent/register, and come soon".into(),
            Self::Busy => {
                "too much is being sent to this site at once; connect again later, and send less at once"
                    .into()
            }
            Self::Silent => "nothing was heard for too long, not even the answer to a ping".into(),
        }
    }

    /// The frame that says so.
    pub(crate) fn frame(&self) -> CloseFrame {
        let sentence = self.sentence();
        let end = sentence.floor_char_boundary(MAX_REASON);
        CloseFrame { code: self.code().into(), reason: Utf8Bytes::from(&sentence[..end]) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_reason_has_a_code_of_its_own_and_fits_its_frame() {
        let ends = [
            SessionEnd::Stopping,
            SessionEnd::Replaced,
            SessionEnd::Overflow,
            SessionEnd::Removed,
            SessionEnd::NameTaken,
        ];
        let mut all: Vec<Closing> = ends.into_iter().map(Closing::Ended).collect();
        all.extend([
            Closing::Refused("é".repeat(500)),
            Closing::Full("x".repeat(500)),
            Closing::NoFrame("x".repeat(500)),
            Closing::NotText,
            Closing::TooLarge,
            Closing::NoIntroduction,
            Closing::Silent,
            Closing::Busy,
        ]);
        let codes: std::collections::BTreeSet<u16> = all.iter().map(Closing::code).collect();
        assert_eq!(codes.len(), all.len());
        for closing in all {
            let frame = closing.frame();
            assert!(!frame.reason.is_empty() && frame.reason.len() <= MAX_REASON, "{closing:?}");
        }
    }
}
