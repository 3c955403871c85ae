//! Keys and settings in memory: two maps.
//!
//! Promises: a key that is gone is not brought back by a note of its use.

use agentsite_protocol::KeyId;

use super::MemStore;
use super::content::Content;
use crate::{KeyChange, KeyReads, KeyRecord, Reply, SettingChange};

impl KeyReads for MemStore {
    fn keys(&self) -> Reply<'_, Vec<KeyRecord>> {
        self.reply(|content| content.keys())
    }

    fn key(&self, id: KeyId) -> Reply<'_, Option<KeyRecord>> {
        self.reply(|content| content.key(&id))
    }

    fn setting(&self, name: &str) -> Reply<'_, Option<String>> {
        self.reply(|content| content.setting(name))
    }
}

impl Content {
    pub(super) fn change_setting(&mut self, change: SettingChange) {
        match change.value {
            Some(value) => self.settings.insert(change.name, (value, change.owner)),
            None => self.settings.remove(&change.name),
        };
    }

    pub(super) fn change_key(&mut self, change: KeyChange) {
        match change {
            KeyChange::Put(key) => drop(self.keys.insert(key.id.clone(), key)),
            KeyChange::Used(id, at) => {
                if let Some(key) = self.keys.get_mut(&id) {
                    key.last_used_at = Some(at);
                }
            }
            KeyChange::Remove(id) => drop(self.keys.remove(&id)),
        }
    }

    fn keys(&self) -> Vec<KeyRecord> {
        let mut keys: Vec<KeyRecord> = self.keys.values().cloned().collect();
        keys.sort_by(|one, two| (one.created_at, &one.id).cmp(&(two.created_at, &two.id)));
        keys
    }

    fn key(&self, id: &KeyId) -> Option<KeyRecord> {
        self.keys.get(id).cloned()
    }

    fn setting(&self, name: &str) -> Option<String> {
        self.settings.get(name).map(|(value, _)| value.clone())
    }
}
