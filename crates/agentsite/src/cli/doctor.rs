//! `agentsite doctor`: looks at everything that a site needs, and names the fix for what is wrong.
//!
//! Promises: every check is a line with its result; a failed one says what to do; the exit code is 1 when any failed. It changes nothing,
//! and leaves the database alone while a site uses it. The checks themselves are in `doctor/checks.rs` and `doctor/agents.rs`.

mod agents;
mod checks;

use serde::Serialize;

use super::shell::Shell;
use crate::exit::{CliError, Exit};
use crate::output::Style;

/// How a check ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    /// All is well.
    Ok,
    /// It works, but somebody should look.
    Warn,
    /// It does not work.
    Fail,
}

/// One check and how it ended.
#[derive(Debug, Clone, Serialize)]
struct Check {
    /// What was looked at.
    name: String,
    /// How it ended.
    verdict: Verdict,
    /// What was found, and for a failed one what to do.
    words: String,
}

impl Check {
    fn new(name: impl Into<String>, verdict: Verdict, words: impl Into<String>) -> Self {
        Self { name: name.into(), verdict, words: words.into() }
    }

    fn ok(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(name, Verdict::Ok, words)
    }

    fn warn(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(name, Verdict::Warn, words)
    }

    fn fail(name: impl Into<String>, words: impl Into<String>) -> Self {
        Self::new(name, Verdict::Fail, words)
    }
}

/// Looks at everything.
pub(super) async fn run(shell: &Shell) -> Result<Exit, CliError> {
    let mut found = Vec::new();
    match shell.config_with(Vec::new()) {
        Err(error) => found.push(Check::fail("configuration", error.to_string())),
        Ok(loaded) => {
            let file = loaded
                .file
                .as_ref()
                .map_or("defaults, no file".to_owned(), |file| file.display().to_string());
            found.push(Check::ok("configuration", file));
            found.extend(loaded.warnings.iter().map(|warning| Check::warn("environment", warning)));
            found.extend(checks::machine());
            found.extend(checks::data(&loaded.config));
            let running = checks::running(shell, &loaded.config).await;
            found.extend(checks::port(&loaded.config, running));
            found.extend(checks::database(&loaded.config, running).await);
            found.extend(checks::outbox(shell, running).await);
            found.extend(agents::agents(&loaded.config, &shell.variables));
            found.extend(checks::notices(shell, running).await);
            found.extend(checks::models(&loaded.config, &shell.variables).await);
        }
    }
    report(shell, &found)?;
    let failed = found.iter().any(|check| check.verdict == Verdict::Fail);
    Ok(if failed { Exit::Error } else { Exit::Ok })
}

fn report(shell: &Shell, found: &[Check]) -> Result<(), CliError> {
    if shell.output.is_json() {
        return Ok(shell.output.json(&found)?);
    }
    for check in found {
        let (word, style) = match check.verdict {
            Verdict::Ok => ("ok  ", Style::Good),
            Verdict::Warn => ("warn", Style::Warn),
            Verdict::Fail => ("FAIL", Style::Bad),
        };
        let word = shell.output.paint(style, word);
        shell.output.line(&format!("{word}  {:<14}  {}", check.name, check.words))?;
    }
    let failed = found.iter().filter(|check| check.verdict == Verdict::Fail).count();
    let sum =
        if failed == 0 { "nothing is in the way of a site here".into() } else { format!("{failed} failed") };
    Ok(shell.output.line(&sum)?)
}
