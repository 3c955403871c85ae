//! Answers one message: reads it from stdin and prints the answer.
//!
//! Every line that is printed reaches the caller at once. An exit code other than 0 makes the task fail with
//! the last lines of stderr.

use std::io::{self, Read};

fn main() -> io::Result<()> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    println!("{}", text.to_uppercase());
    Ok(())
}
