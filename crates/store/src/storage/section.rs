//! The section `[storage]` of the configuration.
//!
//! Promises: plain data with a schema; unknown keys are errors; [`StorageSection::settings`] is the only
//! place that turns keys into what a store works with. It reads no file.

use agentsite_protocol::ByteSize;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{StorageLimits, StorageSettings};

/// How much may be stored. `0B` means no limit.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct StorageSection {
    /// Most that one address without a key may store. An IPv6 network (/64) counts as one address.
    pub address: ByteSize,
    /// Most that all callers without a key may store together.
    pub anonymous: ByteSize,
    /// Most that one key, or one user of the authorization server, may store.
    pub key: ByteSize,
    /// Most that an admin may store.
    pub admin: ByteSize,
    /// Most that is stored in all.
    pub total: ByteSize,
    /// Size of a file that is removed when the disk is full, so that deleting still works. At most a
    /// sixteenth of the disk.
    pub ballast: ByteSize,
    /// Free space of the disk below which new work is refused. At most a twentieth of the disk.
    pub reserve: ByteSize,
}

impl Default for StorageSection {
    fn default() -> Self {
        // Callers without a key: one of them gets 64 messages of the largest size a day, and eight at once
        // fill the share of all, which is a fortieth of the whole at most. A key gets a month of a busy
        // program; sixteen full ones fill the site.
        Self {
            address: ByteSize(64 << 20),
            anonymous: ByteSize(512 << 20),
            key: ByteSize(2 << 30),
            admin: ByteSize(0),
            total: ByteSize(32 << 30),
            ballast: ByteSize(32 << 20),
            reserve: ByteSize(256 << 20),
        }
    }
}

impl StorageSection {
    /// The settings that a store opens with.
    #[must_use]
    pub const fn settings(&self) -> StorageSettings {
        let limits = StorageLimits {
            address: self.address.0,
            anonymous: self.anonymous.0,
            key: self.key.0,
            admin: self.admin.0,
            total: self.total.0,
        };
        StorageSettings { limits, ballast: self.ballast.0, reserve: self.reserve.0 }
    }
}
