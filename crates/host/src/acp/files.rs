//! FileDoor: the files that an agent may read and write through the site.
//!
//! Promises: only files in the agent's own folder, also where links lead elsewhere; only what `files` in its
//! `agent.toml` allows; bounded in size. Its `agent.toml` is never written: an agent does not change its own
//! rights.
//!
//! It does not hide files from the agent's process itself, which runs as the site's user.

use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use super::wire::RpcError;
use crate::FileAccess;

/// Largest file that is read or written: no source file of people is larger.
const MOST_BYTES: u64 = 4 << 20;

/// The agent's own declaration.
const MANIFEST: &str = "agent.toml";

/// Which files an agent may ask for.
#[derive(Debug, Clone)]
pub(super) struct FileDoor {
    access: FileAccess,
    folder: PathBuf,
}

#[derive(Debug, Deserialize)]
struct ReadRequest {
    path: PathBuf,
    #[serde(default)]
    line: Option<usize>,
    #[serde(default)]
    limit: Option<usize>,
}

#[derive(Debug, Deserialize)]
struct WriteRequest {
    path: PathBuf,
    content: String,
}

impl FileDoor {
    /// A door to this folder.
    pub(super) const fn new(access: FileAccess, folder: PathBuf) -> Self {
        Self { access, folder }
    }

    /// Whether files may be read.
    pub(super) fn may_read(&self) -> bool {
        self.access != FileAccess::None
    }

    /// Whether files may be written.
    pub(super) fn may_write(&self) -> bool {
        self.access == FileAccess::Write
    }

    /// Reads a file, or some lines of it.
    pub(super) async fn read(&self, params: &Value) -> Result<Value, RpcError> {
        if !self.may_read() {
            return Err(RpcError::no_such_method("fs/read_text_file"));
        }
        let request = ReadRequest::deserialize(params).map_err(|error| bad(&error))?;
        let path = self.inside(&request.path).await?;
        let mut bytes = Vec::new();
        let file = tokio::fs::File::open(&path).await.map_err(|error| unreadable(&request.path, &error))?;
        // A pipe or a device has no end and may never answer.
        let plain = file.metadata().await.is_ok_and(|data| data.is_file());
        if !plain {
            return Err(RpcError::refused(format!("{} is not a plain file", request.path.display())));
        }
        let read = file.take(MOST_BYTES + 1).read_to_end(&mut bytes).await;
        read.map_err(|error| unreadable(&request.path, &error))?;
        if bytes.len() as u64 > MOST_BYTES {
            return Err(RpcError::refused(format!("the file is larger than {MOST_BYTES} bytes; read less")));
        }
        let text =
            String::from_utf8(bytes).map_err(|_| RpcError::refused("the file is not text in UTF-8"))?;
        Ok(json!({"content": lines_of(&text, request.line, request.limit)}))
    }

    /// Writes a file, whole.
    pub(super) async fn write(&self, params: &Value) -> Result<Value, RpcError> {
        if !self.may_write() {
            return Err(RpcError::no_such_method("fs/write_text_file"));
        }
        let request = WriteRequest::deserialize(params).map_err(|error| bad(&error))?;
        if request.content.len() as u64 > MOST_BYTES {
            return Err(RpcError::refused(format!("the text is larger than {MOST_BYTES} bytes; write less")));
        }
        let path = self.inside(&request.path).await?;
        if path.file_name().is_some_and(|name| name == MANIFEST) {
            return Err(RpcError::refused("an agent may not write its own agent.toml; ask a person"));
        }
        if let Some(parent) = path.parent() {
            tokio::fs::create_dir_all(parent).await.map_err(|error| unreadable(&request.path, &error))?;
        }
        tokio::fs::write(&path, request.content).await.map_err(|error| unreadable(&request.path, &error))?;
        Ok(json!({}))
    }

