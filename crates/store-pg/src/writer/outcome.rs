//! The outcome of a commit whose answer was lost.
//!
//! Promises: says "committed" or "not committed" only when the server does, asked by the number of the
//! transaction and by what it must have left: after a failover a number may be another transaction's. A
//! standby that is not promoted yet does not know the outcome and is asked again. A transaction that is
//! still open is waited for, then its connection is ended. When the server does not answer in time the
//! outcome stays unknown and is reported as such: the caller's repeat is then recognised by its guards.
//! It changes no data.

use std::time::{Duration, Instant};

use agentsite_store::StoreError;
use tokio::time::sleep;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::Sent;
use crate::fault::told;
use crate::session::Session;
use crate::settings::Target;
use crate::tls::Tls;

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(50);

/// Looks at an open transaction before its connection is ended: the server notices a dead client by itself,
/// unless the network swallows it.
const LOOKS: usize = 10;

/// Least time for the search, however long the group has been tried before.
const LEAST: Duration = Duration::from_secs(5);

/// Whether the transaction was committed.
pub(crate) async fn is_committed(
    target: &Target,
    tls: &Tls,
    commit: &Sent,
    until: Instant,
) -> Result<bool, StoreError> {
    let until = until.max(Instant::now() + LEAST);
    loop {
        let why = match ask(target, tls, commit).await {
            Ok(Some(committed)) => return Ok(committed),
            Ok(None) => "the server is a standby".to_owned(),
            Err(error) => match told(&error) {
                StoreError::Unavailable(why) => why,
                other if Instant::now() > until => return Err(other),
                other => other.to_string(),
            },
        };
        if Instant::now() > until {
            return Err(StoreError::Unavailable(format!(
                "{why}; whether the last change was kept is not known, a repeat of the same message is recognised"
            )));
        }
        sleep(LOOK).await;
    }
}

/// Whether the transaction was committed; none from a server that does not know yet.
async fn ask(target: &Target, tls: &Tls, commit: &Sent) -> Result<Option<bool>, Error> {
    let session = Session::open(target, tls, None).await?;
    let standby = session.first("SELECT pg_is_in_recovery()", &[]).await?;
    if standby.is_some_and(|row| row.get(0)) {
        return Ok(None);
    }
    for look in 0_usize.. {
        let status = session.first("SELECT pg_xact_status($1::text::xid8)", &[&commit.transaction]).await;
        let status: Option<String> = match status {
            Ok(row) => row.and_then(|row| row.get(0)),
            // A server that has never seen the number was restored or promoted without the transaction.
            Err(error) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => return Ok(Some(false)),
            Err(error) => return Err(error),
        };
        match status.as_deref() {
            Some("committed") => return commit.trace.is_there(&session).await.map(Some),
            Some("in progress") => {
                if look == LOOKS {
                    session.execute("SELECT pg_terminate_backend($1)", &[&commit.pid]).await?;
                }
                sleep(LOOK).await;
            }
            _ => return Ok(Some(false)),
        }
    }
    Ok(Some(false))
}
