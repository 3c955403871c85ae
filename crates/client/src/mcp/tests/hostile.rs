//! Hostile servers, played by the test at the other end of a pipe.
