//! The system prompt of an agent.
//!
//! Promises: a prompt file is read once, is inside the agent's folder (symbolic links included) and is
//! bounded. An agent without a prompt gets its name and description.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use crate::{LaunchError, LlmRuntime, Manifest};

/// Longest prompt file: about 65,000 tokens, more than most models can read.
const MAX_PROMPT: u64 = 256 * 1024;

/// The prompt as the agent's file or its prompt file has it.
pub(super) fn of(runtime: &LlmRuntime, manifest: &Manifest, folder: &Path) -> Result<String, LaunchError> {
    match &runtime.prompt_file {
        Some(file) => {
            let failed = |source| LaunchError::File { file: file.clone(), source };
            let prompt = read(folder, file).map_err(failed)?;
            let why = "is larger than 256 KiB; no model reads so long a prompt well, shorten it";
            prompt.ok_or_else(|| LaunchError::Setup(format!("the prompt file {file} {why}")))
        }
        None => Ok(written(runtime, manifest)),
    }
}

/// The prompt as written in the agent's file.
pub(super) fn written(runtime: &LlmRuntime, manifest: &Manifest) -> String {
    let about = || format!("You are the agent {}. {}", manifest.name, manifest.description);
    runtime.prompt.clone().unwrap_or_else(about)
}

/// Reads a file within the folder; `None` when it is too large.
fn read(folder: &Path, file: &str) -> io::Result<Option<String>> {
    let home = folder.canonicalize()?;
    let path = home.join(file).canonicalize()?;
    if !path.starts_with(&home) {
        return Err(io::Error::new(
            io::ErrorKind::PermissionDenied,
            "the file is outside the agent's folder",
        ));
    }
    if !path.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "this is not a file"));
    }
    let mut text = String::new();
    File::open(path)?.take(MAX_PROMPT + 1).read_to_string(&mut text)?;
    Ok(Some(text).filter(|text| text.len() as u64 <= MAX_PROMPT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_file_is_read_from_the_folder_of_the_agent() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("words")).unwrap();
        std::fs::write(folder.path().join("words/prompt.md"), "Be kind.").unwrap();
        assert_eq!(read(folder.path(), "words/prompt.md").unwrap().as_deref(), Some("Be kind."));
        assert_eq!(read(folder.path(), "prompt.md").unwrap_err().kind(), io::ErrorKind::NotFound);
        assert_eq!(read(folder.path(), "words").unwrap_err().kind(), io::ErrorKind::InvalidInput);
    }

    #[test]
    fn a_path_that_leaves_the_folder_is_refused() {
        let outside = tempfile::tempdir().unwrap();
        let folder = outside.path().join("agent");
        std::fs::create_dir(&folder).unwrap();
        let secret = outside.path().join("secret");
        std::fs::write(&secret, "x").unwrap();
        std::os::unix::fs::symlink(&secret, folder.join("link")).unwrap();
        for file in ["../secret", "link", secret.to_str().unwrap()] {
            assert_eq!(read(&folder, file).unwrap_err().kind(), io::ErrorKind::PermissionDenied, "{file}");
        }
    }

    #[test]
    fn a_prompt_file_is_bounded() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("long"), "x".repeat(256 * 1024 + 1)).unwrap();
        std::fs::write(folder.path().join("fits"), "x".repeat(256 * 1024)).unwrap();
        assert_eq!(read(folder.path(), "long").unwrap(), None);
        assert!(read(folder.path(), "fits").unwrap().is_some());
    }
}
