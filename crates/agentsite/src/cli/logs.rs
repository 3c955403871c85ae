//! `agentsite logs`: the log of the running site itself.
//!
//! Promises: what it prints is what the site keeps, oldest first; with `--follow` it continues until it is
//! ended, and says when it was too slow to see every line. The log of one agent is `agentsite agent logs`.

use clap::Args;
use futures::StreamExt;
use serde_json::Value;

use super::shell::{Shell, escaped, field, list};
use crate::exit::{CliError, Exit};
use crate::output::Style;

/// Arguments of `logs`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// Print new lines as they are written.
    #[arg(short, long)]
    follow: bool,
    /// Maximum number of past lines to print.
    #[arg(short = 'n', long, default_value_t = 100)]
    lines: usize,
    /// Only lines of this level or a more severe one: error, warn, info, debug or trace.
    #[arg(long, value_name = "LEVEL")]
    level: Option<String>,
    /// Only lines with this text.
    #[arg(long)]
    text: Option<String>,
}

/// Prints the log.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let Arguments { follow, lines, level, text } = arguments;
    let chosen = |name: &str, value: Option<String>| {
        value.map(|value| format!("&{name}={}", escaped(&value))).unwrap_or_default()
    };
    let path = format!("api/logs?limit={lines}{}{}", chosen("level", level), chosen("text", text));
    let site = shell.site()?;
    if !follow {
        let answer: Value = site.get(&path).await?;
        for line in list(&answer, "lines") {
            print(shell, &line)?;
        }
        return Ok(Exit::Ok);
    }
    let mut events = site.events(&path).await?;
    while let Some(event) = events.next().await {
        if let Ok(line) = serde_json::from_str::<Value>(&event?.data.unwrap_or_default()) {
            print(shell, &line)?;
        }
    }
    Err(CliError::new(Exit::NotRunning, "the site has ended the stream; it is stopping"))
}

fn print(shell: &Shell, line: &Value) -> Result<(), CliError> {
    let output = shell.output;
    if output.is_json() {
        return Ok(output.json(line)?);
    }
    if let Some(missed) = line["missed"].as_u64() {
        output.note(&format!("{missed} lines were missed; the site writes faster than this reads"));
        return Ok(());
    }
    let level = field(line, "level");
    let style = match level.as_str() {
        "error" => Style::Bad,
        "warn" => Style::Warn,
        _ => Style::Dim,
    };
    let fields: String = line["fields"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, _)| format!(" {name}={}", field(&line["fields"], name)))
        .collect();
    let level = output.paint(style, &format!("{:<5}", level.to_uppercase()));
    Ok(output.line(&format!("{} {level} {}{fields}", field(line, "at"), field(line, "text")))?)
}
