//! Every verb of the command line, with the real binary.
//!
//! Each story uses a site of its own where it needs one. What is printed is checked as a person or a program
//! reads it: the answer on stdout, the rest on stderr, and the exit code.

mod calling;
mod conditions;
mod configuration;
mod connect;
mod copies;
mod doctor;
mod find;
mod first_steps;
mod identity;
mod keys;
mod logs;
mod pasted;
mod tasks;
pub(crate) mod terminal;
