//! Secrets: no file, log line, backup or terminal shows what it should not.
