//! Many entries in and out: files and addresses, in batches.
//!
//! Promises: a file is read line by line, however long; each batch is on the site's disk when the next one is
//! sent, so an import that was cut off is simply run again. Every entry of the source is counted once: new,
//! updated, unchanged, joined or refused, the last with its number and the reason. Pages and catalogues of
//! others are followed to the end; a bound that stops an import is an error that says so.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write};
use std::path::Path;

use agentsite_site::ImportReport;
use serde_json::{Value, json};

use super::{Format, is_address};
use crate::cli::shell::{RunningClient, Shell, escaped, list};
use crate::exit::{CliError, Exit};
use crate::output::Style;

/// Most lines of a batch: what a site takes in one commit.
const BATCH: usize = 1_000;

/// Most bytes of a batch, below the usual limit of a request.
const BATCH_BYTES: usize = 512 << 10;

/// Longest line that is sent.
const MAX_LINE: usize = 256 << 10;

/// Largest file that is read whole: a catalogue or a server.json.
const MAX_FILE: u64 = 64 << 20;

/// How deeply catalogues may be nested.
const MAX_DEPTH: usize = 3;

/// Most pages and catalogues of one import: a million entries in pages of a hundred.
const MAX_PAGES: usize = 10_000;

/// Entries asked for at once.
const PAGE: usize = 500;

/// Columns of the bar.
const BAR: usize = 30;

/// Refused entries that are shown one by one.
const SHOWN: usize = 20;

/// What an import has done so far.
#[derive(Debug, Default)]
struct ImportSummary {
    added: usize,
    renewed: usize,
    unchanged: usize,
    joined: usize,
    /// Entries that arrived, and how many there are in all by the source's own word.
    listed: usize,
    total: Option<u64>,
    bad: Vec<(u64, String)>,
    notes: Vec<String>,
}

impl ImportSummary {
    /// Takes the answer to a batch whose entries have these numbers.
    fn take(&mut self, done: &ImportReport, numbers: &[u64]) {
        let number = |place: usize| numbers.get(place.saturating_sub(1)).copied().unwrap_or(place as u64);
        self.bad.extend(done.refused.iter().map(|one| (number(one.place), one.why.clone())));
        self.count(done);
    }

    /// Takes the answer to a page, whose entries are numbered on from those of the pages before.
    fn take_page(&mut self, done: &ImportReport) {
        let before = self.listed as u64;
        self.bad.extend(done.refused.iter().map(|one| (before + one.place as u64, one.why.clone())));
        self.notes.extend(done.note.clone());
        self.total = self.total.max(done.total);
        self.count(done);
    }

    fn count(&mut self, done: &ImportReport) {
        self.added += done.added;
        self.renewed += done.renewed;
        self.unchanged += done.unchanged;
        self.joined += done.joined;
        self.listed += done.listed;
    }

    fn check(&self, most: usize) -> Result<(), CliError> {
        if self.bad.len() <= most {
            return Ok(());
        }
        let (line, why) = &self.bad[self.bad.len() - 1];
        Err(CliError::error(format!(
            "more than {most} entries were refused (--max-bad), the last at {line}: {why}; {} new ones are \
             in the hub",
            self.added
        )))
    }

    /// What was done, in one line.
    fn words(&self) -> String {
        let joined = match self.joined {
            0 => String::new(),
            count => format!(", {count} joined as further interfaces"),
        };
        format!(
            "{} new, {} updated, {} unchanged{joined}, {} refused",
            self.added,
            self.renewed,
            self.unchanged,
            self.bad.len()
        )
    }

    /// Whether less arrived than the source says it has.
    fn missing(&self) -> Option<String> {
        let total = self.total.filter(|total| *total > self.listed as u64)?;
        Some(format!("The source states {total} entries; {} arrived.", self.listed))
    }

    fn print(&self, shell: &Shell) -> Result<Exit, CliError> {
        let refused: Vec<Value> =
            self.bad.iter().map(|(line, why)| json!({ "line": line, "why": why })).collect();
        let notes: Vec<String> = self.notes.iter().cloned().chain(self.missing()).collect();
        if shell.output.is_json() {
            shell.output.json(&json!({
                "added": self.added, "renewed": self.renewed, "unchanged": self.unchanged, "joined": self.joined,
                "listed": self.listed, "refused": refused, "notes": notes,
            }))?;
            return Ok(Exit::Ok);
        }
        for (line, why) in self.bad.iter().take(SHOWN) {
            shell.output.alert(Style::Warn, &format!("{line}: {why}"));
        }
        if self.bad.len() > SHOWN {
            let more = self.bad.len() - SHOWN;
            shell.output.alert(Style::Warn, &format!("and {more} more; --json lists all of them"));
        }
        for note in &notes {
            shell.output.alert(Style::Warn, note);
        }
        shell.output.line(&self.words())?;
        Ok(Exit::Ok)
    }
}

