//! A cell of a logical copy as a column of a table takes it.
//!
//! Promises: what does not fit the type of the column is an error, never another value.

use agentsite_store::copying::Cell;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

use crate::text;

/// A cell on its way into a column.
#[derive(Debug)]
pub(super) struct ColumnValue(pub(super) Cell);

impl ToSql for ColumnValue {
    fn to_sql(
        &self,
        of: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        match (&self.0, of) {
            (Cell::Null, _) => Ok(IsNull::Yes),
            (Cell::Integer(number), &Type::INT8) => number.to_sql(of, out),
            (Cell::Integer(number), &Type::INT4) => i32::try_from(*number)?.to_sql(of, out),
            (Cell::Integer(number), &Type::INT2) => i16::try_from(*number)?.to_sql(of, out),
            (Cell::Integer(number), &Type::BOOL) => (*number != 0).to_sql(of, out),
            (Cell::Text(words), &Type::TEXT) => text::put(words).as_ref().to_sql(of, out),
            (Cell::Bytes(bytes), &Type::BYTEA) => bytes.to_sql(of, out),
            _ => Err(format!("a value of the copy does not fit a column of type {of}").into()),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}
