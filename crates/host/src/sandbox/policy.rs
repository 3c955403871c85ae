//! Policy: everything that the launcher needs to confine one program, worked out before it starts.
//!
//! Promises: plain data. It travels to the launcher in a memory file, because it holds the variables of the
//! agent, which may be secrets and must not be seen on a command line. It decides nothing and touches
//! nothing.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// How a program and its descendants are held together and apart from the rest of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Tier {
    /// Own user, mount, process and IPC namespaces: the program sees only its own processes and the paths of
    /// its policy.
    Namespaces {
        /// Whether the kernel lets us mount a `/proc` that shows only the program's own processes.
        own_proc: bool,
    },
    /// No namespaces: Landlock alone guards files, and the launcher adopts and ends stray descendants.
    Reaper,
}

/// What a program may do, and how it is started.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Policy {
    /// The file to execute; `None` only tries out the confinement.
    pub(crate) program: Option<PathBuf>,
    /// The name under which the program is started.
    pub(crate) name: String,
    /// Its arguments.
    pub(crate) arguments: Vec<String>,
    /// Its variables, all of them.
    pub(crate) variables: BTreeMap<String, String>,
    /// Where it runs.
    pub(crate) folder: PathBuf,
    /// Paths that it may read and execute.
    pub(crate) read: Vec<PathBuf>,
    /// Paths that it may read, execute and change.
    pub(crate) write: Vec<PathBuf>,
    /// Files inside of `write` that it must not change.
    pub(crate) frozen: Vec<PathBuf>,
    /// Its private folder for temporary files.
    pub(crate) scratch: PathBuf,
    /// An empty folder on which its own view of the file system is built.
    pub(crate) root: PathBuf,
    /// How it is held.
    pub(crate) tier: Tier,
    /// Whether it may use the network.
    pub(crate) network: bool,
    /// What each of its processes may use.
    pub(crate) limits: ProcessLimits,
    /// The control groups that bound all of its processes together.
    pub(crate) groups: Vec<ControlGroup>,
}

/// What each process of a program may use.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ProcessLimits {
    /// Bytes of private memory that can be written.
    pub(crate) data: Option<u64>,
    /// Bytes of address space.
    pub(crate) address_space: Option<u64>,
    /// Seconds of processor time.
    pub(crate) cpu: Option<u64>,
    /// Bytes of the largest file.
    pub(crate) file_size: Option<u64>,
    /// Open files.
    pub(crate) open_files: Option<u64>,
    /// Processes and threads of the program together; counted by the kernel in the program's own user
    /// namespace only.
    pub(crate) processes: Option<u64>,
}

/// One control group: a folder to be made, and what is written into its files.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct ControlGroup {
    /// The folder in which the group of this program is made.
    pub(crate) parent: PathBuf,
    /// File names and values.
    pub(crate) settings: Vec<(String, String)>,
    /// The file that counts how often the kernel ended a process for lack of memory.
    pub(crate) out_of_memory: Option<String>,
}
