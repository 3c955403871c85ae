//! Paths: which files of the machine an agent may see when its manifest adds nothing.
//!
//! Promises: system folders, the public part of `/etc`, the folders of `PATH` with the installations they
//! belong to, the code that the agent's own command names, its folder and its private home. Never the data of
//! the site, folders of other agents, or the operator's home as a whole: a folder that contains one of those
//! is opened entry by entry without it.
//!
//! It looks at the file system to follow links, and changes nothing.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Folders of the system that hold programs and libraries.
const SYSTEM: &[&str] =
    &["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store", "/snap"];

/// What programs need of `/etc`. A file that is not world-readable is left out, even when it is listed here.
const SETTINGS: &[&str] = &[
    "alternatives",
    "bash.bashrc",
    "ca-certificates",
    "ca-certificates.conf",
    "crypto-policies",
    "debian_version",
    "fonts",
    "gai.conf",
    "group",
    "host.conf",
    "hosts",
    "inputrc",
    "java-11-openjdk",
    "java-17-openjdk",
    "java-21-openjdk",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "ld.so.preload",
    "locale.alias",
    "locale.conf",
    "localtime",
    "lsb-release",
    "magic",
    "mime.types",
    "nsswitch.conf",
    "npmrc",
    "openssl",
    "os-release",
    "passwd",
    "perl",
    "pip.conf",
    "pki/ca-trust",
    "pki/tls/cert.pem",
    "pki/tls/certs",
    "pki/tls/openssl.cnf",
    "protocols",
    "python3",
    "python3.10",
    "python3.11",
    "python3.12",
    "python3.13",
    "resolv.conf",
    "rpc",
    "services",
    "shells",
    "ssl/cert.pem",
    "ssl/certs",
    "ssl/openssl.cnf",
    "terminfo",
    "timezone",
    "uv",
    "wgetrc",
];

/// Where version managers keep what the small programs in `PATH` lead to, below the operator's home.
const INSTALLATIONS: &[&str] = &[
    ".asdf",
    ".local/lib",
    ".local/pipx/venvs",
    ".local/share/mise/installs",
    ".local/share/pipx/venvs",
    ".local/share/uv/python",
    ".local/share/uv/tools",
    ".nvm",
    ".pyenv",
    ".rustup",
    ".sdkman/candidates",
    ".volta",
];

/// Folders that hold programs as well as secrets and other files: only their `bin` is opened.
const MIXED: &[&str] = &[".cargo", ".local"];

/// Files by which the folder of a project is recognised; a script in it needs the rest of it.
const PROJECT: &[&str] = &["package.json", "pyproject.toml", "setup.py", "deno.json", "go.mod", "Cargo.toml"];

/// Programs that run the file they are given: such a file is code by its name, and may be read.
const INTERPRETERS: &[&str] = &[
    "Rscript", "bash", "bun", "dash", "deno", "java", "ksh", "lua", "node", "nodejs", "perl", "php", "pypy",
    "python", "ruby", "run", "sh", "ts-node", "tsx", "zsh",
];

/// Links followed from a program to its file; more are a circle.
const MAX_LINKS: usize = 16;

/// What the site knows of the machine when it decides about paths.
#[derive(Debug, Clone, Default)]
pub(crate) struct Surroundings {
    /// The operator's home.
    pub(crate) home: Option<PathBuf>,
    /// What no agent ever sees, regardless of its manifest: the data of the site, its configuration.
    pub(crate) sealed: Vec<PathBuf>,
    /// What an agent sees only when its manifest says so: the folders of other agents.
    pub(crate) hidden: Vec<PathBuf>,
}

impl Surroundings {
    /// What an agent may read and execute: the system, and what its command and its `PATH` lead to.
    pub(crate) fn readable(
        &self,
        command: &[String],
        program: &Path,
        folder: &Path,
        path: &str,
    ) -> Vec<PathBuf> {
        let mut found: Vec<PathBuf> = SYSTEM.iter().map(PathBuf::from).collect();
        let settings = SETTINGS.iter().map(|name| Path::new("/etc").join(name));
        found.extend(settings.filter(|path| is_public(path)));
        for entry in path.split(':').filter(|entry| entry.starts_with('/')) {
            found.extend(self.installation(Path::new(entry)));
        }
        found.extend(self.home.iter().flat_map(|home| INSTALLATIONS.iter().map(|name| home.join(name))));
        found.extend(self.program(program));
        for code in code_of(command, folder) {
            found.extend(self.program(&code));
            found.push(self.named(&code));
        }
        self.without_hidden(found)
    }

