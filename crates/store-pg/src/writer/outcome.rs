//! The outcome of a commit whose answer was lost.
//!
//! Promises: says "committed" or "not committed" only when the server does, asked by the number of the
//! transaction. A transaction that is still open is waited for, then its connection is ended. When the server
//! does not answer in time the outcome stays unknown and is reported as such: the caller's repeat is then
//! recognised by its guards. It changes no data.

use std::time::{Duration, Instant};

use agentsite_store::StoreError;
use tokio::time::sleep;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

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
pub(super) async fn is_committed(
    target: &Target,
    tls: &Tls,
    transaction: &str,
    pid: i32,
    until: Instant,
) -> Result<bool, StoreError> {
    let until = until.max(Instant::now() + LEAST);
    loop {
        match ask(target, tls, transaction, pid).await {
            Ok(committed) => return Ok(committed),
            Err(error) if Instant::now() > until => {
                let StoreError::Unavailable(why) = told(&error) else { return Err(told(&error)) };
                return Err(StoreError::Unavailable(format!(
                    "{why}; whether the last change was kept is not known, a repeat of the same message is recognised"
                )));
            }
            Err(_) => sleep(LOOK).await,
        }
    }
}

async fn ask(target: &Target, tls: &Tls, transaction: &str, pid: i32) -> Result<bool, Error> {
    let session = Session::open(target, tls, None).await?;
    for look in 0_usize.. {
        let status = session.first("SELECT pg_xact_status($1::text::xid8)", &[&transaction]).await;
        let status: Option<String> = match status {
            Ok(row) => row.and_then(|row| row.get(0)),
            // A server that has never seen the number was restored or promoted without the transaction.
            Err(error) if error.code() == Some(&SqlState::INVALID_PARAMETER_VALUE) => return Ok(false),
            Err(error) => return Err(error),
        };
        match status.as_deref() {
            Some("committed") => return Ok(true),
            Some("in progress") => {
                if look == LOOKS {
                    session.execute("SELECT pg_terminate_backend($1)", &[&pid]).await?;
                }
                sleep(LOOK).await;
            }
            _ => return Ok(false),
        }
    }
    Ok(false)
}
