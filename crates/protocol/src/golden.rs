//! Golden files: wire forms that must not change unnoticed.
//!
//! A file that is not there is written, and the test fails once, so that a developer looks at it.

/// Compares a text with the committed one.
pub(crate) fn check(name: &str, written: &str) {
    let path = format!("{}/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"));
    match std::fs::read_to_string(&path) {
        Ok(committed) => {
            assert_eq!(
                written, committed,
                "{name}: the wire form changed; members of other versions read it"
            );
        }
        Err(_) => {
            std::fs::write(&path, written).unwrap();
            panic!("{name} did not exist and was written: read it, then commit it");
        }
    }
}
