//! Facts about a site, told as stories.
//! Each runs on the memory store with a virtual clock.
