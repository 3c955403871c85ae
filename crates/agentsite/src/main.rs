//! The binary.
//! The first real code replaces it.

fn main() {}
