//! `agentsite find`: asks the running site which agents fit a request in plain language.
//!
//! Promises: matches come with their scores and one line of why; `--explain` shows the parts of each score.
//! An error in the query is reported before the site is asked. When nothing fits, the exit code says so.
//! It ranks nothing itself.

mod filter;
mod watch;

use agentsite_protocol::{MAX_MATCHES, Match, Query, Reach};
use agentsite_site::{CellCoverage, Coverage, Matches};
use clap::Args;

use super::shell::Shell;
use crate::exit::{CliError, Exit};
use crate::output::Style;

/// Longest description in the table, in characters: with score, name and reason a line still fits a wide
/// terminal.
const DESCRIPTION: usize = 60;

/// Arguments of `find`.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// What you need, in plain language.
    #[arg(required = true, value_name = "QUERY")]
    words: Vec<String>,
    /// What a match must be: tag, protocol, input, output, region, owner, live, max-price or min-trust, such
    /// as `tag=math`. The same key again is an alternative, another key a further condition.
    #[arg(short, long = "filter", value_name = "KEY=VALUE")]
    filters: Vec<String>,
    /// How many matches.
    #[arg(short, long = "k", value_name = "N", default_value_t = agentsite_protocol::DEFAULT_MATCHES)]
    k: usize,
    /// Skip this many of the best matches, for the next page.
    #[arg(long, value_name = "N", default_value_t = 0)]
    offset: usize,
    /// Ask the registries in `site.upstreams`, too.
    #[arg(short, long)]
    wide: bool,
    /// Show the parts of each score.
    #[arg(long)]
    explain: bool,
    /// Keep running and print matching agents as they appear, until Ctrl-C.
    #[arg(long, conflicts_with_all = ["explain", "offset", "k", "wide"])]
    watch: bool,
}

/// Asks the site.
pub(super) async fn run(shell: &Shell, arguments: Arguments) -> Result<Exit, CliError> {
    let query = arguments.query()?;
    if arguments.watch {
        return watch::run(shell, query).await;
    }
    let found: Matches = shell.site()?.post("api/find", &query).await?;
    if shell.output.is_json() {
        shell.output.json(&found)?;
    } else if arguments.explain {
        found.matches.iter().try_for_each(|one| explain(shell, one))?;
    } else if !found.matches.is_empty() {
        table(shell, &found.matches)?;
    }
    if let Some(without) = &found.without {
        shell.output.alert(Style::Warn, &format!("left out of the scores: {without}"));
    }
    if let Some(coverage) = &found.coverage {
        print_coverage(shell, coverage);
    }
    if let Some(cells) = &found.cells {
        print_cells(shell, cells);
    }
    if !found.matches.is_empty() {
        return Ok(Exit::Ok);
    }
    let looked = found.considered;
    shell.output.note(&format!("no agent fits, of {looked} that passed the filters; rephrase the query"));
    Ok(Exit::NotFound)
}

/// How the key of a site begins in the ids of its agents.
const SITE_KEY: &str = "z6Mk";

/// Letters of that key that are shown: eight of them differ from site to site.
const SITE_LETTERS: usize = 12;

impl Arguments {
    fn query(&self) -> Result<Query, CliError> {
        if !(1..=MAX_MATCHES).contains(&self.k) {
            return Err(CliError::usage(format!("--k: give a number from 1 to {MAX_MATCHES}")));
        }
        let filter =
            filter::read(&self.filters).map_err(|what| CliError::usage(format!("--filter: {what}")))?;
        let (limit, offset) = (Some(self.k), self.offset);
        let reach = if self.wide { Reach::Upstreams } else { Reach::Here };
        let query = Query { text: self.words.join(" "), filter, limit, offset, reach };
        query.check().map_err(|error| CliError::usage(error.to_string()))?;
        Ok(query)
    }
}

fn table(shell: &Shell, matches: &[Match]) -> Result<(), CliError> {
    let row = |one: &Match| {
        vec![format!("{:.3}", one.score), callable(one), one.why(), short(&one.description, DESCRIPTION)]
    };
    let rows: Vec<Vec<String>> = matches.iter().map(row).collect();
    Ok(shell.output.table(&["SCORE", "AGENT", "WHY", "WHAT IT DOES"], &rows)?)
}

