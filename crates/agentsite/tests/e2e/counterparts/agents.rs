//! Agents that the counterparts call: one that never ends, and one that asks back.
//!
//! Each is the whole of an `agent.toml`. What only one story needs is in its own file.

/// Waits for a signal to continue, which never comes.
pub(crate) const SLOW: &str = r#"
name = "slow"
description = "Takes for ever"
visibility = "public"
[runtime]
kind = "exec"
command = ["sh", "-c", "echo begun; exec sleep 3600"]
"#;

/// Asks for a colour, then says it; needs a key.
pub(crate) const ASKER: &str = r#"
name = "asker"
description = "Asks back"
visibility = "peers"
[runtime]
kind = "exec"
command = ["sh", "-c", "read -r text; case $text in ask*) echo 'Which colour?'; exit 10;; *) echo \"it is $text\";; esac"]
"#;