    /// Leaves out what is hidden: a path inside of it altogether, a folder around it except for its other
    /// entries.
    pub(crate) fn without_hidden(&self, paths: Vec<PathBuf>) -> Vec<PathBuf> {
        let mut open: Vec<PathBuf> = paths.into_iter().filter(|path| path.exists()).collect();
        for hidden in self.sealed.iter().chain(&self.hidden) {
            open = open.into_iter().flat_map(|path| around(&path, hidden)).collect();
        }
        open.sort();
        open.dedup();
        open
    }

    /// Whether a path that an operator names would open something that is sealed.
    pub(crate) fn uncovers(&self, path: &Path) -> Option<&Path> {
        let real = real(path);
        let mut sealed = self.sealed.iter().map(PathBuf::as_path);
        sealed.find(|sealed| sealed.starts_with(&real) || real.starts_with(sealed))
    }

    /// The folder of programs, and the installation that it is a part of: `~/.nvm/versions/node/v22/bin`
    /// needs the folder above.
    fn installation(&self, folder: &Path) -> Vec<PathBuf> {
        let mut found = vec![folder.to_owned()];
        let real = real(folder);
        if real.file_name().is_some_and(|name| name == "bin" || name == "shims" || name == "Scripts")
            && let Some(prefix) = real.parent()
            && !self.is_wide(prefix)
        {
            found.push(prefix.to_owned());
        }
        found.push(real);
        found
    }

    /// A folder that holds more than one installation.
    fn is_wide(&self, folder: &Path) -> bool {
        let home = self.home.as_deref().map(real);
        let around_home = home.as_deref().is_some_and(|home| home.starts_with(folder));
        let mixed = folder.file_name().is_some_and(|name| MIXED.iter().any(|mixed| name == *mixed));
        around_home || mixed || folder.components().count() <= 2
    }

    /// The program of an agent, every link on the way to it, and the installation that each belongs to.
    fn program(&self, program: &Path) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut at = program.to_owned();
        for _ in 0..MAX_LINKS {
            found.push(at.clone());
            found.extend(at.parent().into_iter().flat_map(|folder| self.installation(folder)).skip(1));
            found.extend(self.project(&at));
            let Ok(target) = fs::read_link(&at) else { break };
            at = at.parent().unwrap_or(Path::new("/")).join(target);
        }
        found
    }

    /// What a script brings: its project, or the files next to it.
    fn named(&self, script: &Path) -> PathBuf {
        let script = real(script);
        let beside = script.parent().filter(|parent| !self.is_wide(parent) && !is_shared(parent));
        self.project(&script).or_else(|| beside.map(Path::to_owned)).unwrap_or(script)
    }

    /// The project that a script belongs to: the outermost folder of packages around it, or the nearest
    /// folder that says it is one.
    fn project(&self, script: &Path) -> Option<PathBuf> {
        let around = || script.ancestors().skip(1).filter(|folder| !self.is_wide(folder));
        let packages =
            around().filter(|folder| folder.file_name().is_some_and(|name| name == "node_modules"));
        let project = || around().find(|folder| PROJECT.iter().any(|name| folder.join(name).is_file()));
        packages.last().or_else(project).map(Path::to_owned)
    }
}

/// The files that a command executes besides its program: scripts that an interpreter is given, and programs
/// by their path, also within a shell line. Files that a command only reads are data, which the manifest
/// declares.
fn code_of(command: &[String], folder: &Path) -> Vec<PathBuf> {
    let is_end = |letter: char| letter.is_whitespace() || "'\"`;|&()<>".contains(letter);
    let words = command.iter().flat_map(|argument| argument.split(is_end)).filter(|word| !word.is_empty());
    let (mut found, mut interpreted) = (Vec::new(), false);
    for (at, word) in words.enumerate() {
        if word.starts_with('-') {
            interpreted = word == "-jar" || (interpreted && !matches!(word, "-c" | "-m" | "-e"));
            continue;
        }
        let file = folder.join(word);
        let is_code = interpreted || (word.contains('/') && is_executable(&file));
        if at > 0 && is_code && file.is_file() {
            found.push(file);
        }
        interpreted = is_interpreter(word);
    }
    found
}

