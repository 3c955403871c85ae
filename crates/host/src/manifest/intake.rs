//! Intake: which content of a message reaches an agent, by how the agent runs.
//!
//! Promises: content that a runtime would lose is not in its intake, so that the site can refuse it and the
//! card does not offer it. Agents that judge messages themselves (A2A, ACP) take everything here. It does not
//! look at media types.

use agentsite_protocol::Part;

use super::{Builtin, ExecRuntime, Runtime, Stdin};

/// The media types of text and of structured content.
const MODES: [&str; 2] = ["text/plain", "application/json"];

/// Which content besides text an agent takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Intake {
    /// Structured content.
    pub data: bool,
    /// Files by their address.
    pub links: bool,
    /// Files with their content.
    pub files: bool,
    /// Files with their content, if that can be read as text.
    pub text_files: bool,
}

impl Intake {
    const EVERYTHING: Self = Self { data: true, links: true, files: true, text_files: true };
    const TEXT: Self = Self { data: false, links: false, files: false, text_files: false };
    const TEXT_AND_DATA: Self = Self { data: true, ..Self::TEXT };

    /// Whether a part reaches the agent.
    #[must_use]
    pub fn takes(self, part: &Part) -> bool {
        (part.data.is_none() || self.data)
            && (part.url.is_none() || self.links)
            && (part.raw.is_none() || self.files || (self.text_files && part.text_of_file().is_some()))
    }

    /// The media types that the agent takes when its skills declare no others.
    #[must_use]
    pub fn modes(self) -> &'static [&'static str] {
        if self.data { &MODES } else { &MODES[..1] }
    }
}

impl Runtime {
    /// Which content of a message reaches the agent.
    #[must_use]
    pub const fn intake(&self) -> Intake {
        match self {
            Self::Builtin(Builtin::Calc | Builtin::Clock) => Intake::TEXT,
            // Data is written on standard input as JSON text, and text files as they are.
            Self::Exec(ExecRuntime { stdin: Stdin::Text, .. }) => {
                Intake { text_files: true, ..Intake::TEXT_AND_DATA }
            }
            // Data is the call of a tool or of the library's search.
            Self::Library(_) | Self::Openapi(_) | Self::Mcp(_) => Intake::TEXT_AND_DATA,
            // A model reads data as JSON text, and links and text files as they are.
            Self::Llm(_) => Intake { links: true, text_files: true, ..Intake::TEXT_AND_DATA },
            Self::Builtin(Builtin::Echo)
            | Self::Exec(ExecRuntime { stdin: Stdin::Json, .. })
            | Self::A2a(_)
            | Self::Acp(_)
            | Self::Connected => Intake::EVERYTHING,
        }
    }
}
