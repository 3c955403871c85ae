//! A socket between store and server that can be cut at a chosen moment.
//!
//! Promises: forwards everything; cuts once, when a client sends the words it waits for, before or after they
//! went on; later connections are whole again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};

/// The name of a server's socket.
const SOCKET: &str = ".s.PGSQL.5432";

/// How long the server gets to do what the words ask for, before the connection is cut.
const DONE: Duration = Duration::from_millis(150);

/// A proxy; dropping it ends it.
pub(super) struct Proxy {
    folder: TempDir,
    armed: Arc<AtomicBool>,
    pub(super) cut: Arc<AtomicBool>,
    task: tokio::task::JoinHandle<()>,
}

impl Proxy {
    /// Listens; `forwards` says whether the words reach the server before the cut.
    pub(super) fn start(server: &Path, words: &'static [u8], forwards: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join(SOCKET)).unwrap();
        let (armed, cut) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let (server, rule) =
            (server.join(SOCKET), Rule { words, forwards, armed: armed.clone(), cut: cut.clone() });
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(forward(client, server.clone(), rule.clone()));
            }
        });
        Self { folder, armed, cut, task }
    }

    pub(super) fn folder(&self) -> PathBuf {
        self.folder.path().to_owned()
    }

    /// From now on the words cut the connection, once.
    pub(super) fn arm(&self) {
        self.armed.store(true, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct Rule {
    words: &'static [u8],
    forwards: bool,
    armed: Arc<AtomicBool>,
    cut: Arc<AtomicBool>,
}

async fn forward(client: UnixStream, server: PathBuf, rule: Rule) {
    let server = UnixStream::connect(server).await.unwrap();
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.into_split(), server.into_split());
    let back = async move { tokio::io::copy(&mut from_server, &mut to_client).await.map(drop) };
    let forth = async move {
        let mut buffer = vec![0; 65_536];
        loop {
            let read = from_client.read(&mut buffer).await?;
            if read == 0 {
                return std::io::Result::Ok(false);
            }
            let sent = &buffer[..read];
            let meant = sent.windows(rule.words.len()).any(|part| part == rule.words);
            let cuts = meant && rule.armed.swap(false, Ordering::SeqCst);
            if cuts && rule.forwards {
                to_server.write_all(sent).await?;
            }
            if cuts {
                rule.cut.store(true, Ordering::SeqCst);
                return Ok(true);
            }
            to_server.write_all(sent).await?;
        }
    };
    tokio::pin!(back);
    tokio::select! {
        biased;
        cut = forth => {
            if matches!(cut, Ok(true)) {
                // The answer is not passed on; the server has time to finish.
                // tidy: waits because the server has no way to say that it has committed
                tokio::time::sleep(DONE).await;
            }
        }
        _ = &mut back => {}
    }
}
