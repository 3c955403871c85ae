//! Audit: heads of the journal, signed with the site's key.
//!
//! Promises: a head is signed after some lines or some minutes, and when the site stops; with it nobody
//! without the key can write another past of the site, not even who has the store's key. Verifying is pure.
//! It does not check the journal itself: the store does.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::{PublicKey, verify_detached};
use agentsite_store::{Change, JournalHead, SharedStore, SignedHead, Unjournaled};
use agentsite_tasks::{Capability, WorkerScope};
use tokio_util::sync::CancellationToken;

use crate::identity::{Identity, JOURNAL_HEAD, head_statement, known_keys};
use crate::{SiteError, Worker};

/// How often is looked whether a head is to be signed.
const LOOK: Duration = Duration::from_secs(60);

/// Lines after which a head is signed at the next look.
const LINES: u64 = 1_000;

/// Looks after which a head is signed even for a single line: ten minutes.
const LOOKS: u32 = 10;

/// What the audit contributes to a site.
pub(crate) fn capability(store: &SharedStore, identity: &Arc<Identity>) -> Capability {
    let (store, identity) = (store.clone(), identity.clone());
    let about = "Signs the journal, so that nobody can write another.";
    Capability::new("audit").worker("audit", about, WorkerScope::Site, move |worker, stop| {
        keep_signed(store.clone(), identity.clone(), worker, stop)
    })
}

/// Signs heads until the site stops.
async fn keep_signed(store: SharedStore, identity: Arc<Identity>, worker: Worker, stop: CancellationToken) {
    let (mut signed, mut looks) = (0, 0);
    loop {
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = stop.cancelled() => return,
        }
        looks += 1;
        let head = match store.journal_head().await {
            Ok(Some(head)) if head.seq > signed => head,
            Ok(_) => continue,
            Err(error) => {
                worker.failing(&error.to_string());
                continue;
            }
        };
        if head.seq - signed < LINES && looks < LOOKS {
            continue;
        }
        match sign(&store, &identity, head).await {
            Ok(()) => {
                (signed, looks) = (head.seq, 0);
                worker.idle(&format!("signed the journal up to line {}", head.seq));
            }
            Err(error) => worker.failing(&error.to_string()),
        }
    }
}

/// Signs the end of the journal.
pub(crate) async fn sign_end(store: &SharedStore, identity: &Identity) -> Result<(), SiteError> {
    match store.journal_head().await? {
        Some(head) => sign(store, identity, head).await,
        None => Ok(()),
    }
}

async fn sign(store: &SharedStore, identity: &Identity, head: JournalHead) -> Result<(), SiteError> {
    let signed = identity.sign_head(&head)?;
    Ok(store.commit(Change::unjournaled(Unjournaled::SignedHead).edit(signed)).await?)
}

/// Checks the signatures of heads against the keys in the site's identity, present and former; gives the
/// site's name.
///
/// # Errors
/// What does not fit, for people.
pub fn verify_heads(identity: Option<&str>, heads: &[SignedHead]) -> Result<Option<String>, String> {
    let Some(identity) = identity else {
        return if heads.is_empty() { Ok(None) } else { Err("the keys of the site are missing".into()) };
    };
    let keys = known_keys(identity).ok_or("the keys of the site do not fit together")?;
    for head in heads {
        let statement = head_statement(&JournalHead { seq: head.seq, hash: head.hash }, head.at);
        let by = |key: &PublicKey| verify_detached(&statement, &head.signature, key, JOURNAL_HEAD).is_ok();
        if !keys.iter().any(by) {
            return Err(format!("the signature of the head at journal line {} is not the site's", head.seq));
        }
    }
    Ok(keys.first().map(PublicKey::did_key))
}
