//! Sync: messages to and from one peer, over one long stream in each direction.
//!
//! The wire form is four bytes of length, most significant first, and the message. Promises: a frame longer
//! than a message may be is refused before it is read; a peer that sends faster than [`FRAMES_PER_SECOND`] is
//! read more slowly, which its own side feels; one that does not read is reported after [`WRITE_TIMEOUT`].

use std::io;
use std::time::Duration;

use agentsite_mesh::limits::MAX_MESSAGE;
use agentsite_mesh::{Message, OverlayEvent, SiteId};
use futures::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use libp2p::{PeerId, Stream};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{Instant, sleep, timeout};

use super::command::Report;
use crate::streams::OpenError;

/// Messages that wait for one peer: four MB at most. A whole answer of a session is sixteen.
pub(super) const OUTBOX: usize = 64;
/// How long a peer may take to read one message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(20);
/// After how much silence a stream is closed, so that idle connections can end.
const IDLE: Duration = Duration::from_secs(60);
/// Frames that are read of one peer each second; the first synchronisation of a full catalogue has a
/// thousand.
const FRAMES_PER_SECOND: f64 = 100.0;
/// Frames that may come at once.
const FRAME_BURST: f64 = 500.0;

/// Writes messages to a peer until there are none for a while. A failure is reported: a peer that does not
/// read in time is stuck; where only the connection ended, what was not written goes back to the driver, for
/// two sites that dial each other have two connections for a moment.
pub(super) async fn write(
    peer: PeerId,
    stream: oneshot::Receiver<Result<Stream, OpenError>>,
    mut outbox: mpsc::Receiver<Vec<u8>>,
    reports: mpsc::Sender<Report>,
) {
    let mut unsent = Vec::new();
    let written = match timeout(WRITE_TIMEOUT, stream).await {
        Ok(Ok(Ok(stream))) => write_all(stream, &mut outbox, &mut unsent).await,
        Ok(Ok(Err(OpenError::Failed)) | Err(_)) => Err(io::ErrorKind::ConnectionReset.into()),
        _ => Err(io::ErrorKind::TimedOut.into()),
    };
    let report = match written {
        Ok(()) => return,
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Report::Stuck(peer),
        Err(_) => {
            outbox.close();
            while let Some(message) = outbox.recv().await {
                unsent.push(message);
            }
            Report::Broken { peer, unsent }
        }
    };
    // The driver may be gone, too.
    drop(reports.send(report).await);
}

/// Writes messages; the one that was not written is left in `unsent`.
async fn write_all(
    mut stream: impl AsyncWrite + Unpin,
    outbox: &mut mpsc::Receiver<Vec<u8>>,
    unsent: &mut Vec<Vec<u8>>,
) -> io::Result<()> {
    let late = |_| io::Error::from(io::ErrorKind::TimedOut);
    loop {
        let message = match timeout(IDLE, outbox.recv()).await {
            Ok(message) => message,
            Err(_) => {
                // What came in at the last moment is still written.
                outbox.close();
                outbox.recv().await
            }
        };
        let Some(message) = message else { break };
        let whole = async {
            write_frame(&mut stream, &message).await?;
            stream.flush().await
        };
        let written = timeout(WRITE_TIMEOUT, whole).await.map_err(late).flatten();
        if written.is_err() {
            unsent.push(message);
            return written;
        }
    }
    timeout(WRITE_TIMEOUT, stream.close()).await.map_err(late)?
}

async fn write_frame(stream: &mut (impl AsyncWrite + Unpin), bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    stream.write_all(&length.to_be_bytes()).await?;
    stream.write_all(bytes).await
}

/// What came out of a stream.
#[derive(Debug)]
enum Frame {
    Message(Message),
    /// The bytes are not a message; the next frame may be one.
    Unreadable,
    /// The frame is too long: nothing after it can be read.
    Oversized,
    /// The peer closed the stream.
    End,
}

