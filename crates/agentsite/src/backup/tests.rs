//! Stories of backups: what goes in comes back, and files made to do harm do none.
//! They use real files in temporary folders; what a running site writes is tried end to end.

use std::os::unix::fs::PermissionsExt;

use flate2::Compression;
use flate2::write::GzEncoder;
use tar::{Builder, EntryType, Header};

use super::*;

struct Place(tempfile::TempDir);

impl Place {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        std::fs::create_dir_all(self.at(path).parent().unwrap()).unwrap();
        std::fs::write(self.at(path), text).unwrap();
    }

    fn sources(&self) -> Sources {
        let (config, agents) = (Some(self.at("agentsite.toml")), Some(self.at("agents")));
        Sources { data: self.at("data"), config, agents }
    }

    fn targets(&self) -> Targets {
        let (data, agents, config) = (self.at("data"), self.at("agents"), self.at("agentsite.toml"));
        Targets { data, agents, config, in_file: true }
    }

    fn back_up(&self, to: &Path) -> Result<Contents, BackupError> {
        let draft = Draft::begin(to)?;
        std::fs::write(draft.database(), "a database").unwrap();
        draft.finish(&self.sources(), Timestamp::from_millis(0))
    }
}

fn site() -> Place {
    let place = Place::new();
    place.write("data/admin.token", "secret\n");
    place.write("data/site.json", "{}");
    place.write("data/site.db", "in use");
    place.write("agentsite.toml", "demos = false\n");
    place.write("agents/hello/agent.toml", "name = \"hello\"\n");
    place.write("agents/hello/bin/run.sh", "#!/bin/sh\n");
    let run = place.at("agents/hello/bin/run.sh");
    std::fs::set_permissions(run, std::fs::Permissions::from_mode(0o755)).unwrap();
    place
}

#[test]
fn what_makes_a_site_comes_back_in_an_empty_folder() {
    let (from, to) = (site(), Place::new());
    let file = from.at("copy");
    let written = from.back_up(&file).unwrap();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!((written.agents.as_slice(), written.config), (&["hello".to_owned()][..], true));
    assert!(is_archive(&file));
    let archive = Archive::at(&file);
    assert_eq!(archive.contents().unwrap().1, written);
    let database = archive.unpack(&to.targets(), false).unwrap();
    assert_eq!(std::fs::read_to_string(database).unwrap(), "a database");
    assert_eq!(std::fs::read_to_string(to.at("data/admin.token")).unwrap(), "secret\n");
    assert_eq!(std::fs::read_to_string(to.at("agentsite.toml")).unwrap(), "demos = false\n");
    let run = std::fs::metadata(to.at("agents/hello/bin/run.sh")).unwrap();
    assert_eq!(run.permissions().mode() & 0o777, 0o755);
    assert!(!to.at("data/site.json").exists(), "it told of a process");
}

#[test]
fn nothing_outside_of_the_agents_folder_goes_in_by_a_link() {
    let place = site();
    place.write("elsewhere/secret", "do not copy me");
    std::os::unix::fs::symlink(place.at("elsewhere"), place.at("agents/hello/out")).unwrap();
    std::os::unix::fs::symlink(place.at("elsewhere/secret"), place.at("agents/hello/file")).unwrap();
    place.write("agents/hello/node_modules/x/index.js", "large");
    let written = place.back_up(&place.at("copy")).unwrap();
    assert_eq!(written.left_out.len(), 3, "{:?}", written.left_out);
    let to = Place::new();
    Archive::at(&place.at("copy")).unpack(&to.targets(), false).unwrap();
    for path in ["agents/hello/out", "agents/hello/file", "agents/hello/node_modules"] {
        assert!(to.at(path).symlink_metadata().is_err(), "{path}");
    }
}

#[test]
fn nothing_is_replaced_unless_it_was_said_and_then_it_is_kept() {
    let (from, to) = (site(), site());
    let file = from.at("copy");
    from.back_up(&file).unwrap();
    assert!(matches!(from.back_up(&file), Err(BackupError::Exists(_))));
    to.write("agents/hello/agent.toml", "mine");
    let refused = Archive::at(&file).unpack(&to.targets(), false).unwrap_err();
    assert!(refused.to_string().contains("--force"), "{refused}");
    assert_eq!(std::fs::read_to_string(to.at("agents/hello/agent.toml")).unwrap(), "mine");
    Archive::at(&file).unpack(&to.targets(), true).unwrap();
    assert_eq!(std::fs::read_to_string(to.at("agents/hello/agent.toml")).unwrap(), "name = \"hello\"\n");
    assert_eq!(std::fs::read_to_string(to.at("agents.before-restore/hello/agent.toml")).unwrap(), "mine");
}

/// A backup whose second entry was made by another program.
fn forged(path: &[u8], kind: EntryType, size: u64) -> Place {
    let place = Place::new();
    let gzip = GzEncoder::new(std::fs::File::create(place.at("copy")).unwrap(), Compression::fast());
    let mut tar = Builder::new(gzip);
    let head = Head {
        format: FORMAT.into(),
        version: VERSION,
        made_at: Timestamp::from_millis(0),
        made_by: "somebody".into(),
    };
    let text = serde_json::to_vec(&head).unwrap();
    let mut header = Header::new_gnu();
    header.set_size(text.len() as u64);
    header.set_mode(0o600);
    tar.append_data(&mut header, HEAD, text.as_slice()).unwrap();
    let mut header = Header::new_gnu();
    header.set_entry_type(kind);
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    if kind != EntryType::Regular {
        header.set_link_name("/etc/passwd").unwrap();
    }
    header.set_size(size);
    header.set_mode(0o4755);
    header.set_cksum();
    tar.append(&header, std::io::repeat(b'x').take(size)).unwrap();
    tar.into_inner().unwrap().finish().unwrap();
    place
}

use std::io::Read;

#[test]
fn a_forged_backup_writes_nothing() {
    let table: [(&[u8], EntryType, u64); 9] = [
        (b"../outside", EntryType::Regular, 1),
        (b"agents/../../outside", EntryType::Regular, 1),
        (b"/tmp/agentsite-outside", EntryType::Regular, 1),
        (b"agents/x/link", EntryType::Symlink, 0),
        (b"agents/x/link", EntryType::Link, 0),
        (b"agents/x/device", EntryType::Char, 0),
        (b"agents/x/folder/", EntryType::Directory, 0),
        (b"bin/sh", EntryType::Regular, 1),
        (b"agents/x/bomb", EntryType::Regular, ALWAYS_FITS + 1),
    ];
    for (path, kind, size) in table {
        let place = forged(path, kind, size);
        let to = Place::new();
        let error = Archive::at(&place.at("copy")).unpack(&to.targets(), true).unwrap_err();
        assert!(matches!(error, BackupError::Unsound(_)), "{path:?}: {error}");
        assert_eq!(std::fs::read_dir(to.0.path()).unwrap().count(), 0, "{path:?}");
    }
}

#[test]
fn what_is_no_backup_is_told() {
    let place = Place::new();
    for bytes in [&[0x1f, 0x8b, 0, 0][..], &[0x1f, 0x8b][..], b"SQLite format 3\0"] {
        std::fs::write(place.at("copy"), bytes).unwrap();
        assert!(Archive::at(&place.at("copy")).contents().is_err());
    }
    assert!(!is_archive(&place.at("copy")) && !is_archive(&place.at("nowhere")));
}
