//! The file `tools.lock` in an agent's folder: the tools of its server as they were approved.
//!
//! Promises: readable, in a fixed order, fit for version control; written atomically. It decides nothing.

use std::collections::BTreeMap;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

use serde::{Deserialize, Serialize};

/// Its name.
pub(super) const FILE: &str = "tools.lock";

/// Longest file that is read: thousands of tools.
const MAX_FILE: u64 = 4 << 20;

/// Its first line, for people.
const HEADER: &str =
    "# The tools of this agent as approved; written by agentsite, see `agentsite agent tools`.\n";

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Lock {
    tools: BTreeMap<String, String>,
}

/// What was approved, by name; `None` when there is no file yet.
pub(super) fn read(folder: &Path) -> Result<Option<BTreeMap<String, String>>, String> {
    let mut text = String::new();
    let reading =
        std::fs::File::open(folder.join(FILE)).and_then(|file| file.take(MAX_FILE).read_to_string(&mut text));
    match reading {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unusable(&error.to_string())),
        Ok(_) => {}
    }
    let lock: Lock = toml::from_str(&text).map_err(|error| unusable(error.message()))?;
    Ok(Some(lock.tools))
}

fn unusable(why: &str) -> String {
    format!("{FILE} cannot be read ({why}); no tool counts as approved, remove the file to start over")
}

/// Writes what is approved, at once.
pub(super) fn write(folder: &Path, tools: &BTreeMap<String, String>) -> io::Result<()> {
    let lock = Lock { tools: tools.clone() };
    let text = toml::to_string_pretty(&lock).map_err(io::Error::other)?;
    let draft = folder.join(format!(".{FILE}.new"));
    std::fs::write(&draft, format!("{HEADER}{text}"))?;
    std::fs::rename(&draft, folder.join(FILE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_people_can_read_it_too() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(read(folder.path()).unwrap(), None);
        let tools = BTreeMap::from([("b.c d".into(), "sha256:2".into()), ("a".into(), "sha256:1".into())]);
        write(folder.path(), &tools).unwrap();
        assert_eq!(read(folder.path()).unwrap(), Some(tools));
        let text = std::fs::read_to_string(folder.path().join(FILE)).unwrap();
        assert!(text.ends_with("[tools]\na = \"sha256:1\"\n\"b.c d\" = \"sha256:2\"\n"), "{text}");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no draft is left");
    }
}