fn is_interpreter(word: &str) -> bool {
    let name = word.rsplit('/').next().unwrap_or(word);
    let name = name.trim_end_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    INTERPRETERS.contains(&name)
}

fn is_executable(file: &Path) -> bool {
    fs::metadata(file).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

/// World-writable folders.
fn is_shared(folder: &Path) -> bool {
    fs::metadata(folder).is_ok_and(|about| about.permissions().mode() & 0o002 != 0)
}

fn is_public(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.permissions().mode() & 0o004 != 0)
}

/// The path without links; as it is when it does not exist.
pub(crate) fn real(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// The path when it has nothing to do with `hidden`, its other entries when it contains it, nothing when it
/// is inside of it.
fn around(path: &Path, hidden: &Path) -> Vec<PathBuf> {
    let real = real(path);
    if real.starts_with(hidden) {
        return Vec::new();
    }
    if !hidden.starts_with(&real) {
        return vec![path.to_owned()];
    }
    let Ok(entries) = fs::read_dir(&real) else { return Vec::new() };
    entries.flatten().flat_map(|entry| around(&entry.path(), hidden)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree() -> (tempfile::TempDir, Surroundings) {
        let folder = tempfile::tempdir().unwrap();
        let at = |path: &str| folder.path().join(path);
        for name in
            ["home/.nvm/v22/bin", "home/.local/bin", "home/tools/bin", "home/work", "opt/site/data/homes"]
        {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("home/work/run.py"), "").unwrap();
        fs::write(at("opt/site/readme"), "").unwrap();
        let sealed = vec![real(&at("opt/site/data"))];
        let around = Surroundings { home: Some(at("home")), sealed, hidden: Vec::new() };
        (folder, around)
    }

    #[test]
    fn a_folder_of_programs_brings_its_installation_but_never_the_home() {
        let (folder, around) = tree();
        let at = |path: &str| real(&folder.path().join(path));
        assert!(around.installation(&at("home/.nvm/v22/bin")).contains(&at("home/.nvm/v22")));
        assert!(!around.installation(&at("home/.local/bin")).contains(&at("home/.local")));
        assert!(around.is_wide(&at("home")) && around.is_wide(&at("")) && !around.is_wide(&at("home/tools")));
    }

    #[test]
    fn a_script_brings_its_project_or_the_files_beside_it() {
        let (folder, around) = tree();
        let at = |path: &str| real(&folder.path().join(path));
        assert_eq!(around.named(&at("home/work/run.py")), at("home/work"));
        fs::create_dir_all(folder.path().join("home/app/node_modules/a/dist")).unwrap();
        fs::write(folder.path().join("home/app/node_modules/a/dist/x.js"), "").unwrap();
        assert_eq!(around.named(&at("home/app/node_modules/a/dist/x.js")), at("home/app/node_modules"));
    }

    #[test]
    fn code_is_told_from_data() {
        let (folder, _) = tree();
        let script = folder.path().join("home/work/run.py");
        let path = script.display().to_string();
        let code = |words: &[&str]| {
            code_of(&words.iter().map(ToString::to_string).collect::<Vec<_>>(), Path::new("/"))
        };
        assert_eq!(code(&["python3.12", "-u", &path]), std::slice::from_ref(&script));
        assert_eq!(
            code(&["sh", "-c", &format!("echo hi; exec /usr/bin/python3 '{path}'")]).last(),
            Some(&script)
        );
        assert!(code(&["cat", &path]).is_empty());
        assert!(code(&["sh", "-c", &format!("cat {path}")]).is_empty());
        assert!(code(&["python3", "-c", &path]).is_empty());
    }

    #[test]
    fn what_is_hidden_is_left_out_of_the_folder_around_it() {
        let (folder, around) = tree();
        let at = |path: &str| real(&folder.path().join(path));
        let open = around.without_hidden(vec![at("opt"), at("opt/site/data/homes"), at("home")]);
        assert_eq!(open, [at("home"), at("opt/site/readme")]);
        assert!(around.uncovers(&at("opt")).is_some() && around.uncovers(&at("home")).is_none());
    }
}
