//! Bytes read as a message between two catalogues, and given to a catalogue as one that a peer sent.
//!
//! Promises: no input panics, hangs or takes memory without bound; a message without oversized records is
//! written as the bytes that it was read from; and the invariants of the catalogue hold after it.
#![no_main]

use agentsite_mesh::catalogue::{Identity, Moment};
use agentsite_mesh::story::{STORY_WORK, SeededRng, Site, at};
use agentsite_mesh::{Catalogue, Input, Limits, Message};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Ok(message) = Message::decode(bytes) else { return };
    let oversized = match &message {
        Message::Push(batch) | Message::Give { batch, .. } => batch.oversized,
        _ => 0,
    };
    if oversized == 0 {
        assert_eq!(message.encode(), bytes);
        assert_eq!(message.encoded_len(), bytes.len());
    }
    let (mine, peer, rng) = (Site::new(1), Site::new(2), SeededRng::new(1));
    let identity = Identity::new(mine.key, mine.work.nonce).expect("the key is Ed25519");
    let mut catalogue = Catalogue::new(identity, Limits { work_bits: STORY_WORK, ..Limits::default() });
    for input in [Input::Connected { peer: peer.id }, Input::Received { peer: peer.id, message }] {
        let _ = catalogue.apply(input, Moment::exact(at(10)), &rng);
    }
    catalogue.audit().expect("the invariants hold after every message");
});
