//! The names of the methods that a program and a site exchange.
//!
//! Promises: each name is written here once. What comes with a method is known by `read` and `write`.

/// A program introduces itself.
pub(super) const REGISTER: &str = "agent/register";
/// The site says something to the people behind a program.
pub(super) const NOTICE: &str = "agent/notice";
/// A program reports progress of a task.
pub(super) const STEP: &str = "task/step";
/// A program has ended a task.
pub(super) const END: &str = "task/end";
/// The site gives a program a task.
pub(super) const RUN: &str = "task/run";
/// The site takes a task back.
pub(super) const CANCEL: &str = "task/cancel";
/// A program asks whether the site is there.
pub(super) const PING: &str = "ping";
