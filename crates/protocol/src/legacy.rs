//! A2A 0.3: translation between its JSON and that of A2A 1.0, in both directions.
//!
//! Promises: pure, total and bounded: it walks the objects that the protocol defines and never what callers
//! put into `metadata` or `data`; no input panics (it is fuzzed). Members that neither version knows survive.
//! What both versions can say comes back the same (1.0 to 0.3 to 1.0). To *upgrade* is to make 1.0 of 0.3, to
//! *downgrade* the reverse; methods are always named by their 1.0 names. A server upgrades requests and
//! downgrades answers; a client downgrades requests and upgrades answers. Error codes need no translation:
//! those of 0.3 mean the same in 1.0.
//!
//! It does not judge content: what is missing or of the wrong type is left for the 1.0 reader to refuse. The
//! members of 0.3 that 1.0 lacks (`final`, `kind`) are made from what is there.

mod card;
mod content;
mod failure;
mod member;
mod method;
mod push;
mod request;
mod result;
mod security;
mod task;
#[cfg(test)]
mod tests;

pub use card::{hybrid_card, upgrade_card, without_legacy_members};
pub use failure::NotLegacy;
pub use method::{METHODS, is_legacy_version, modern_method, old_method};
pub use request::{downgrade_request, upgrade_request};
pub use result::{downgrade_item, downgrade_result, upgrade_item, upgrade_result};

/// Puts a value through every translation; the fuzz target and the property tests call it.
#[doc(hidden)]
pub fn survive(value: &serde_json::Value) {
    for (modern, old) in METHODS {
        let _ = upgrade_request(old, value.clone());
        let _ = downgrade_request(modern, value.clone());
        let _ = upgrade_result(modern, value.clone());
        let _ = downgrade_result(modern, value.clone());
    }
    let _ = upgrade_item(downgrade_item(value.clone()));
    let card = upgrade_card(value.clone());
    assert_eq!(without_legacy_members(&hybrid_card(card.clone())), without_legacy_members(&card));
}