/// By what an agent is called with `agentsite call`: one of another site in the mesh with that site.
fn callable(one: &Match) -> String {
    let parts: Vec<&str> = one.id.split(':').collect();
    match parts.as_slice() {
        ["urn", "air", site, "agents", name] if site.starts_with(SITE_KEY) && one.source.is_none() => {
            format!("{name}@{}", site.chars().take(SITE_LETTERS).collect::<String>())
        }
        _ => one.name.clone(),
    }
}

/// Which registries elsewhere answered.
fn print_coverage(shell: &Shell, coverage: &Coverage) {
    for failed in &coverage.failed {
        shell.output.alert(Style::Warn, &format!("{} did not answer: {}", failed.registry, failed.why));
    }
    shell.output.note(&match coverage.asked {
        0 => "no other registry was asked; name some in site.upstreams".to_owned(),
        asked => format!("{} of {asked} other registries answered", coverage.answered),
    });
}

/// Which cells of the mesh were searched.
fn print_cells(shell: &Shell, cells: &CellCoverage) {
    let CellCoverage { cells, local, asked, answered, omitted } = *cells;
    let searched = local + answered;
    shell.output.note(&format!("searched {searched} of {cells} cells of the mesh, {local} of them here"));
    if answered < asked {
        let silent = asked - answered;
        shell.output.alert(Style::Warn, &format!("no site answered for {silent} of {asked} cells"));
    }
    if omitted > 0 {
        shell.output.note(&format!("{omitted} answers left out what others had"));
    }
}

/// One match with the parts of its score, a line for each.
fn explain(shell: &Shell, one: &Match) -> Result<(), CliError> {
    let reason = &one.reason;
    let source = one.source.clone().unwrap_or_default();
    let figure = |text: String| if source.is_empty() { text } else { String::new() };
    let parts = [
        ("what", one.description.clone()),
        ("id", one.id.clone()),
        ("card", one.card.clone().unwrap_or_default()),
        ("meaning", figure(format!("{:.3}", reason.meaning))),
        ("words", figure(format!("{:.3}", reason.words))),
        ("trust", figure(format!("× {:.3}", reason.trust))),
        ("skill", reason.skill.clone().unwrap_or_default()),
        ("passage", reason.passage.clone().unwrap_or_default()),
        ("matched", reason.matched.join(", ")),
        ("newcomer", if reason.newcomer { "yes".into() } else { String::new() }),
        ("model", reason.model.clone()),
        ("source", source.clone()),
    ];
    let heading = format!("{:.3}  {}\n", one.score, one.name);
    shell.output.piece(&heading)?;
    for (name, value) in parts.into_iter().filter(|(_, value)| !value.is_empty()) {
        shell.output.piece(&format!("  {name:<9} {}\n", value.replace('\n', " ")))?;
    }
    Ok(())
}

/// A text that fits a column.
fn short(text: &str, most: usize) -> String {
    if text.chars().count() <= most {
        return text.to_owned();
    }
    text.chars().take(most - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str], k: usize) -> Result<Query, CliError> {
        let words = words.iter().map(|word| (*word).to_owned()).collect();
        let filters = vec!["tag=math".into()];
        Arguments { words, filters, k, offset: 0, wide: false, explain: false, watch: false }.query()
    }

    #[test]
    fn a_query_may_be_written_without_quotes() {
        let query = asked(&["work", "out", "a", "sum"], 3).unwrap();
        assert_eq!((query.text.as_str(), query.limit()), ("work out a sum", 3));
        assert_eq!(query.filter.tags, ["math"]);
    }

    #[test]
    fn what_cannot_be_asked_is_an_error_of_the_command_line() {
        for (words, k) in [(vec!["!?"], 3), (vec!["x"], 0), (vec!["x"], MAX_MATCHES + 1)] {
            assert_eq!(asked(&words, k).unwrap_err().exit(), Exit::Usage, "{words:?} {k}");
        }
        let long = "x".repeat(1 << 20);
        assert!(asked(&[&long], 3).unwrap_err().to_string().contains("few sentences"));
    }

    #[test]
    fn a_long_description_is_cut_between_letters() {
        assert_eq!(short("größer", 6), "größer");
        assert_eq!(short("größer!", 6), "größe…");
    }
}
