//! Tampering: an edit of the data folder behind the back of the site is found and named.
