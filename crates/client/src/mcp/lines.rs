//! Lines: a tool server that is a process, one message a line each way.
//!
//! Promises: a line is bounded before it is read to its end, words that are no message (programs print all kinds of things) are passed
//! over, and an answer that cannot be read fails the request it answers. It does not start or stop the process.

use std::io;
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::model::{ClientJsonRpcMessage, ErrorData, NumberOrString, RequestId, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use serde_json::Value;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::sync::Mutex;

use super::options::{Reader, Writer};

/// Both pipes of a process. Clones share them.
#[derive(Clone)]
pub(super) struct Lines {
    read: Arc<Mutex<LineReader>>,
    write: Arc<Mutex<Option<Writer>>>,
}

struct LineReader {
    pipe: BufReader<Reader>,
    line: Vec<u8>,
    most: usize,
    /// Why the pipe is read no further.
    fate: Arc<OnceLock<String>>,
}

impl Lines {
    /// Takes over the pipes; `fate` is told why reading ended, when it was not the process that ended it.
    pub(super) fn new(read: Reader, write: Writer, most: usize, fate: Arc<OnceLock<String>>) -> Self {
        let reader = LineReader { pipe: BufReader::new(read), line: Vec::new(), most, fate };
        Self { read: Arc::new(Mutex::new(reader)), write: Arc::new(Mutex::new(Some(write))) }
    }
}

impl LineReader {
    /// The next line that has words in it. May be dropped and called again: what was read stays in `line`.
    async fn next(&mut self) -> io::Result<Option<Vec<u8>>> {
        loop {
            let ready = self.pipe.fill_buf().await?;
            if ready.is_empty() {
                return Ok(None);
            }
            let end = ready.iter().position(|byte| *byte == b'\n');
            let take = end.map_or(ready.len(), |end| end + 1);
            if self.line.len() + take > self.most {
                let told = format!(
                    "the tool server said more than {} bytes at once; the connection was ended",
                    self.most
                );
                let _ = self.fate.set(told);
                return Ok(None);
            }
            self.line.extend_from_slice(&ready[..take]);
            self.pipe.consume(take);
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                if !line.trim_ascii().is_empty() {
                    return Ok(Some(line));
                }
            }
        }
    }
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
            let line = match read.next().await {
                Ok(line) => line?,
                Err(error) => {
                    tracing::debug!(%error, "the output of a tool server cannot be read");
                    return None;
                }
            };
            if let Some(message) = message_of(&line) {
                return Some(message);
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
        tracing::debug!("a tool server printed a line that is no message");
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

fn id_of(value: &Value) -> Option<RequestId> {
    match value {
        Value::Number(number) => number.as_i64().map(NumberOrString::Number),
        Value::String(text) => Some(NumberOrString::String(text.as_str().into())),
        _ => None,
    }
}
