//! Facts about rooms, by example and by property.
//!
//! The wire forms are golden files in `tests/golden`.

mod forms;
mod machine;
mod property;
mod wire;
