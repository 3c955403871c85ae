//! Bytes read as a record of the mesh, as the catalogue reads what a peer sends and what was on its disk.
//!
//! Promises: no input panics, hangs or takes memory without bound; a record that was read keeps its bytes, is
//! read from them again as the same value, and has a body.
#![no_main]

use agentsite_mesh::Claim;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(claim) = Claim::decode(bytes) {
        assert_eq!(claim.bytes(), bytes);
        assert_eq!(Claim::decode(claim.bytes()).as_ref(), Ok(&claim));
        let _ = claim.body();
        let _ = claim.verify();
    }
});
