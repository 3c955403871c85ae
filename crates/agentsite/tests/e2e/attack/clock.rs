//! Clock: a clock that jumps deletes nothing and ends no lease.