/// Takes everything that a source has.
pub(super) async fn import(
    shell: &Shell,
    site: &RunningClient,
    source: &str,
    max_bad: usize,
) -> Result<Exit, CliError> {
    let mut tally = ImportSummary::default();
    if is_address(source) {
        follow(site, source, max_bad, &mut tally).await?;
    } else {
        let file = Path::new(source);
        let whole = file.extension().is_some_and(|kind| kind.eq_ignore_ascii_case("json"));
        if whole {
            let document = read_json(file)?;
            let listed =
                ["entries", "items", "servers"].into_iter().find_map(|key| document[key].as_array().cloned());
            let values = listed.unwrap_or_else(|| vec![document]);
            let lines: Vec<u8> = values.iter().flat_map(|value| format!("{value}\n").into_bytes()).collect();
            send(shell, site, &mut lines.as_slice(), 0, max_bad, &mut tally).await?;
        } else {
            let opened = File::open(file).map_err(|error| CliError::file("read", file, &error))?;
            let size = opened.metadata().map_or(0, |about| about.len());
            send(shell, site, &mut BufReader::new(opened), size, max_bad, &mut tally).await?;
        }
    }
    tally.print(shell)
}

/// Sends lines in batches.
async fn send(
    shell: &Shell,
    site: &RunningClient,
    input: &mut dyn BufRead,
    size: u64,
    max_bad: usize,
    tally: &mut ImportSummary,
) -> Result<(), CliError> {
    let shows = size > 0 && !shell.output.is_json() && std::io::stderr().is_terminal();
    let (mut number, mut read, mut batch, mut numbers) = (0, 0, Vec::new(), Vec::new());
    loop {
        let mut line = Vec::new();
        let length = next_line(input, &mut line)
            .map_err(|error| CliError::error(format!("the file cannot be read: {error}")))?;
        number += 1;
        read += length;
        let full = numbers.len() >= BATCH || batch.len() + line.len() > BATCH_BYTES;
        if (length == 0 || full) && !numbers.is_empty() {
            let lines = std::mem::take(&mut batch);
            let done: ImportReport =
                site.client.post_lines("api/hub/import", lines).await.map_err(|error| site.error(&error))?;
            tally.take(&done, &std::mem::take(&mut numbers));
            tally.check(max_bad)?;
            if shows {
                show_bar(read, size, tally);
            }
        }
        if length == 0 {
            if shows {
                let _ = writeln!(std::io::stderr());
            }
            return Ok(());
        }
        if line.len() > MAX_LINE {
            tally.bad.push((number, format!("the line is longer than {MAX_LINE} bytes")));
        } else if !line.trim_ascii().is_empty() {
            batch.extend_from_slice(line.trim_ascii());
            batch.push(b'\n');
            numbers.push(number);
        }
    }
}

/// Reads one line, of which at most a little more than [`MAX_LINE`] is kept; gives how many bytes it had, 0
/// at the end.
fn next_line(input: &mut dyn BufRead, line: &mut Vec<u8>) -> std::io::Result<u64> {
    let mut length = 0;
    loop {
        let piece = input.fill_buf()?;
        if piece.is_empty() {
            return Ok(length);
        }
        let end = piece.iter().position(|byte| *byte == b'\n').map(|at| at + 1);
        let taken = end.unwrap_or(piece.len());
        let space = (MAX_LINE + 1).saturating_sub(line.len()).min(taken);
        line.extend_from_slice(&piece[..space]);
        input.consume(taken);
        length += taken as u64;
        if end.is_some() {
            return Ok(length);
        }
    }
}

fn show_bar(read: u64, size: u64, tally: &ImportSummary) {
    let part = (read as f64 / size as f64).clamp(0.0, 1.0);
    let full = (part * BAR as f64) as usize;
    let bar = format!("{}{}", "#".repeat(full), "-".repeat(BAR - full));
    let taken = tally.added + tally.renewed + tally.unchanged + tally.joined;
    let counts = format!("{taken} entries, {} refused", tally.bad.len());
    let _ = write!(std::io::stderr(), "\r[{bar}] {:>3}% {counts} ", (part * 100.0) as u32);
}

/// Lets the site take what is at an address, and at those to which it leads.
async fn follow(
    site: &RunningClient,
    source: &str,
    max_bad: usize,
    tally: &mut ImportSummary,
) -> Result<(), CliError> {
    let mut waiting = vec![(source.to_owned(), 0)];
    let mut seen: BTreeSet<String> = BTreeSet::new();
    while let Some((url, depth)) = waiting.pop() {
        if !seen.insert(url.clone()) {
            continue;
        }
        if seen.len() > MAX_PAGES {
            return Err(CliError::error(format!(
                "The source has more than {MAX_PAGES} pages, the most that one import follows. So far: {}. Import its file for the rest.",
                tally.words()
            )));
        }
        let done: Result<ImportReport, CliError> = site.post("api/hub/import", &json!({ "url": url })).await;
        let done = match done {
            Ok(done) => done,
            Err(error) if depth == 0 && seen.len() == 1 => return Err(error),
            Err(error) => {
                tally.bad.push((seen.len() as u64, format!("{url}: {error}")));
                tally.check(max_bad)?;
                continue;
            }
        };
        tally.take_page(&done);
        tally.check(max_bad)?;
        waiting.extend(done.next.map(|next| (next, depth)));
        if depth < MAX_DEPTH {
            waiting.extend(done.nested.into_iter().map(|nested| (nested, depth + 1)));
        } else if !done.nested.is_empty() {
            tally.notes.push(format!(
                "{url} names {} further catalogues, which are nested deeper than {MAX_DEPTH} levels and \
                 were not read.",
                done.nested.len()
            ));
        }
    }
    Ok(())
}

