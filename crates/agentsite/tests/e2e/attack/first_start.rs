//! First start: a site that is killed during its first start is complete after the next one.
