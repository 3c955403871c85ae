//! Program: whether the program of a command can be started here, without starting it.
//!
//! Promises: a program is looked for as a start would look for it: a path in the agent's folder, a bare name
//! on the agent's PATH. A script also needs the interpreter that its first line names. A missing one is a
//! sentence that says what to do and names no other place of this machine. It runs nothing and promises
//! nothing about what the program does.

use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// How much of a script is read for its first line; kernels read no more than this either.
const FIRST_LINE: u64 = 256;

/// The file of a program, or what to do so that there is one.
pub(crate) fn find(program: &str, folder: &Path, path: &str) -> Result<PathBuf, String> {
    if !folder.is_dir() {
        return Err(format!(
            "`{program}` cannot run: the agent's folder is gone; put it back or remove the agent"
        ));
    }
    let file = if program.contains('/') {
        folder.join(program)
    } else {
        on_path(program, path).ok_or_else(|| {
            format!(
                "there is no program `{program}` in PATH; install it, or write its path into `command` in agent.toml"
            )
        })?
    };
    let Ok(found) = std::fs::metadata(&file) else {
        return Err(format!(
            "there is no file `{program}`; check `command` in agent.toml, a path is relative to the agent's folder"
        ));
    };
    if !found.is_file() || found.permissions().mode() & 0o111 == 0 {
        return Err(format!("`{program}` is not executable; make it executable with chmod +x"));
    }
    match interpreter(&file).filter(|interpreter| !interpreter.is_there(path)) {
        Some(missing) => Err(format!(
            "`{program}` cannot run: the interpreter `{}` that its first line names is not installed; correct the line or install it",
            missing.name()
        )),
        None => Ok(file),
    }
}

fn on_path(program: &str, path: &str) -> Option<PathBuf> {
    let runs = |file: &PathBuf| {
        std::fs::metadata(file).is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    std::env::split_paths(path).map(|place| place.join(program)).find(runs)
}

/// What the first line of a script names.
#[derive(Debug, PartialEq, Eq)]
enum Interpreter {
    /// A file.
    File(PathBuf),
    /// A program that `env` looks for.
    OnPath(String),
}

impl Interpreter {
    /// Reads a first line such as `#!/bin/sh -e` or `#!/usr/bin/env -S python3 -u`.
    fn read(line: &str) -> Option<Self> {
        let mut words = line.strip_prefix("#!")?.split_whitespace();
        let file = PathBuf::from(words.next()?);
        if file.file_name().is_some_and(|name| name == "env") {
            let named = words.find(|word| !word.starts_with('-') && !word.contains('='));
            return named.map(|name| Self::OnPath(name.to_owned())).or(Some(Self::File(file)));
        }
        Some(Self::File(file))
    }

    fn is_there(&self, path: &str) -> bool {
        match self {
            Self::File(file) => file.is_file(),
            Self::OnPath(name) if name.contains('/') => Path::new(name).is_file(),
            Self::OnPath(name) => on_path(name, path).is_some(),
        }
    }

    fn name(&self) -> String {
        match self {
            Self::File(file) => file.display().to_string(),
            Self::OnPath(name) => name.clone(),
        }
    }
}

fn interpreter(file: &Path) -> Option<Interpreter> {
    let mut first = Vec::new();
    std::fs::File::open(file).ok()?.take(FIRST_LINE).read_to_end(&mut first).ok()?;
    if !first.starts_with(b"#!") {
        return None;
    }
    let line = first.split(|byte| *byte == b'\n').next().unwrap_or_default();
    Interpreter::read(&String::from_utf8_lossy(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATH: &str = "/usr/bin:/bin";

    fn script(folder: &Path, name: &str, text: &str, mode: u32) {
        std::fs::write(folder.join(name), text).unwrap();
        std::fs::set_permissions(folder.join(name), std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn a_program_is_found_as_a_start_would_find_it() {
        let folder = tempfile::tempdir().unwrap();
        let at = |program: &str| find(program, folder.path(), PATH);
        assert!(at("sh").is_ok());
        assert!(at("no-such-program").unwrap_err().contains("no program `no-such-program` in PATH"));
        assert!(at("./run").unwrap_err().contains("no file `./run`"));
        script(folder.path(), "run", "#!/bin/sh\n", 0o644);
        assert!(at("./run").unwrap_err().contains("chmod +x"));
        script(folder.path(), "run", "#!/bin/sh\n", 0o755);
        assert!(at("./run").is_ok());
        let gone = folder.path().join("gone");
        assert!(find("sh", &gone, PATH).unwrap_err().contains("folder is gone"));
    }

    #[test]
    fn a_script_needs_its_interpreter() {
        let folder = tempfile::tempdir().unwrap();
        for line in ["#!/nowhere/python9", "#!/usr/bin/env python9", "#!/usr/bin/env -S A=b python9 -u"] {
            script(folder.path(), "run", &format!("{line}\nprint()\n"), 0o755);
            let why = find("./run", folder.path(), PATH).unwrap_err();
            assert!(why.contains("python9") && why.contains("first line"), "{why}");
        }
        script(folder.path(), "run", "#!/usr/bin/env sh\n", 0o755);
        assert!(find("./run", folder.path(), PATH).is_ok());
    }
}
