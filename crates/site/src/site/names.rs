//! The verbs of a site about names that are reserved for their previous owners.
//!
//! Promises: only admins see and end reservations; each end has its line in the journal. Tasks are not
//! affected: they stay bound to the agent that they were opened with.

use agentsite_protocol::{Caller, JournalLine, JournalSubject};
use agentsite_store::Change;

use super::{Site, admin_only};
use crate::names::NameChange;
use crate::{ReleasedName, SiteError, kinds};

impl Site {
    /// The names that were given up and are reserved for their previous owners, the one released longest ago
    /// first.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins.
    pub fn released_names(&self, caller: &Caller) -> Result<Vec<ReleasedName>, SiteError> {
        admin_only(caller)?;
        Ok(self.0.names.released())
    }

    /// Ends a reservation, so that anybody may take the name.
    ///
    /// # Errors
    /// [`SiteError::Forbidden`] for all but admins; [`SiteError::NoSuchReservation`].
    pub async fn release_name(&self, caller: &Caller, name: &str) -> Result<(), SiteError> {
        if self.released_names(caller)?.iter().all(|one| one.name != name) {
            return Err(SiteError::NoSuchReservation(name.chars().take(200).collect()));
        }
        let (now, text) = (self.ids().clock().now(), format!("released the name {name}"));
        let line = JournalLine::new(kinds::name::RELEASED, now, caller.owner().as_str(), text)
            .about(JournalSubject::Name(name.to_owned()));
        self.0.names.commit(Change::new(line), &[NameChange::Taken(name.to_owned())]).await
    }
}
