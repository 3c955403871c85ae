//! What happens in one transaction: edits, and the journal lines that people read about them.
//!
//! Promises: a Change is a value; building one does nothing. It cannot be built without a journal line,
//! except for one of the reasons of [`Unjournaled`], each of which permits only the edits that it is meant
//! for. A store checks the guards of all edits before it writes anything, so a refused change leaves no
//! trace; then it applies the edits in the order in which they were added.

use agentsite_protocol::JournalLine;

use crate::{
    Admittance, ConversationChange, DeliveryChange, Edit, KeyChange, ListingChange, RecordChange, RoomChange,
    StoreError, TaskChange,
};

/// Everything that happens in one transaction.
#[derive(Debug, Clone)]
pub struct Change {
    pub(crate) journal: Vec<JournalLine>,
    pub(crate) edits: Vec<Edit>,
    pub(crate) admittance: Admittance,
    /// Why there may be no journal line.
    unjournaled: Option<Unjournaled>,
}

/// Why a change has no journal line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unjournaled {
    /// Events of a task between two turns, such as chunks of an answer; each turn has its line.
    TaskProgress,
    /// The time at which a key was last used, to the minute.
    KeyUse,
    /// A signed head of the journal; a line about it would have to be signed again.
    SignedHead,
    /// The settled time of the site's clock, written with each look for what has expired.
    SettledTime,
    /// A delivery that has left or is tried again later; one that is given up has its line.
    DeliveryAttempt,
    /// An entry of the registry that was checked and is as it was: only its next due time changes.
    EntryCheck,
    /// The credentials of a login that were renewed by the server's rules; login and logout have their lines.
    CredentialRenewal,
    /// Data of an earlier version that moves from a setting to its record, unchanged.
    Migration,
    /// An order from one process of the site to another, or its answer.
    ProcessOrder,
    /// Signed records of other sites, and the registry entries that follow from them: each carries its own
    /// evidence, and a large network changes many per second.
    PeerRecords,
    /// Messages of a room and what members have read of it: the log of the room is a signed chain itself, and
    /// the journal has a line for what people must find there (a room, its members, its end).
    RoomLog,
    /// A change that a test of a store makes.
    #[cfg(any(test, feature = "contract"))]
    Sample,
}

impl Unjournaled {
    /// Whether this reason permits an edit.
    fn permits(self, edit: &Edit) -> bool {
        match self {
            Self::TaskProgress => !matches!(edit, Edit::Key(_) | Edit::Setting(_) | Edit::SignedHead(_)),
            Self::KeyUse => matches!(edit, Edit::Key(key) if matches!(**key, KeyChange::Used(..))),
            Self::SignedHead => matches!(edit, Edit::SignedHead(_)),
            Self::SettledTime => matches!(edit, Edit::Setting(_)),
            Self::DeliveryAttempt => {
                use DeliveryChange::{Defer, Done, Retry};
                matches!(edit, Edit::Delivery(Done(_) | Defer { .. } | Retry { .. }))
            }
            Self::EntryCheck => matches!(edit, Edit::Listing(_)),
            Self::CredentialRenewal | Self::ProcessOrder => matches!(edit, Edit::Record(_)),
            Self::PeerRecords => matches!(edit, Edit::Record(_) | Edit::Listing(_)),
            Self::RoomLog => matches!(edit, Edit::Room(_) | Edit::RoomCursor(_)),
            Self::Migration => matches!(edit, Edit::Record(_) | Edit::Setting(_)),
            #[cfg(any(test, feature = "contract"))]
            Self::Sample => true,
        }
    }
}

/// Edits that a change usually has: a task with its receivers, its usage and its turn.
const USUAL_EDITS: usize = 4;

impl Change {
    /// A change with the line that people read about it.
    #[must_use]
    pub fn new(line: JournalLine) -> Self {
        Self::with(vec![line], None)
    }

    /// A change without a line, for a reason.
    #[must_use]
    pub fn unjournaled(reason: Unjournaled) -> Self {
        Self::with(Vec::new(), Some(reason))
    }

    /// A change with these lines; `otherwise` is the reason when there are none.
    #[must_use]
    pub fn of_lines(lines: Vec<JournalLine>, otherwise: Unjournaled) -> Self {
        Self::with(lines, Some(otherwise))
    }

