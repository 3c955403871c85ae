//! Made-up agents are the same at every run.
