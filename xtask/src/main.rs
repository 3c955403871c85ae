//! The workspace's chores, run as `cargo xtask <command>`.
//!
//! Promises: every command says what it does before it does it, prints what it found and where, and ends with
//! exit code 0 only when everything it names is in order (1: something was found or failed, 2: the command
//! line is wrong). It deliberately knows nothing about the product beyond its file layout, and pulls in no
//! heavy dependency, because it is compiled at the start of every CI run.
#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command line tool talks on its standard streams"
)]

mod advisories;
mod arguments;
mod attack;
mod built;
mod cost;
mod crash;
mod debian;
mod deps;
mod failure;
mod fuzz;
mod generate;
mod histories;
mod lint;
mod metadata;
mod model;
mod node;
mod python;
mod retrieval;
mod sim;
mod stages;
mod test;
mod tidy;
mod tools;
mod web;
mod workspace;

use std::process::ExitCode;

use crate::arguments::Arguments;
use crate::failure::{Failure, Outcome};
use crate::workspace::Workspace;

/// One sub-command: its name, its line in the overview, its own help text, and what it does.
struct Chore {
    name: &'static str,
    summary: &'static str,
    help: &'static str,
    run: fn(&Workspace, Arguments) -> Outcome,
}

/// Every sub-command, in the order of the overview.
const CHORES: &[Chore] = &[
    Chore { name: "test", summary: "set up and run every test stage", help: test::HELP, run: test::run },
    Chore {
        name: "lint",
        summary: "format, spelling, tidy, deps, advisories, cost, clippy, docs, generated files",
        help: lint::HELP,
        run: lint::run,
    },
    Chore { name: "tidy", summary: "check the house rules", help: tidy::HELP, run: tidy::run },
    Chore { name: "deps", summary: "check licences and doubled crates", help: deps::HELP, run: deps::run },
    Chore {
        name: "generate",
        summary: "write the generated files",
        help: generate::HELP,
        run: generate::run,
    },
    Chore { name: "web", summary: "build and check the pages", help: web::HELP, run: web::run },
    Chore {
        name: "crash",
        summary: "kill the server many times under load",
        help: crash::HELP,
        run: crash::run,
    },
    Chore {
        name: "histories",
        summary: "compare the stores by many random histories",
        help: histories::HELP,
        run: histories::run,
    },
    Chore { name: "attack", summary: "attack the release binary", help: attack::HELP, run: attack::run },
    Chore {
        name: "model",
        summary: "make the files of the sentence encoder",
        help: model::HELP,
        run: model::run,
    },
    Chore {
        name: "retrieval",
        summary: "measure how well agents are found",
        help: retrieval::HELP,
        run: retrieval::run,
    },
    Chore {
        name: "sim",
        summary: "simulate the mesh, with tables and plots",
        help: sim::HELP,
        run: sim::run,
    },
    Chore { name: "fuzz", summary: "feed the decoders random bytes", help: fuzz::HELP, run: fuzz::run },
];

fn main() -> ExitCode {
    let mut words = std::env::args().skip(1);
    let name = words.next().unwrap_or_else(|| "--help".to_owned());
    if matches!(name.as_str(), "-h" | "--help" | "help") {
        println!("{}", overview());
        return ExitCode::SUCCESS;
    }
    let Some(chore) = CHORES.iter().find(|chore| chore.name == name) else {
        eprintln!("error: there is no command `{name}`\n\n{}", overview());
        return ExitCode::from(2);
    };
    let mut arguments = Arguments::new(words);
    if arguments.flag("-h") || arguments.flag("--help") {
        println!("{}", chore.help);
        return ExitCode::SUCCESS;
    }
    match (chore.run)(&Workspace::here(), arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Usage(sentence)) => {
            eprintln!("error: {sentence}\n\n{}", chore.help);
            ExitCode::from(2)
        }
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn overview() -> String {
    let mut text = "usage: cargo xtask <command> [options]\n\n".to_owned();
    for chore in CHORES {
        text.push_str(&format!("  {:<11}{}\n", chore.name, chore.summary));
    }
    text.push_str("\n`cargo xtask <command> --help` explains one command");
    text
}
