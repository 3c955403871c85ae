//! Lines: a tool server that is a process, one message a line each way.
//!
//! Promises: a line is bounded before it is read to its end: an answer that is too large fails the request it
//! answers, and an endless line ends the connection. Lines that are not messages (programs print all kinds of
//! output) are skipped, and an answer that cannot be read fails its request, too. It does not start or stop
//! the process.

mod oversize;

use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::failure::TOO_LARGE;
use super::options::{Reader, Writer};
use oversize::Oversize;

/// How many times the size of the largest message may go by until its line ends; a line that is longer has no
/// end.
const PATIENCE: usize = 16;

/// Both pipes of a process. Clones share them.
#[derive(Clone)]
pub(super) struct Lines {
    read: Arc<Mutex<LineReader>>,
    write: Arc<Mutex<Option<Writer>>>,
}

struct LineReader {
    pipe: BufReader<Reader>,
    line: Vec<u8>,
    /// Set while a line that is too large goes by.
    oversize: Option<Oversize>,
    most: usize,
    /// Why the pipe is read no further.
    fate: Arc<OnceLock<String>>,
}

/// What the pipe brought.
enum LineRead {
    /// A line.
    Line(Vec<u8>),
    /// The end of a line that was too large to keep.
    TooLarge(Oversize),
    /// The end.
    End,
}

impl Lines {
    /// Takes over the pipes; `fate` gets the reason why reading ended, when it was not the process that ended
    /// it.
    pub(super) fn new(read: Reader, write: Writer, most: usize, fate: Arc<OnceLock<String>>) -> Self {
        let pipe = BufReader::new(read);
        let reader = LineReader { pipe, line: Vec::new(), oversize: None, most, fate };
        Self { read: Arc::new(Mutex::new(reader)), write: Arc::new(Mutex::new(Some(write))) }
    }
}

impl LineReader {
    /// The next line that has words in it. May be dropped and called again: what was read is kept.
    async fn next(&mut self) -> io::Result<LineRead> {
        loop {
            let ready = self.pipe.fill_buf().await?;
            if ready.is_empty() {
                return Ok(LineRead::End);
            }
            let end = ready.iter().position(|byte| *byte == b'\n');
            let take = end.map_or(ready.len(), |end| end + 1);
            if self.oversize.is_none() && self.line.len() + take > self.most {
                let mut passing = Oversize::default();
                passing.pass(&std::mem::take(&mut self.line));
                self.oversize = Some(passing);
            }
            match &mut self.oversize {
                Some(passing) => passing.pass(&ready[..take]),
                None => self.line.extend_from_slice(&ready[..take]),
            }
            self.pipe.consume(take);
            if let Some(heard) = self.heard(end.is_some()) {
                return Ok(heard);
            }
        }
    }

    fn heard(&mut self, line_ended: bool) -> Option<LineRead> {
        if let Some(passing) = &self.oversize {
            if line_ended {
                return self.oversize.take().map(LineRead::TooLarge);
            }
            if passing.passed > self.most.saturating_mul(PATIENCE) {
                let _ = self.fate.set(too_large(self.most));
                return Some(LineRead::End);
            }
            return None;
        }
        if !line_ended {
            return None;
        }
        let line = std::mem::take(&mut self.line);
        (!line.trim_ascii().is_empty()).then_some(LineRead::Line(line))
    }
}

fn too_large(most: usize) -> String {
    format!("the tool server sent more than {most} bytes at once; request less")
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ClientJsonRpcMessage,
    ) -> impl Future<Output = Result<(), io::Error>> + Send + 'static {
        let write = self.write.clone();
        async move {
            let mut line = serde_json::to_vec(&message).map_err(io::Error::other)?;
            line.push(b'\n');
            let mut write = write.lock().await;
            let pipe = write.as_mut().ok_or_else(|| io::Error::from(io::ErrorKind::NotConnected))?;
            pipe.write_all(&line).await?;
            pipe.flush().await
        }
    }

    async fn receive(&mut self) -> Option<ServerJsonRpcMessage> {
        let mut read = self.read.lock().await;
        loop {
            let heard = match read.next().await {
                Ok(LineRead::Line(line)) => message_of(&line),
                Ok(LineRead::TooLarge(passed)) => {
                    let id = passed.id().as_ref().and_then(id_of);
                    id.map(|id| spoiled(id, read.most))
                }
                Ok(LineRead::End) => return None,
                Err(error) => {
                    tracing::debug!(%error, "the output of a tool server cannot be read");
                    return None;
                }
            };
            if heard.is_some() {
                return heard;
            }
        }
    }

    async fn close(&mut self) -> Result<(), io::Error> {
        self.write.lock().await.take();
        Ok(())
    }
}

/// Reads a message; one that answers a request but cannot be read becomes an error for that request.
pub(super) fn message_of(line: &[u8]) -> Option<ServerJsonRpcMessage> {
    let why = match serde_json::from_slice::<ServerJsonRpcMessage>(line) {
        Ok(message) => return Some(message),
        Err(why) => why,
    };
    let Ok(value) = serde_json::from_slice::<Value>(line) else {
        tracing::debug!("a tool server printed a line that is not a message");
        return None;
    };
    if value.get("method").is_some() {
        tracing::debug!(%why, "a tool server sent a message that cannot be read");
        return None;
    }
    let id = id_of(value.get("id")?)?;
    Some(ServerJsonRpcMessage::error(
        ErrorData::parse_error(format!("its answer cannot be read: {why}"), None),
        Some(id),
    ))
}

/// Replaces an answer that is too large: an error for the request it answers.
pub(super) fn spoiled(id: RequestId, most: usize) -> ServerJsonRpcMessage {
    ServerJsonRpcMessage::error(ErrorData::new(TOO_LARGE, too_large(most), None), Some(id))
}

fn id_of(value: &Value) -> Option<RequestId> {
    match value {
        Value::Number(number) => number.as_i64().map(NumberOrString::Number),
        Value::String(text) => Some(NumberOrString::String(text.as_str().into())),
        _ => None,
    }
}
