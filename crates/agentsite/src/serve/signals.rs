//! The signals that a site heeds.
//!
//! Promises: SIGINT and SIGTERM ask for an orderly stop, and a second one of either ends it at once; SIGHUP
//! asks for a reload. It does nothing itself: `serve` acts.

use tokio::signal::unix::{Signal as Listener, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::exit::CliError;

/// What a signal asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Signal {
    /// Stop in order.
    Stop,
    /// Read configuration and agents again.
    Reload,
}

/// The signals of this process.
#[derive(Debug)]
pub(super) struct Signals {
    interrupt: Listener,
    terminate: Listener,
    hangup: Listener,
    /// Stops the site as a signal does.
    stop: CancellationToken,
}

impl Signals {
    /// Begins to listen; from here on the signals no longer end the process by themselves.
    pub(super) fn listen(stop: Option<CancellationToken>) -> Result<Self, CliError> {
        let listen = |kind| {
            signal(kind).map_err(|error| CliError::error(format!("cannot listen for signals: {error}")))
        };
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
            hangup: listen(SignalKind::hangup())?,
            stop: stop.unwrap_or_default(),
        })
    }

    /// Waits for the next signal, or to be stop to stop.
    pub(super) async fn next(&mut self) -> Signal {
        let stop = self.stop.clone();
        tokio::select! {
            () = stop.cancelled() => Signal::Stop,
            signal = self.signal() => signal,
        }
    }

    async fn signal(&mut self) -> Signal {
        tokio::select! {
            _ = self.interrupt.recv() => Signal::Stop,
            _ = self.terminate.recv() => Signal::Stop,
            _ = self.hangup.recv() => Signal::Reload,
        }
    }

    /// Waits for a further signal to stop.
    pub(super) async fn second(&mut self) {
        while self.signal().await != Signal::Stop {}
    }
}