/// Writes everything that the hub has.
pub(super) async fn export(
    shell: &Shell,
    site: &RunningClient,
    format: Format,
    to: Option<&Path>,
) -> Result<Exit, CliError> {
    let mut out: Box<dyn Write> = match to {
        None => Box::new(std::io::stdout().lock()),
        Some(file) => Box::new(std::io::BufWriter::new(
            File::create(file).map_err(|error| CliError::file("write", file, &error))?,
        )),
    };
    let word = match format {
        Format::Jsonl => "listings",
        Format::Catalog => "catalog",
        Format::Servers => "servers",
    };
    let (mut after, mut count) = (None::<String>, 0_usize);
    if format == Format::Catalog {
        write!(out, "{{\"specVersion\":\"1.0\",\"entries\":[")?;
    }
    loop {
        let mut path = format!("api/hub?format={word}&limit={PAGE}");
        path.extend(after.map(|after| format!("&after={}", escaped(&after))));
        let page: Value = site.get(&path).await?;
        for entry in list(&page, "items") {
            if format == Format::Catalog {
                write!(out, "{}\n{entry}", if count == 0 { "" } else { "," })?;
            } else {
                writeln!(out, "{entry}")?;
            }
            count += 1;
        }
        after = page["next"].as_str().map(str::to_owned);
        if after.is_none() {
            break;
        }
    }
    if format == Format::Catalog {
        writeln!(out, "\n]}}")?;
    }
    out.flush()?;
    drop(out);
    if let Some(file) = to {
        shell.output.note(&format!("{count} entries written to {}", file.display()));
    }
    Ok(Exit::Ok)
}

/// Reads a JSON file.
pub(super) fn read_json(file: &Path) -> Result<Value, CliError> {
    let wrong = |error: &std::io::Error| CliError::file("read", file, error);
    let opened = File::open(file).map_err(|error| wrong(&error))?;
    let mut text = Vec::new();
    opened.take(MAX_FILE + 1).read_to_end(&mut text).map_err(|error| wrong(&error))?;
    if text.len() as u64 > MAX_FILE {
        return Err(CliError::error(format!(
            "{} is larger than {MAX_FILE} bytes; write it as JSON lines",
            file.display()
        )));
    }
    serde_json::from_slice(&text)
        .map_err(|error| CliError::error(format!("{} is not JSON: {error}", file.display())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_read_whole_and_too_long_ones_are_cut() {
        let long = "x".repeat(MAX_LINE * 2);
        let text = format!("one\n\n{long}\nlast");
        let mut input = BufReader::with_capacity(100, text.as_bytes());
        let mut read = || {
            let mut line = Vec::new();
            let length = next_line(&mut input, &mut line).unwrap();
            (length, line.len())
        };
        assert_eq!(read(), (4, 4));
        assert_eq!(read(), (1, 1));
        assert_eq!(read(), (2 * MAX_LINE as u64 + 1, MAX_LINE + 1));
        assert_eq!(read(), (4, 4));
        assert_eq!(read(), (0, 0));
    }

    #[test]
    fn a_refused_line_is_told_by_its_number_in_the_file() {
        let refused = vec![agentsite_site::RefusedEntry { place: 2, why: "no".into() }];
        let mut tally = ImportSummary::default();
        tally.take(&ImportReport { refused, added: 1, ..ImportReport::default() }, &[7, 9]);
        assert_eq!(tally.bad, [(9, "no".to_owned())]);
        assert!(tally.check(1).is_ok() && tally.check(0).is_err());
    }

    #[test]
    fn entries_of_pages_are_numbered_on_and_what_is_missing_is_told() {
        let refused = |place| vec![agentsite_site::RefusedEntry { place, why: "no".into() }];
        let page = |place| ImportReport {
            refused: refused(place),
            added: 98,
            joined: 1,
            listed: 100,
            total: Some(250),
            ..ImportReport::default()
        };
        let mut tally = ImportSummary::default();
        tally.take_page(&page(7));
        tally.take_page(&page(9));
        assert_eq!(tally.bad, [(7, "no".to_owned()), (109, "no".to_owned())]);
        assert_eq!(
            tally.words(),
            "196 new, 0 updated, 0 unchanged, 2 joined as further interfaces, 2 refused"
        );
        assert!(tally.missing().unwrap().contains("250 entries; 200 arrived"));
    }
}
