//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-au4BYgbl.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-au4BYgbl.js.br"), include_bytes!("assets/Agent-au4BYgbl.js.gz")),
    ("assets/Chat-CNMoz3Xl.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-CNMoz3Xl.js.br"), include_bytes!("assets/Chat-CNMoz3Xl.js.gz")),
    ("assets/Code-CrxGMfLE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-CrxGMfLE.js.br"), include_bytes!("assets/Code-CrxGMfLE.js.gz")),
    ("assets/Copy-4voVZ_gC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-4voVZ_gC.js.br"), include_bytes!("assets/Copy-4voVZ_gC.js.gz")),
    ("assets/Entry-BLU8vAg3.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-BLU8vAg3.js.br"), include_bytes!("assets/Entry-BLU8vAg3.js.gz")),
    ("assets/Operations-DqTsdsgG.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-DqTsdsgG.js.br"), include_bytes!("assets/Operations-DqTsdsgG.js.gz")),
    ("assets/Register-GRQPlO50.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-GRQPlO50.js.br"), include_bytes!("assets/Register-GRQPlO50.js.gz")),
    ("assets/Scroll-C5Uirg9J.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-C5Uirg9J.js.br"), include_bytes!("assets/Scroll-C5Uirg9J.js.gz")),
    ("assets/State-By7zA3L8.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-By7zA3L8.js.br"), include_bytes!("assets/State-By7zA3L8.js.gz")),
    ("assets/Tabs-CiSaB8PX.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-CiSaB8PX.js.br"), include_bytes!("assets/Tabs-CiSaB8PX.js.gz")),
    ("assets/Task-BEZ35SPL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-BEZ35SPL.js.br"), include_bytes!("assets/Task-BEZ35SPL.js.gz")),
    ("assets/TaskTable-D62LRDwp.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-D62LRDwp.js.br"), include_bytes!("assets/TaskTable-D62LRDwp.js.gz")),
    ("assets/Tasks-Cod2p_2t.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-Cod2p_2t.js.br"), include_bytes!("assets/Tasks-Cod2p_2t.js.gz")),
    ("assets/Trouble-Bn4W_5OH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-Bn4W_5OH.js.br"), include_bytes!("assets/Trouble-Bn4W_5OH.js.gz")),
    ("assets/Turn-DFrvp7LE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-DFrvp7LE.js.br"), include_bytes!("assets/Turn-DFrvp7LE.js.gz")),
    ("assets/arrow-left-BkG4bQAC.js", "text/javascript; charset=utf-8", include_bytes!("assets/arrow-left-BkG4bQAC.js.br"), include_bytes!("assets/arrow-left-BkG4bQAC.js.gz")),
    ("assets/index-Bhx4lLZZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-Bhx4lLZZ.js.br"), include_bytes!("assets/index-Bhx4lLZZ.js.gz")),
    ("assets/index-BqUoGMGx.css", "text/css; charset=utf-8", include_bytes!("assets/index-BqUoGMGx.css.br"), include_bytes!("assets/index-BqUoGMGx.css.gz")),
    ("assets/markdown-BNji_Z-X.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-BNji_Z-X.js.br"), include_bytes!("assets/markdown-BNji_Z-X.js.gz")),
    ("assets/turn-DfS0SPC2.js", "text/javascript; charset=utf-8", include_bytes!("assets/turn-DfS0SPC2.js.br"), include_bytes!("assets/turn-DfS0SPC2.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
