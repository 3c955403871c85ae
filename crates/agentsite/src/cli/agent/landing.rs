//! CallbackListener: the port of this machine to which a browser comes back from a login.
//!
//! Promises: it listens on the loopback address only, for one answer that bears the right state; every other
//! caller gets an error and changes nothing. What it reads is bounded. It does not finish the login, and it
//! writes no log: the address that it reads is secret.

use std::net::Ipv4Addr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use url::Url;

use crate::exit::CliError;
use crate::output::Output;

/// Where the browser comes back to.
const PATH: &str = "/callback";

/// Longest head of a request that is read: codes are short, some authorization servers add a page of
/// parameters.
const MAX_HEAD: usize = 32 << 10;

/// How long a browser may take to send its request; one that only keeps a connection ready sends none.
const MAX_WAIT: Duration = Duration::from_secs(10);

/// Most browsers that are listened to at once.
const MAX_VISITORS: usize = 16;

/// The port to which a browser comes back.
#[derive(Debug)]
pub(super) struct CallbackListener {
    listener: TcpListener,
    redirect: Url,
}

/// A browser that came back with the answer and waits for a page.
#[derive(Debug)]
pub(super) struct WaitingBrowser {
    stream: TcpStream,
    /// The address it requested.
    pub(super) address: Url,
}

impl CallbackListener {
    /// Listens on this port, or on one that is free when it is zero.
    ///
    /// # Errors
    /// [`CliError`] when the port is not available.
    pub(super) async fn open(port: u16) -> Result<Self, CliError> {
        let taken = |error| {
            CliError::error(format!("cannot listen on port {port}: {error}; choose another with --port"))
        };
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port)).await.map_err(taken)?;
        let port = listener.local_addr()?.port();
        let redirect = format!("http://127.0.0.1:{port}{PATH}");
        Ok(Self { listener, redirect: redirect.parse().map_err(|_| CliError::error(redirect))? })
    }

    /// The address to which the browser is sent.
    pub(super) const fn redirect(&self) -> &Url {
        &self.redirect
    }

    /// Waits for the browser that bears this state.
    pub(super) async fn visitor(&self, state: &str, output: Output) -> Result<WaitingBrowser, CliError> {
        let mut visitors = JoinSet::new();
        loop {
            tokio::select! {
                came = self.listener.accept(), if visitors.len() < MAX_VISITORS => {
                    let redirect = self.redirect.clone();
                    visitors.spawn(read(came?.0, redirect));
                }
                Some(read) = visitors.join_next() => {
                    let Ok(Some(visitor)) = read else { continue };
                    if is_answer(&visitor.address, &self.redirect, state) {
                        return Ok(visitor);
                    }
                    if visitor.address.path() == PATH {
                        output.note("received an answer to another login (its state differs); still waiting");
                    }
                    visitor.respond(false, "This is not the answer to the current login.").await;
                }
            }
        }
    }
}

impl WaitingBrowser {
    /// Shows a last page and hangs up.
    pub(super) async fn respond(mut self, well: bool, words: &str) {
        let status = if well { "200 OK" } else { "400 Bad Request" };
        let words = words.replace('&', "&amp;").replace('<', "&lt;");
        let page = format!("<!doctype html><meta charset=utf-8><title>agentsite</title><p>{words}</p>\n");
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: {}\r\n\
             Cache-Control: no-store\r\nReferrer-Policy: no-referrer\r\nConnection: close\r\n\r\n",
            page.len()
        );
        // A browser that is gone has seen enough.
        let _ = self.stream.write_all(format!("{head}{page}").as_bytes()).await;
        let _ = self.stream.shutdown().await;
    }
}

/// Whether this address is the answer to the login with this state.
pub(super) fn is_answer(address: &Url, redirect: &Url, state: &str) -> bool {
    let same =
        |name: &str, value: &str| address.query_pairs().any(|(key, given)| key == name && given == value);
    address.path() == redirect.path() && same("state", state)
}

/// Reads what a browser asks for; nothing when it is none.
async fn read(mut stream: TcpStream, redirect: Url) -> Option<WaitingBrowser> {
    let mut head = Vec::new();
    let reading = async {
        while !head.windows(4).any(|end| end == b"\r\n\r\n") && head.len() < MAX_HEAD {
            if stream.read_buf(&mut head).await.ok()? == 0 {
                return None;
            }
        }
        Some(())
    };
    tokio::time::timeout(MAX_WAIT, reading).await.ok()??;
    let line = std::str::from_utf8(head.split(|byte| *byte == b'\r').next()?).ok()?;
    let target = line.strip_prefix("GET ")?.split(' ').next()?;
    if !target.starts_with('/') || target.starts_with("//") {
        return None;
    }
    Some(WaitingBrowser { stream, address: redirect.join(target).ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn visit(landing: &CallbackListener, request: &str) -> TcpStream {
        let port = landing.redirect().port().unwrap();
        let mut stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).await.unwrap();
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    }

    async fn page(mut stream: TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).await.unwrap();
        text
    }

    #[tokio::test]
    async fn only_the_answer_with_the_right_state_counts() {
        let landing = CallbackListener::open(0).await.unwrap();
        let output = Output::new(false, false, true);
        let silent = visit(&landing, "").await;
        let stray = visit(&landing, "GET /favicon.ico HTTP/1.1\r\n\r\n").await;
        let wrong = visit(&landing, "GET /callback?code=c&state=other HTTP/1.1\r\n\r\n").await;
        let nonsense = visit(&landing, "\u{0}\u{1}\r\n\r\n").await;
        let (came, pages) = tokio::join!(landing.visitor("st", output), async {
            let pages = [page(stray).await, page(wrong).await];
            drop((nonsense, silent));
            let right = visit(&landing, "GET /callback?code=c%3C&state=st HTTP/1.1\r\nHost: x\r\n\r\n").await;
            (pages, right)
        });
        let (pages, right) = pages;
        assert!(
            pages.iter().all(|page| page.contains("400") && page.contains("not the answer")),
            "{pages:?}"
        );
        let came = came.unwrap();
        assert_eq!(came.address.query(), Some("code=c%3C&state=st"));
        came.respond(true, "Logged in <b>.").await;
        let answer = page(right).await;
        assert!(answer.starts_with("HTTP/1.1 200 OK") && answer.contains("Logged in &lt;b>."), "{answer}");
    }

    #[test]
    fn an_answer_bears_the_path_and_the_state() {
        let redirect: Url = "http://127.0.0.1:9/callback".parse().unwrap();
        let fits = |text: &str| is_answer(&text.parse().unwrap(), &redirect, "a b");
        assert!(fits("http://127.0.0.1:9/callback?code=x&state=a+b"));
        assert!(fits("http://127.0.0.1:9/callback?error=access_denied&state=a%20b"));
        assert!(!fits("http://127.0.0.1:9/callback?code=x"));
        assert!(!fits("http://127.0.0.1:9/other?code=x&state=a+b"));
    }
}
