//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-CWK2wzyG.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-CWK2wzyG.js.br"), include_bytes!("assets/Agent-CWK2wzyG.js.gz")),
    ("assets/Chat-BYnBWOK4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-BYnBWOK4.js.br"), include_bytes!("assets/Chat-BYnBWOK4.js.gz")),
    ("assets/Code-Dkcq6lpL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-Dkcq6lpL.js.br"), include_bytes!("assets/Code-Dkcq6lpL.js.gz")),
    ("assets/Copy-BR9Tojda.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BR9Tojda.js.br"), include_bytes!("assets/Copy-BR9Tojda.js.gz")),
    ("assets/Entry-CzSIP67w.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-CzSIP67w.js.br"), include_bytes!("assets/Entry-CzSIP67w.js.gz")),
    ("assets/Operations-Bs4orUKN.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-Bs4orUKN.js.br"), include_bytes!("assets/Operations-Bs4orUKN.js.gz")),
    ("assets/Register-CosHQJmq.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-CosHQJmq.js.br"), include_bytes!("assets/Register-CosHQJmq.js.gz")),
    ("assets/Scroll-BoGn0Mio.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-BoGn0Mio.js.br"), include_bytes!("assets/Scroll-BoGn0Mio.js.gz")),
    ("assets/State-BAwXn_Ex.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-BAwXn_Ex.js.br"), include_bytes!("assets/State-BAwXn_Ex.js.gz")),
    ("assets/Tabs-CcuElO2R.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-CcuElO2R.js.br"), include_bytes!("assets/Tabs-CcuElO2R.js.gz")),
    ("assets/Task-1POK-h2j.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-1POK-h2j.js.br"), include_bytes!("assets/Task-1POK-h2j.js.gz")),
    ("assets/TaskTable-D7ixW2h-.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-D7ixW2h-.js.br"), include_bytes!("assets/TaskTable-D7ixW2h-.js.gz")),
    ("assets/Tasks-lsB5MYal.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-lsB5MYal.js.br"), include_bytes!("assets/Tasks-lsB5MYal.js.gz")),
    ("assets/Trouble-CSM5cX81.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-CSM5cX81.js.br"), include_bytes!("assets/Trouble-CSM5cX81.js.gz")),
    ("assets/Turn-BLOevKZ2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-BLOevKZ2.js.br"), include_bytes!("assets/Turn-BLOevKZ2.js.gz")),
    ("assets/arrow-left-BuhtwaTi.js", "text/javascript; charset=utf-8", include_bytes!("assets/arrow-left-BuhtwaTi.js.br"), include_bytes!("assets/arrow-left-BuhtwaTi.js.gz")),
    ("assets/index-CcjZ5LLW.css", "text/css; charset=utf-8", include_bytes!("assets/index-CcjZ5LLW.css.br"), include_bytes!("assets/index-CcjZ5LLW.css.gz")),
    ("assets/index-z0zBk3FT.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-z0zBk3FT.js.br"), include_bytes!("assets/index-z0zBk3FT.js.gz")),
    ("assets/markdown-BNji_Z-X.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-BNji_Z-X.js.br"), include_bytes!("assets/markdown-BNji_Z-X.js.gz")),
    ("assets/turn-Ddb_bloF.js", "text/javascript; charset=utf-8", include_bytes!("assets/turn-Ddb_bloF.js.br"), include_bytes!("assets/turn-Ddb_bloF.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
