//! Sandbox: the process of an agent reaches only what its manifest declares.
