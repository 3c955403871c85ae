//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-C7okWyQB.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-C7okWyQB.js.br"), include_bytes!("assets/Agent-C7okWyQB.js.gz")),
    ("assets/Chat-CUXfmkgZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-CUXfmkgZ.js.br"), include_bytes!("assets/Chat-CUXfmkgZ.js.gz")),
    ("assets/Code-Lsak_Uj8.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-Lsak_Uj8.js.br"), include_bytes!("assets/Code-Lsak_Uj8.js.gz")),
    ("assets/Copy-BOX6edr1.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BOX6edr1.js.br"), include_bytes!("assets/Copy-BOX6edr1.js.gz")),
    ("assets/Entry-Vs_Cnw90.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-Vs_Cnw90.js.br"), include_bytes!("assets/Entry-Vs_Cnw90.js.gz")),
    ("assets/Operations-CNtQEhzD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-CNtQEhzD.js.br"), include_bytes!("assets/Operations-CNtQEhzD.js.gz")),
    ("assets/Register-Bz7BwVyC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-Bz7BwVyC.js.br"), include_bytes!("assets/Register-Bz7BwVyC.js.gz")),
    ("assets/State-DONoLiYq.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-DONoLiYq.js.br"), include_bytes!("assets/State-DONoLiYq.js.gz")),
    ("assets/Tabs-BA3cvAaC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-BA3cvAaC.js.br"), include_bytes!("assets/Tabs-BA3cvAaC.js.gz")),
    ("assets/Task-BZqnhLrH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-BZqnhLrH.js.br"), include_bytes!("assets/Task-BZqnhLrH.js.gz")),
    ("assets/TaskTable-D2mRNoBs.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-D2mRNoBs.js.br"), include_bytes!("assets/TaskTable-D2mRNoBs.js.gz")),
    ("assets/Tasks-DbaKqL06.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-DbaKqL06.js.br"), include_bytes!("assets/Tasks-DbaKqL06.js.gz")),
    ("assets/Trouble-CSM5cX81.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-CSM5cX81.js.br"), include_bytes!("assets/Trouble-CSM5cX81.js.gz")),
    ("assets/Turn-Bq6kFuf6.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-Bq6kFuf6.js.br"), include_bytes!("assets/Turn-Bq6kFuf6.js.gz")),
    ("assets/arrow-left-CIoOVCxM.js", "text/javascript; charset=utf-8", include_bytes!("assets/arrow-left-CIoOVCxM.js.br"), include_bytes!("assets/arrow-left-CIoOVCxM.js.gz")),
    ("assets/index-Cc-rJxIX.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-Cc-rJxIX.js.br"), include_bytes!("assets/index-Cc-rJxIX.js.gz")),
    ("assets/index-D69jq21g.css", "text/css; charset=utf-8", include_bytes!("assets/index-D69jq21g.css.br"), include_bytes!("assets/index-D69jq21g.css.gz")),
    ("assets/markdown-BNji_Z-X.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-BNji_Z-X.js.br"), include_bytes!("assets/markdown-BNji_Z-X.js.gz")),
    ("assets/turn-Ddb_bloF.js", "text/javascript; charset=utf-8", include_bytes!("assets/turn-Ddb_bloF.js.br"), include_bytes!("assets/turn-Ddb_bloF.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
