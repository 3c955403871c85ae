//! Limits: how much of what others send is kept, and for how long.
//!
//! Promises: every bound of the catalogue is a named number here, with its reason. Those on the wire form are
//! constants, because every site must judge a record alike. What a site keeps is a value, [`Limits`]: a site
//! with less memory keeps less.

use std::time::Duration;

/// Largest payload of an agent's record, in bytes. The records of the public benchmark take 700 to 1,500.
pub const MAX_AGENT_PAYLOAD: usize = 4 << 10;
/// Largest payload of a site's own record, in bytes: a name, a sentence and eight addresses take 1,500.
pub const MAX_SITE_PAYLOAD: usize = 2 << 10;
/// Largest payload of a lease, in bytes: it has no text, and takes 190.
pub const MAX_LEASE_PAYLOAD: usize = 512;
/// Deepest nesting of a payload: record, agent, skills, skill, tags, and three levels for later versions.
pub const MAX_DEPTH: usize = 8;
/// Most values of a payload, names of members counted: sixteen skills with all their words take about 600.
pub const MAX_NODES: usize = 1_000;

/// How long a lease holds. A site that dies is gone for everybody after this time at the latest.
pub const LEASE_LIFETIME: Duration = Duration::from_secs(20 * 60);
/// How often a site renews its lease at least: three of four may get lost.
pub const LEASE_RENEWAL: Duration = Duration::from_secs(5 * 60);
/// Longest life of a record. It is renewed at half of it, so a partition of a day loses nothing.
pub const MAX_LIFETIME: Duration = Duration::from_secs(48 * 60 * 60);
/// How long a tombstone lives. Longer than [`MAX_LIFETIME`] by five days, so that a record it removed cannot
/// come back from a site whose clock is late.
pub const TOMBSTONE_LIFETIME: Duration = Duration::from_secs(7 * 24 * 60 * 60);
/// How far clocks may differ before one of two sites is taken to be wrong.
pub const CLOCK_SLACK: Duration = Duration::from_secs(2 * 60);

/// Largest message between two sites, in bytes; gossipsub's default limit, too.
pub const MAX_MESSAGE: usize = 64 << 10;
/// Most records in one message. Records of 1 kB fill a message before.
pub const MAX_BATCH: usize = 64;
/// Most ids in one message: 8 kB, and as many records are in progress at once in a session.
pub const MAX_IDS: usize = 256;

/// Most agents that one site shows to another one alone, and most messages that they take.
pub const MAX_CONFIDED: usize = 256;

/// How long no session is begun after the last one ended, give or take a fifth.
pub const SYNC_INTERVAL: Duration = Duration::from_secs(30);
/// How long a session waits for an answer before it is given up. The next one resumes where it ended.
pub const SESSION_STALL: Duration = Duration::from_secs(10);
/// How long after news a site offers it to some peers by its id: random pushes miss a node now and then,
/// and the next session may be half a minute away. Longer than the slowest push, so that few are offered
/// what is on its way.
pub const FOLLOW_UP_DELAY: Duration = Duration::from_millis(250);
/// To how many peers. With eight neighbours each, a node that was missed is left out by all of them one
/// time in 65,000; an id takes 32 bytes, a record twenty times as many.
pub const FOLLOW_UP_PEERS: usize = 6;
/// How often a site answers foreign copies of its own records. Two processes that run with one key would
/// outbid each other without end.
pub const REPAIR_INTERVAL: Duration = Duration::from_secs(60);

/// What one site keeps and takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Most records in all. One cell of the search holds 50,000 vectors; at 4 kB each this is 256 MB at worst
    /// and 60 MB as usual.
    pub records: usize,
    /// Most records of one site, tombstones counted: 256 agents, and three names given up for each in a week.
    pub records_per_site: usize,
    /// Fewest bits of work of an identity: 65,536 hashes, some 20 ms, so that a first start does not wait.
    pub work_bits: u32,
    /// How many pushed records of one peer are looked at per second: a network of 10,000 sites has 33 renewed
    /// leases per second. What is dropped comes with the next session.
    pub pushes_per_second: u32,
    /// How many pushed records of one peer may come at once; a site that starts pushes all of its agents.
    pub push_burst: u32,
    /// How many pushed changes of one site are taken per minute. The rest comes with the next session, of
    /// which only the newest version of each record counts.
    pub changes_per_minute: u32,
    /// How many changes of one site may come at once.
    pub change_burst: u32,
    /// How many frames one peer may ask about per minute. An honest one begins two sessions per minute; the
    /// first one of a new site takes 35 frames for 65,536 records.
    pub queries_per_minute: u32,
    /// How many records one peer may ask for per minute.
    pub gives_per_minute: u32,
    /// How many records one peer may ask for at once: three whole catalogues, because both sides may begin a
    /// session at once, and each asks for everything.
    pub give_burst: u32,
    /// Most ids of records that were refused and are not asked for again.
    pub refused: usize,
    /// Most proofs that a site signed two versions of one record; one for each site.
    pub proofs: usize,
    /// Most peers at once; each costs some 400 bytes here, and some 100 kB in the transport.
    pub peers: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            records: 65_536,
            records_per_site: 1_024,
            work_bits: 16,
            pushes_per_second: 500,
            push_burst: 4_096,
            changes_per_minute: 60,
            change_burst: 1_024,
            queries_per_minute: 120,
            gives_per_minute: 6_000,
            give_burst: 196_608,
            refused: 16_384,
            proofs: 1_024,
            peers: 128,
        }
    }
}
