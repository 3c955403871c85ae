//! Pump: what a program prints for people, taken to the agent's log.
//!
//! Promises: line by line and bounded; a line that is too long is cut into several. It ends with the pipe.

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};

use crate::{AgentLog, LogSource};

/// Longest line that is put together; the log cuts much earlier.
const MAX_LINE: usize = 8 * 1024;

/// Writes all output to the log until it ends.
pub(crate) async fn pump(from: impl AsyncRead + Unpin, source: LogSource, log: AgentLog) {
    let mut reader = BufReader::new(from);
    let mut line = Vec::new();
    while let Ok(piece) = reader.fill_buf().await {
        if piece.is_empty() {
            break;
        }
        let space = piece.len().min(MAX_LINE - line.len());
        let end = piece[..space].iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(space, |at| at + 1);
        line.extend_from_slice(&piece[..taken]);
        reader.consume(taken);
        if end.is_some() || line.len() >= MAX_LINE {
            log.push(source, &String::from_utf8_lossy(&line));
            line.clear();
        }
    }
    if !line.is_empty() {
        log.push(source, &String::from_utf8_lossy(&line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{BEGINNING, VirtualClock};

    #[tokio::test]
    async fn lines_reach_the_log_and_an_endless_one_is_cut() {
        let log = AgentLog::new(VirtualClock::at(BEGINNING));
        let mut text = b"one\ntwo\r\n".to_vec();
        text.extend(vec![b'x'; MAX_LINE + 5]);
        pump(&text[..], LogSource::Out, log.clone()).await;
        let lines = log.tail(10);
        assert_eq!(lines.len(), 4);
        assert_eq!(
            (lines[0].text.as_str(), lines[1].text.as_str(), lines[3].text.as_str()),
            ("one", "two", "xxxxx")
        );
    }
}
