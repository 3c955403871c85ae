//! What errors of PostgreSQL mean for the one who asked.
//!
//! Promises: an error that goes away by trying again is kept apart from one that people must act on, and the
//! latter says what to do. It does not decide how often something is tried again; see `writer`.

use agentsite_protocol::Principal;
use agentsite_store::StoreError;
use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

/// Whether the connection is gone, or the server is on its way down or up.
pub(crate) fn is_lost(error: &Error) -> bool {
    let Some(code) = error.code() else { return true };
    let going = [
        SqlState::ADMIN_SHUTDOWN,
        SqlState::CRASH_SHUTDOWN,
        SqlState::CANNOT_CONNECT_NOW,
        SqlState::IDLE_IN_TRANSACTION_SESSION_TIMEOUT,
    ];
    error.is_closed() || going.contains(code) || code.code().starts_with("08")
}

/// Whether the same statements may succeed when they are tried again: another process was faster.
pub(crate) fn is_conflict(error: &Error) -> bool {
    let conflicts = [
        SqlState::T_R_SERIALIZATION_FAILURE,
        SqlState::T_R_DEADLOCK_DETECTED,
        SqlState::UNIQUE_VIOLATION,
        SqlState::LOCK_NOT_AVAILABLE,
        SqlState::FOREIGN_KEY_VIOLATION,
    ];
    error.code().is_some_and(|code| conflicts.contains(code))
}

/// The error for callers.
pub(crate) fn told(error: &Error) -> StoreError {
    if let Some(code) = error.code() {
        let engine = |text: String| StoreError::Engine(text);
        let server = error.as_db_error().map_or_else(String::new, |db| db.message().to_owned());
        return match code {
            _ if is_lost(error) => StoreError::Unavailable(server),
            &SqlState::DISK_FULL => StoreError::Full,
            &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => engine(format!(
                "PostgreSQL refused the login ({server}): check user and password in the URL of the database, and pg_hba.conf on the server"
            )),
            &SqlState::INVALID_CATALOG_NAME => {
                engine(format!("{server}: create it with `createdb`, or name another database in the URL"))
            }
            &SqlState::TOO_MANY_CONNECTIONS => StoreError::Unavailable(format!(
                "{server}; raise max_connections of PostgreSQL or give this site fewer connections"
            )),
            &SqlState::INSUFFICIENT_PRIVILEGE => engine(format!(
                "PostgreSQL does not permit it ({server}): grant the user CREATE on the database, or make it the owner of the schema"
            )),
            &SqlState::READ_ONLY_SQL_TRANSACTION => engine(format!(
                "the server of PostgreSQL is read-only ({server}): name the primary in the URL, not a standby, and check default_transaction_read_only"
            )),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StoreError::Corrupt(server),
            &SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE => {
                StoreError::Unavailable(format!("PostgreSQL took too long: {server}"))
            }
            _ => engine(format!("PostgreSQL reports {}: {server}", code.code())),
        };
    }
    StoreError::Unavailable(chain(error))
}

/// An error with what caused it.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    text
}

/// A value in a row that no store of ours has written.
pub(crate) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(what.to_string())
}

/// Reads a principal from its column.
pub(crate) fn principal(text: &str) -> Result<Principal, StoreError> {
    text.parse().map_err(|_| damaged(format!("the principal {text}")))
}
