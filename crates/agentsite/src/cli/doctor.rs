//! `agentsite doctor`: looks at everything that a site needs, and names the fix for what is wrong.
//!
//! Promises: the exit code is 1 when any check failed. The checks are in `crate::doctor`, which a running
//! site uses as well.

use serde_json::Value;

use super::shell::Shell;
use crate::config::Config;
use crate::doctor::{Check, Running, Verdict, examine, unreadable};
use crate::exit::{CliError, Exit};
use crate::instance::DataFolder;
use crate::output::Style;

/// Looks at everything.
pub(super) async fn run(shell: &Shell) -> Result<Exit, CliError> {
    let found = match shell.config_with(Vec::new()) {
        Err(error) => unreadable(&error),
        Ok(loaded) => examine(&loaded, &shell.variables, &running(shell, &loaded.config).await).await,
    };
    report(shell, &found)?;
    let failed = found.iter().any(|check| check.verdict == Verdict::Fail);
    Ok(if failed { Exit::Error } else { Exit::Ok })
}

/// Whether a site runs on this data folder, and what it says. Only the process that holds the data is this
/// site: any other server at its address is another one.
async fn running(shell: &Shell, config: &Config) -> Running {
    let data = DataFolder::at(&config.data);
    if !data.is_in_use() {
        return Running::No;
    }
    let url = data.announced().map(|site| site.url);
    let status = match shell.site() {
        Ok(site) => site.get::<Value>("api/status").await.ok(),
        Err(_) => None,
    };
    Running::Yes { url, status }
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
    let sum = if failed == 0 { "no problem was found".into() } else { format!("{failed} failed") };
    Ok(shell.output.line(&sum)?)
}