/// Reads messages of a peer until it closes the stream, and tells the site.
pub(super) async fn read(site: SiteId, mut stream: Stream, events: mpsc::Sender<OverlayEvent>) {
    let mut pace = Pace::new(Instant::now());
    while let Ok(frame) = read_frame(&mut stream).await {
        let (event, is_last) = match frame {
            Frame::Message(message) => (OverlayEvent::Received { peer: site, message }, false),
            Frame::Unreadable => (OverlayEvent::Unreadable { peer: site }, false),
            Frame::Oversized => (OverlayEvent::Unreadable { peer: site }, true),
            Frame::End => break,
        };
        if events.send(event).await.is_err() || is_last {
            break;
        }
        sleep(pace.next(Instant::now())).await;
    }
}

async fn read_frame(stream: &mut (impl AsyncRead + Unpin)) -> io::Result<Frame> {
    let mut length = [0; 4];
    if stream.read(&mut length[..1]).await? == 0 {
        return Ok(Frame::End);
    }
    stream.read_exact(&mut length[1..]).await?;
    let length = u32::from_be_bytes(length) as usize;
    if length > MAX_MESSAGE {
        return Ok(Frame::Oversized);
    }
    // Grows with what arrives, not with what is claimed.
    let mut bytes = Vec::new();
    stream.take(length as u64).read_to_end(&mut bytes).await?;
    if bytes.len() < length {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Message::decode(&bytes).map_or(Frame::Unreadable, Frame::Message))
}

/// How fast frames are read: a bucket of tokens.
#[derive(Debug)]
struct Pace {
    tokens: f64,
    at: Instant,
}

impl Pace {
    const fn new(now: Instant) -> Self {
        Self { tokens: FRAME_BURST, at: now }
    }

    /// Counts a frame, and says how long to wait before the next one.
    fn next(&mut self, now: Instant) -> Duration {
        let passed = now.saturating_duration_since(self.at).as_secs_f64();
        self.tokens = (self.tokens + passed * FRAMES_PER_SECOND).min(FRAME_BURST) - 1.0;
        self.at = now;
        Duration::from_secs_f64((-self.tokens / FRAMES_PER_SECOND).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::io::Cursor;

    async fn frames(bytes: Vec<u8>) -> Vec<String> {
        let (mut stream, mut found) = (Cursor::new(bytes), Vec::new());
        loop {
            match read_frame(&mut stream).await {
                Ok(Frame::End) => return found,
                Ok(Frame::Oversized) => return found.into_iter().chain(["oversized".to_owned()]).collect(),
                Ok(frame) => found.push(format!("{frame:?}")),
                Err(error) => return found.into_iter().chain([error.kind().to_string()]).collect(),
            }
        }
    }

    #[tokio::test]
    async fn frames_are_read_as_they_were_written() {
        let mut bytes = Vec::new();
        write_frame(&mut bytes, &Message::Answer(vec![1, 2]).encode()).await.unwrap();
        write_frame(&mut bytes, b"garbage").await.unwrap();
        write_frame(&mut bytes, &Message::Query(vec![3]).encode()).await.unwrap();
        assert_eq!(frames(bytes).await, ["Message(Answer([1, 2]))", "Unreadable", "Message(Query([3]))"]);
    }

    #[tokio::test]
    async fn a_frame_that_claims_too_much_is_refused_before_it_is_read() {
        assert_eq!(frames(u32::MAX.to_be_bytes().to_vec()).await, ["oversized"]);
        let claim = u32::try_from(MAX_MESSAGE + 1).unwrap();
        assert_eq!(frames(claim.to_be_bytes().to_vec()).await, ["oversized"]);
        assert_eq!(frames(vec![0, 0, 0, 9, 1]).await, ["unexpected end of file"]);
        assert_eq!(frames(vec![0, 0]).await, ["unexpected end of file"]);
    }

    #[test]
    fn a_flood_is_read_at_a_steady_pace() {
        let start = Instant::now();
        let mut pace = Pace::new(start);
        assert!((0..500).all(|_| pace.next(start).is_zero()), "a burst is read at once");
        let wait = pace.next(start);
        assert!(wait > Duration::from_millis(5) && wait < Duration::from_millis(20), "{wait:?}");
        assert!(pace.next(start + Duration::from_secs(60)).is_zero(), "and so is the next one, later");
    }
}
