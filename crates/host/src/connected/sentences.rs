//! The sentences for callers and admins about a program that is away, removed, or sends what cannot be read.
//!
//! Promises: each sentence says what happened and what to do. It decides nothing.

use agentsite_protocol::{AgentName, Timestamp};

use super::{Presence, SessionEnd};

/// Of a program that has not connected since the site started.
pub(super) const WAITING: &str =
    "waiting for its program, which has not connected since the site started; start the program";

/// Of a message that is too large for a frame.
pub(super) const TOO_LARGE: &str =
    "the message is too large for the agent's program; send less, or pass a file by its URL";

/// A failure without words.
pub(super) const NO_REASON: &str = "the agent failed without a reason";

/// A refusal without words.
pub(super) const NO_REFUSAL: &str = "the agent refused without a reason";

/// A question without words.
pub(super) const NO_QUESTION: &str = "The agent needs more input.";

/// A demand without words.
pub(super) const NO_DEMAND: &str = "The agent needs a credential.";

/// Of a program that is away.
pub(super) fn away(since: Timestamp) -> String {
    format!("its program is not connected since {since}; start it again")
}

/// Of a task for a program that is away.
pub(super) fn not_here(name: &AgentName, presence: Presence) -> String {
    match presence {
        Presence::Away { since } => format!(
            "the program of {name} is not connected since {since} and did not come back; send the message again when it is"
        ),
        Presence::Waiting | Presence::Here { .. } => format!(
            "the program of {name} has not connected since the site started; send the message again when it has"
        ),
    }
}

/// Of a task whose connection was lost.
pub(super) fn lost(name: &AgentName) -> String {
    format!(
        "the connection to the program of {name} was lost while it worked on this, and it may not be \
         repeated (retry in its registration); send the message again"
    )
}

/// Of a task that is begun again.
pub(super) fn begun_again(time: u32, most: u32) -> String {
    format!(
        "the connection to the agent's program was lost; the task is repeated when it is back ({time} of \
         {most})"
    )
}

/// Of a task whose agent is gone.
pub(super) fn gone(name: &AgentName, end: SessionEnd) -> String {
    format!("{name} cannot work on this: {end}")
}

/// Of a task about which the program sent a frame that cannot be read.
pub(super) fn malformed(name: &AgentName, what: &str) -> String {
    format!("the program of {name} sent a frame that cannot be read ({what})")
}
