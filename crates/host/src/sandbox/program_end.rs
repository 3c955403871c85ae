//! How a program ended, as the launcher learns it from the system or from the init process of the program.
//!
//! Promises: the five bytes that cross the pipe are read back as the same end. It waits for nothing.

use nix::sys::signal::Signal;
use nix::sys::wait::WaitStatus;
use nix::unistd::Pid;

/// How a program ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ProgramEnd {
    /// By itself, with this code.
    Code(u8),
    /// By a signal.
    Signal(Signal),
}

impl ProgramEnd {
    /// Reads what the system says of an ended process.
    pub(super) fn of(status: WaitStatus) -> Option<(Pid, Self)> {
        match status {
            WaitStatus::Exited(pid, code) => Some((pid, Self::Code(code.to_le_bytes()[0]))),
            WaitStatus::Signaled(pid, signal, _) => Some((pid, Self::Signal(signal))),
            _ => None,
        }
    }

    /// The end in five bytes.
    pub(super) fn write(self) -> [u8; 5] {
        let (kind, number) = match self {
            Self::Code(code) => (0, i32::from(code)),
            Self::Signal(signal) => (1, signal as i32),
        };
        let [a, b, c, d] = number.to_le_bytes();
        [kind, a, b, c, d]
    }

    /// Reads what [`Self::write`] wrote.
    pub(super) fn read([kind, a, b, c, d]: [u8; 5]) -> Option<Self> {
        let number = i32::from_le_bytes([a, b, c, d]);
        match kind {
            0 => u8::try_from(number).ok().map(Self::Code),
            _ => Signal::try_from(number).ok().map(Self::Signal),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_end_survives_the_way_through_the_pipe() {
        let ends = [
            ProgramEnd::Code(0),
            ProgramEnd::Code(255),
            ProgramEnd::Signal(Signal::SIGKILL),
            ProgramEnd::Signal(Signal::SIGXFSZ),
        ];
        for end in ends {
            assert_eq!(ProgramEnd::read(end.write()), Some(end));
        }
    }
}
