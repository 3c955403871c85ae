//! (first form)
//! Filled next.