    fn with(journal: Vec<JournalLine>, unjournaled: Option<Unjournaled>) -> Self {
        let edits = Vec::with_capacity(USUAL_EDITS);
        Self { journal, edits, admittance: Admittance::default(), unjournaled }
    }

    /// Adds a line.
    #[must_use]
    pub fn line(mut self, line: JournalLine) -> Self {
        self.journal.push(line);
        self
    }

    /// Adds an edit, to be applied after those before it.
    #[must_use]
    pub fn edit(mut self, edit: impl Into<Edit>) -> Self {
        self.edits.push(edit.into());
        self
    }

    /// Adds an edit in place, for those who are handed a change to contribute to.
    pub fn push(&mut self, edit: impl Into<Edit>) {
        self.edits.push(edit.into());
    }

    /// Adds edits in their order; an option counts as none or one.
    #[must_use]
    pub fn edits<E: Into<Edit>>(mut self, edits: impl IntoIterator<Item = E>) -> Self {
        self.edits.extend(edits.into_iter().map(Into::into));
        self
    }

    /// Says how the change stands to the limits of storage and to a disk that is getting full; new work
    /// unless said otherwise.
    #[must_use]
    pub fn admittance(mut self, admittance: Admittance) -> Self {
        self.admittance = admittance;
        self
    }

    /// Refuses what is a fault of the caller's code, never of its data: events that do not fit their task,
    /// two edits of one task or one message, and an edit that its change should have written a line about.
    pub(crate) fn check(&self) -> Result<(), StoreError> {
        let fault = |what: String| Err(StoreError::Engine(what));
        for (at, task) in self.tasks().enumerate() {
            task.check()?;
            let same = |other: &TaskChange| {
                other.head.id == task.head.id
                    || other.sent.as_ref().zip(task.sent.as_ref()).is_some_and(|(one, two)| one.is_same(two))
            };
            if self.tasks().take(at).any(same) {
                return fault(format!("a change edits task {} twice", task.head.id));
            }
        }
        for (at, room) in self.rooms().enumerate() {
            room.check()?;
            if self.rooms().take(at).any(|other| other.head.id == room.head.id) {
                return fault(format!("a change edits room {} twice", room.head.id));
            }
        }
        match self.unjournaled.filter(|_| self.journal.is_empty()) {
            Some(reason) if self.edits.iter().any(|edit| !reason.permits(edit)) => {
                fault(format!("a change without a journal line does more than {reason:?} permits"))
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn tasks(&self) -> impl Iterator<Item = &TaskChange> {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Task(one) => Some(&**one),
            _ => None,
        })
    }

    pub(crate) fn records(&self) -> impl Iterator<Item = &RecordChange> {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Record(one) => Some(one),
            _ => None,
        })
    }

    pub(crate) fn listings(&self) -> impl Iterator<Item = &ListingChange> {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Listing(one) => Some(one),
            _ => None,
        })
    }

    pub(crate) fn rooms(&self) -> impl Iterator<Item = &RoomChange> {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Room(one) => Some(&**one),
            _ => None,
        })
    }

    pub(crate) fn conversations(&self) -> impl Iterator<Item = &ConversationChange> {
        self.edits.iter().filter_map(|edit| match edit {
            Edit::Conversation(one) => Some(one),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SettingChange;
    use crate::contract::samples::{Life, delivery, line};

    fn setting() -> SettingChange {
        SettingChange { name: "a".into(), value: Some("b".into()), owner: None }
    }

    #[test]
    fn a_reason_permits_only_what_it_is_meant_for() {
        let settled = Change::unjournaled(Unjournaled::SettledTime);
        settled.clone().edit(setting()).check().unwrap();
        let row = DeliveryChange::Add(delivery("news", 0));
        assert!(settled.clone().edit(row.clone()).check().is_err());
        settled.edit(row).line(line(1, "a line makes it good").journal.remove(0)).check().unwrap();
        let used = KeyChange::Remove("k".parse().unwrap());
        Change::unjournaled(Unjournaled::KeyUse).edit(used).check().unwrap_err();
    }

    #[test]
    fn a_task_is_edited_once_in_a_change() {
        let (one, two) = (Life::new(1).open(), Life::new(2).open());
        let both = Change { edits: [one.edits.clone(), two.edits].concat(), ..one.clone() };
        both.check().unwrap();
        let twice = Change { edits: [one.edits.clone(), one.edits.clone()].concat(), ..one };
        twice.check().unwrap_err();
    }
}