    /// The resolved path, which must be inside the folder. For a file that does not exist yet, the nearest
    /// existing folder counts.
    async fn inside(&self, path: &Path) -> Result<PathBuf, RpcError> {
        let outside = || {
            RpcError::refused(format!("{} is outside the agent's folder; use files in it", path.display()))
        };
        if path.components().any(|part| part == Component::ParentDir) {
            return Err(outside());
        }
        let folder = tokio::fs::canonicalize(&self.folder).await.map_err(|error| unreadable(path, &error))?;
        let (mut there, mut rest) = (folder.join(path), Vec::new());
        loop {
            match tokio::fs::canonicalize(&there).await {
                Ok(real) => {
                    let whole = rest.iter().rev().fold(real, |path: PathBuf, name| path.join(name));
                    return if whole.starts_with(&folder) { Ok(whole) } else { Err(outside()) };
                }
                // A link that leads nowhere must not be taken for a new file.
                Err(_) if tokio::fs::symlink_metadata(&there).await.is_ok() => return Err(outside()),
                Err(_) => {
                    rest.push(there.file_name().ok_or_else(outside)?.to_owned());
                    there = there.parent().ok_or_else(outside)?.to_owned();
                }
            }
        }
    }
}

fn bad(error: &serde_json::Error) -> RpcError {
    RpcError::refused(error.to_string())
}

fn unreadable(path: &Path, error: &std::io::Error) -> RpcError {
    RpcError::refused(format!("{}: {error}", path.display()))
}

/// Some lines of a text; the first line has the number 1.
fn lines_of(text: &str, line: Option<usize>, limit: Option<usize>) -> String {
    if line.is_none() && limit.is_none() {
        return text.to_owned();
    }
    let skipped = line.unwrap_or(1).saturating_sub(1);
    text.split_inclusive('\n').skip(skipped).take(limit.unwrap_or(usize::MAX)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door(access: FileAccess) -> (tempfile::TempDir, FileDoor) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("poem.txt"), "one\ntwo\nthree\n").unwrap();
        let door = FileDoor::new(access, folder.path().to_owned());
        (folder, door)
    }

    async fn read(door: &FileDoor, path: &Path) -> Result<String, String> {
        let read = door.read(&json!({"path": path})).await.map_err(|error| error.words())?;
        Ok(read["content"].as_str().unwrap().to_owned())
    }

    #[tokio::test]
    async fn files_of_the_folder_are_read_in_whole_or_in_part() {
        let (folder, door) = door(FileAccess::Read);
        let path = folder.path().join("poem.txt");
        assert_eq!(read(&door, &path).await.unwrap(), "one\ntwo\nthree\n");
        let part = door.read(&json!({"path": path, "line": 2, "limit": 1})).await.unwrap();
        assert_eq!(part["content"], "two\n");
        let refused = door.write(&json!({"path": path, "content": "x"})).await.unwrap_err();
        assert!(refused.words().contains("does not offer"), "{refused:?}");
    }

    #[tokio::test]
    async fn nothing_is_read_without_leave() {
        let (folder, door) = door(FileAccess::None);
        assert!(read(&door, &folder.path().join("poem.txt")).await.is_err());
    }

    #[tokio::test]
    async fn no_path_leads_out_of_the_folder() {
        let (folder, door) = door(FileAccess::Write);
        std::os::unix::fs::symlink("/etc", folder.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", folder.path().join("dangling")).unwrap();
        for path in ["/etc/passwd", "link/passwd", "../x", "a/../../x", "dangling", "/dev/zero"] {
            let why = read(&door, Path::new(path)).await.unwrap_err();
            assert!(why.contains("is outside"), "{path}: {why}");
            let refused = door.write(&json!({"path": path, "content": "x"})).await.unwrap_err();
            assert!(refused.words().contains("is outside"), "{path}: {refused:?}");
        }
    }

    #[tokio::test]
    async fn files_are_written_but_not_the_agents_own_rights() {
        let (folder, door) = door(FileAccess::Write);
        let path = folder.path().join("new/deep/file.txt");
        door.write(&json!({"path": path, "content": "hello"})).await.unwrap();
        assert_eq!(std::fs::read_to_string(path).unwrap(), "hello");
        let manifest = folder.path().join("agent.toml");
        let refused = door.write(&json!({"path": manifest, "content": "x"})).await.unwrap_err();
        assert!(refused.words().contains("agent.toml"), "{refused:?}");
        assert!(!manifest.exists());
        assert!(door.write(&json!({"path": 7})).await.is_err());
    }
}
