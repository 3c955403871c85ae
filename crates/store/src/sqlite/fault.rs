//! What SQLite's errors mean for the one who asked.
//!
//! Promises: a full disk and a damaged file are told apart from everything else, because people can act on
//! them. It does not decide whether the writer continues; see `writer`.

use agentsite_protocol::{Principal, UnknownPrincipal};
use rusqlite::ErrorCode;

use crate::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        if let rusqlite::Error::FromSqlConversionFailure(..) = error {
            return Self::Corrupt(error.to_string());
        }
        match error.sqlite_error_code() {
            Some(ErrorCode::DiskFull) => Self::Full,
            Some(ErrorCode::NotADatabase) => Self::Corrupt("the file is not a database of agentsite".into()),
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt(error.to_string()),
            Some(ErrorCode::DatabaseBusy) => {
                Self::Engine("another program keeps the database file locked: close it there".into())
            }
            _ => Self::Engine(error.to_string()),
        }
    }
}

/// A value in a row that no store of ours has written.
pub(super) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(what.to_string())
}

/// Reads a principal from a column.
pub(super) fn principal(row: &rusqlite::Row<'_>, column: usize) -> rusqlite::Result<Principal> {
    let text = row.get_ref(column)?.as_str()?;
    text.parse().map_err(|error: UnknownPrincipal| {
        rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
    })
}

/// A failure of the file system on one of our files.
pub(super) fn on_file(what: &str, path: &std::path::Path, error: &std::io::Error) -> StoreError {
    if error.kind() == std::io::ErrorKind::StorageFull {
        return StoreError::Full;
    }
    StoreError::Engine(format!("cannot {what} {}: {error}", path.display()))
}
