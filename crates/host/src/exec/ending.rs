//! What the end of a command means for its task, and in which words.
//!
//! Promises: zero completes, [`EXIT_INPUT_REQUIRED`] asks the caller, [`EXIT_AUTH_REQUIRED`] asks for a
//! credential, everything else fails with the code or the signal and the end of what the command said on
//! stderr. A limit that was the likely reason is named.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use agentsite_protocol::{ByteSize, Outcome};
use rustix::process::Signal;

use super::start::Start;
use crate::Job;

/// A command that ends with this code asks the caller; its last line of output is the question. The next
/// message of the caller starts the command again, with `history` in its JSON. Ten is used by no shell and by
/// few programs.
pub(super) const EXIT_INPUT_REQUIRED: i32 = 10;

/// A command that ends with this code needs a credential; its last line of output says which. The caller's
/// next message starts it again, with the credential in its environment.
pub(super) const EXIT_AUTH_REQUIRED: i32 = 11;

/// The demand of a command that needs a credential and does not say which.
const NO_DEMAND: &str = "The agent needs a credential.";

/// The question of a command that asks without words.
const NO_QUESTION: &str = "The agent needs more input.";

impl Start {
    /// What the end of the command means for the task.
    pub(super) fn outcome(
        &self,
        job: &Job,
        ended: io::Result<ExitStatus>,
        last_line: &str,
        complaint: &str,
    ) -> Outcome {
        let status = match ended {
            Ok(status) => status,
            Err(error) => {
                return job.failed(format!("`{}` cannot be observed any longer: {error}", self.program()));
            }
        };
        match status.code() {
            Some(0) => Outcome::Completed(None),
            Some(EXIT_INPUT_REQUIRED) => {
                let question = if last_line.is_empty() { NO_QUESTION } else { last_line };
                Outcome::InputRequired(job.words(question))
            }
            Some(EXIT_AUTH_REQUIRED) => {
                let demand = if last_line.is_empty() { NO_DEMAND } else { last_line };
                Outcome::AuthRequired(job.words(demand))
            }
            _ => job.failed(self.why_it_failed(status, complaint)),
        }
    }

    /// What the caller learns when the command printed more than it may.
    pub(super) fn printed_too_much(&self, most: ByteSize) -> String {
        let program = self.program();
        format!(
            "`{program}` printed more than {most} (limits.output); it was stopped, and the answer is cut off there"
        )
    }

    fn why_it_failed(&self, status: ExitStatus, complaint: &str) -> String {
        let program = self.program();
        let how = match (status.code(), status.signal()) {
            (Some(code), _) => format!("`{program}` ended with exit code {code}"),
            (None, Some(signal)) => {
                let name = signal_name(signal).map(|name| format!(" ({name})")).unwrap_or_default();
                format!("`{program}` was killed by signal {signal}{name}{}", self.likely_reason(signal))
            }
            (None, None) => format!("`{program}` ended in an unknown way"),
        };
        if complaint.is_empty() { how } else { format!("{how}: {complaint}") }
    }

    fn likely_reason(&self, signal: i32) -> String {
        let is = |one: Signal| one.as_raw() == signal;
        if let Some(cpu) = self.cpu.filter(|_| is(Signal::XCPU) || is(Signal::KILL)) {
            return format!(
                ", probably because it used more than {cpu} of processor time (runtime.cpu_limit)"
            );
        }
        if let Some(size) = self.file_size.filter(|_| is(Signal::XFSZ)) {
            return format!(", because it wrote a file larger than {size} (runtime.file_size_limit)");
        }
        if let Some(memory) = self.memory.filter(|_| is(Signal::SEGV) || is(Signal::ABORT) || is(Signal::BUS))
        {
            return format!(
                ", possibly because it needed more than {memory} of memory (runtime.memory_limit)"
            );
        }
        String::new()
    }
}

/// The name of a signal that ends programs.
fn signal_name(signal: i32) -> Option<&'static str> {
    const NAMES: [(Signal, &str); 14] = [
        (Signal::HUP, "SIGHUP"),
        (Signal::INT, "SIGINT"),
        (Signal::QUIT, "SIGQUIT"),
        (Signal::ILL, "SIGILL"),
        (Signal::TRAP, "SIGTRAP"),
        (Signal::ABORT, "SIGABRT"),
        (Signal::BUS, "SIGBUS"),
        (Signal::FPE, "SIGFPE"),
        (Signal::KILL, "SIGKILL"),
        (Signal::SEGV, "SIGSEGV"),
        (Signal::PIPE, "SIGPIPE"),
        (Signal::TERM, "SIGTERM"),
        (Signal::XCPU, "SIGXCPU"),
        (Signal::XFSZ, "SIGXFSZ"),
    ];
    NAMES.iter().find(|(known, _)| known.as_raw() == signal).map(|(_, name)| *name)
}
