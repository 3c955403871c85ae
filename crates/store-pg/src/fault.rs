//! What errors of PostgreSQL mean for the one who asked.
//!
//! Promises: an error that goes away by trying again is kept apart from one that people must act on, and the
//! latter says what to do. It does not decide how often something is tried again; see `writer`.

use agentsite_protocol::Principal;
use agentsite_store::StoreError;
use rustls::CertificateError;
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
        // A standby that is about to be promoted, or a primary that was replaced.
        SqlState::READ_ONLY_SQL_TRANSACTION,
        // A crowd goes away, as a restart does.
        SqlState::TOO_MANY_CONNECTIONS,
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
            &SqlState::READ_ONLY_SQL_TRANSACTION => StoreError::Unavailable(format!(
                "the server of PostgreSQL is read-only ({server}): name the primary in the URL, not a standby, and check default_transaction_read_only"
            )),
            &SqlState::TOO_MANY_CONNECTIONS => StoreError::Unavailable(format!(
                "{server}; raise max_connections of PostgreSQL or give this site fewer connections"
            )),
            _ if is_lost(error) => StoreError::Unavailable(server),
            &SqlState::DISK_FULL => StoreError::Full,
            &SqlState::INVALID_PASSWORD | &SqlState::INVALID_AUTHORIZATION_SPECIFICATION => engine(format!(
                "PostgreSQL refused the login ({server}): check user and password in the URL of the database, and pg_hba.conf on the server"
            )),
            &SqlState::INVALID_CATALOG_NAME => {
                engine(format!("{server}: create it with `createdb`, or name another database in the URL"))
            }
            &SqlState::INSUFFICIENT_PRIVILEGE => engine(format!(
                "PostgreSQL does not permit it ({server}): grant the user CREATE on the database, or make it the owner of the schema"
            )),
            &SqlState::DATA_CORRUPTED | &SqlState::INDEX_CORRUPTED => StoreError::Corrupt(server),
            &SqlState::QUERY_CANCELED | &SqlState::LOCK_NOT_AVAILABLE => {
                StoreError::Unavailable(format!("PostgreSQL took too long: {server}"))
            }
            _ => engine(format!("PostgreSQL reports {}: {server}", code.code())),
        };
    }
    by_tls(error).map_or_else(|| StoreError::Unavailable(chain(error)), StoreError::Engine)
}

/// What is wrong with TLS to the server, when that is it: waiting does not help, only people can.
fn by_tls(error: &Error) -> Option<String> {
    let text = chain(error);
    if text.contains("server does not support TLS") {
        return Some(
            "the server of PostgreSQL does not offer TLS, which sslmode asks for: set `ssl = on` with a certificate on the server, or write sslmode=prefer where the network is safe"
                .into(),
        );
    }
    let refused = causes(error).find_map(refused_certificate)?;
    Some(match refused {
        CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. } => format!(
            "the certificate of the server of PostgreSQL is for another name ({text}): write the name of the certificate as the host of the URL, or give the server a certificate for this name"
        ),
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => {
            format!(
                "the certificate of the server of PostgreSQL has expired ({text}): renew it on the server"
            )
        }
        _ => format!(
            "the certificate of the server of PostgreSQL is not trusted ({text}): name the file of its issuer with sslrootcert in the URL, and check that this is the right server"
        ),
    })
}

/// Why a certificate was refused, when this error says so.
fn refused_certificate<'a>(cause: &'a (dyn std::error::Error + 'static)) -> Option<&'a CertificateError> {
    let inner = cause.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
    let refused = inner.and_then(|inner| inner.downcast_ref::<rustls::Error>());
    match refused.or_else(|| cause.downcast_ref())? {
        rustls::Error::InvalidCertificate(why) => Some(why),
        _ => None,
    }
}

/// An error, what caused it, what caused that.
fn causes<'a>(
    error: &'a (dyn std::error::Error + 'static),
) -> impl Iterator<Item = &'a (dyn std::error::Error + 'static)> {
    std::iter::successors(Some(error), |error| error.source())
}

/// An error with what caused it.
fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    causes(error).map(ToString::to_string).collect::<Vec<_>>().join(": ")
}

/// A value in a row that no store of ours has written.
pub(crate) fn damaged(what: impl std::fmt::Display) -> StoreError {
    StoreError::Corrupt(what.to_string())
}

/// Reads a principal from its column.
pub(crate) fn principal(text: &str) -> Result<Principal, StoreError> {
    text.parse().map_err(|_| damaged(format!("the principal {text}")))
}
