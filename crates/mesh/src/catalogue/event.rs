//! What happens to a catalogue, and what it wants done.
//!
//! Promises: plain values, in and out. It does not decide anything: the catalogue does.

use std::sync::Arc;

use agentsite_protocol::{AgentName, Clock, Timestamp};

use crate::cell_id::CellId;
use crate::record::{AgentProfile, BadRecord, Record, RecordKey, SiteProfile, SplitProfile, Subject};
use crate::site_id::SiteId;
use crate::wire::Message;

/// The present, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moment {
    /// By the wall clock: whether a record holds is judged by it.
    pub now: Timestamp,
    /// The time that has certainly come: what is removed because of its age is removed by it.
    pub settled: Timestamp,
}

impl Moment {
    /// What a clock says.
    #[must_use]
    pub fn of(clock: &dyn Clock) -> Self {
        Self { now: clock.now(), settled: clock.settled() }
    }

    /// A moment by a clock that is never set.
    #[must_use]
    pub const fn exact(now: Timestamp) -> Self {
        Self { now, settled: now }
    }
}

/// What happens to a catalogue.
#[derive(Debug, Clone)]
pub enum Input {
    /// A connection with a peer stands; the transport has proven its identity.
    Connected {
        /// The peer.
        peer: SiteId,
    },
    /// The last connection with a peer ended.
    Gone {
        /// The peer.
        peer: SiteId,
    },
    /// A peer sent a message.
    Received {
        /// The peer.
        peer: SiteId,
        /// What it sent.
        message: Message,
    },
    /// A peer sent bytes that are not a message.
    Unreadable {
        /// The peer.
        peer: SiteId,
    },
    /// This site has a public agent, or it changed.
    Publish {
        /// Its name.
        name: AgentName,
        /// What may be said of it.
        profile: AgentProfile,
    },
    /// An agent of this site is gone, or no longer public.
    Unpublish {
        /// Its name.
        name: AgentName,
    },
    /// What this site says of itself.
    Describe(SiteProfile),
    /// This site supports a split of a cell, or no longer does.
    Endorse {
        /// The cell.
        cell: CellId,
        /// How it is split; none when the support ends.
        split: Option<SplitProfile>,
    },
    /// Agents are kept by cells from now on, and no longer by everybody, or the other way round.
    Parted(bool),
    /// Agents of cells that this site keeps.
    Placed(Vec<Arc<Record>>),
    /// Agents that are in no cell that this site keeps.
    Evict(Vec<RecordKey>),
    /// A site signed a vector that does not belong to its text; after three no more of them is checked or
    /// used, so this alone is not a ban.
    Misled {
        /// The site.
        peer: SiteId,
    },
    /// This site stops: others need not wait for the end of its lease.
    Retire,
    /// The time that was asked for by [`Effect::WakeAt`] has come.
    Tick,
}

/// What is to be done, in order.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Keep this record on disk, in place of the one with the same key.
    Store(Arc<Record>),
    /// Remove the record with this key from the disk.
    Remove(RecordKey),
    /// Hand a new record on to other peers.
    Forward {
        /// The record.
        record: Arc<Record>,
        /// The peer that it came from, which need not get it again; none for a record of this site.
        from: Option<SiteId>,
    },
    /// Send a message to a peer.
    Send {
        /// The peer.
        peer: SiteId,
        /// What to send.
        message: Message,
    },
    /// An agent elsewhere can be found, or changed: put it into the registry.
    Upsert(Arc<Record>),
    /// An agent elsewhere can no longer be found: take it out of the registry.
    Withdraw {
        /// The agent.
        key: RecordKey,
        /// Why.
        reason: Withdrawal,
    },
    /// A peer did something that an honest one does not.
    Score {
        /// The peer.
        peer: SiteId,
        /// What it did.
        offence: Offence,
    },
    /// End the connections with this peer: it was banned, or there are too many.
    Disconnect {
        /// The peer.
        peer: SiteId,
        /// Until when it is not listened to; none when there were only too many peers.
        banned_until: Option<Timestamp>,
    },
    /// Keep a proof that a site signed two versions with one number.
    Contradiction(Proof),
    /// Another process signs with this site's key, or this site lost its state: a record of this site came
    /// that it does not know.
    OwnKeyElsewhere(Arc<Record>),
    /// A record of this site could not be signed.
    Unsigned {
        /// What it would have been about.
        subject: Subject,
        /// Why not.
        error: BadRecord,
    },
    /// A session that this site began is complete: both sides hold the union of their records.
    Synced {
        /// The peer.
        peer: SiteId,
    },
    /// Call [`Input::Tick`] at this time. A later one replaces an earlier one.
    WakeAt(Timestamp),
}

/// Two records of one site about one subject with one number: the site or a copy of its key lies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Proof {
    /// The record that is kept.
    pub kept: Arc<Record>,
    /// The other one.
    pub other: Arc<Record>,
}

/// Why an agent can no longer be found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Withdrawal {
    /// Its site took it back.
    Removed,
    /// Its record was not renewed.
    Expired,
    /// The lease of its site ended.
    SiteGone,
    /// It made room for others.
    Evicted,
}

/// What an honest peer does not do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Offence {
    /// Bytes that are not a message, a record or a frame.
    Unreadable,
    /// A record that its site did not sign.
    Forged,
    /// A record of an identity without the work that identities take.
    TooLittleWork,
    /// A thousand records more than a peer may send or ask for.
    Flood,
    /// A record that another site showed to this peer alone.
    Leaked,
    /// A vector in a record of its own that does not belong to its text.
    WrongVector,
}

impl Offence {
    /// How much it counts; 100 in a short time is a ban. Honest peers check what they pass on, so forgeries
    /// count most. A flood may be that of a whole network that starts, so it takes 100,000 records.
    #[must_use]
    pub const fn points(self) -> u32 {
        match self {
            Self::Forged | Self::Leaked => 50,
            Self::Unreadable | Self::TooLittleWork | Self::WrongVector => 20,
            Self::Flood => 1,
        }
    }
}
