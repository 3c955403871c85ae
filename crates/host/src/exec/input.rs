//! What a command reads on its standard input.
//!
//! Promises: a command that reads text gets the text of the message, its structured content as JSON and its
//! text files, each part on its own line. The input is written while the output is read, so neither side can
//! hold the other up; a command that does not read, or stops reading, is none the worse for it. The pipe is
//! closed after the last byte.

use agentsite_protocol::{Message, Part};
use serde::Serialize;
use tokio::io::AsyncWriteExt;
use tokio::process::ChildStdin;

use crate::{Job, Stdin};

/// The one JSON object of `stdin = "json"`.
#[derive(Debug, Serialize)]
struct JobLine<'a> {
    task: String,
    context: &'a str,
    agent: &'a str,
    attempt: u32,
    /// All text of the message, for commands that need nothing else.
    text: String,
    message: &'a Message,
    history: &'a [Message],
}

/// The bytes that a command is given for a job.
pub(super) fn bytes(stdin: Stdin, job: &Job) -> Vec<u8> {
    match stdin {
        Stdin::Text => job.message.text_and_data().into_bytes(),
        Stdin::Json => {
            let line = JobLine {
                task: job.task.to_string(),
                context: job.context.as_str(),
                agent: job.agent.as_str(),
                attempt: job.attempt,
                text: job.message.plain_text(),
                message: &job.message,
                history: &job.history,
            };
            let mut bytes = serde_json::to_vec(&line).expect("every key of a job is a string");
            bytes.push(b'\n');
            bytes
        }
    }
}

/// What a command cannot be given, in a sentence; `None` when all of the message reaches it.
pub(super) fn unreadable(stdin: Stdin, job: &Job) -> Option<&'static str> {
    let is_lost = |part: &Part| part.url.is_some() || (part.raw.is_some() && part.text_of_file().is_none());
    (stdin == Stdin::Text && job.message.parts.iter().any(is_lost))
        .then_some("this agent reads text, JSON and text files only; send the content of the file as text")
}

/// Writes the bytes and closes the pipe.
pub(super) async fn feed(mut stdin: ChildStdin, bytes: Vec<u8>) {
    // It fails when the command has closed its input. The exit code of the command decides.
    let _ = stdin.write_all(&bytes).await;
}
