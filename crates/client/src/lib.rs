//! Placeholder header so that the workspace loads.
//! The first real code replaces it.
