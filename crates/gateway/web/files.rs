//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-DqVAqmL6.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-DqVAqmL6.js.br"), include_bytes!("assets/Agent-DqVAqmL6.js.gz")),
    ("assets/Charts-B2bd1H8Z.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-B2bd1H8Z.js.br"), include_bytes!("assets/Charts-B2bd1H8Z.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-BWSD-43B.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-BWSD-43B.js.br"), include_bytes!("assets/Chat-BWSD-43B.js.gz")),
    ("assets/Code-ZXDT8vjp.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-ZXDT8vjp.js.br"), include_bytes!("assets/Code-ZXDT8vjp.js.gz")),
    ("assets/Config-Dwe7VHUM.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-Dwe7VHUM.js.br"), include_bytes!("assets/Config-Dwe7VHUM.js.gz")),
    ("assets/Confirm-DBPw7GBz.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-DBPw7GBz.js.br"), include_bytes!("assets/Confirm-DBPw7GBz.js.gz")),
    ("assets/Copy-BL0N0i9D.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BL0N0i9D.js.br"), include_bytes!("assets/Copy-BL0N0i9D.js.gz")),
    ("assets/Entry-BawVFKbe.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-BawVFKbe.js.br"), include_bytes!("assets/Entry-BawVFKbe.js.gz")),
    ("assets/New-BwfavlbW.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-BwfavlbW.js.br"), include_bytes!("assets/New-BwfavlbW.js.gz")),
    ("assets/Operation-CyXiNQtY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-CyXiNQtY.js.br"), include_bytes!("assets/Operation-CyXiNQtY.js.gz")),
    ("assets/Operations-BeH3jdIu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-BeH3jdIu.js.br"), include_bytes!("assets/Operations-BeH3jdIu.js.gz")),
    ("assets/Parts-F9877TIJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-F9877TIJ.js.br"), include_bytes!("assets/Parts-F9877TIJ.js.gz")),
    ("assets/Register-CBTK-mV2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-CBTK-mV2.js.br"), include_bytes!("assets/Register-CBTK-mV2.js.gz")),
    ("assets/Scroll-bb624Mde.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-bb624Mde.js.br"), include_bytes!("assets/Scroll-bb624Mde.js.gz")),
    ("assets/State-7hpwM-ob.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-7hpwM-ob.js.br"), include_bytes!("assets/State-7hpwM-ob.js.gz")),
    ("assets/Tabs-DspwE6vH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-DspwE6vH.js.br"), include_bytes!("assets/Tabs-DspwE6vH.js.gz")),
    ("assets/Task-DxfR24o-.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-DxfR24o-.js.br"), include_bytes!("assets/Task-DxfR24o-.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-CIn53O5Q.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-CIn53O5Q.js.br"), include_bytes!("assets/TaskGraph-CIn53O5Q.js.gz")),
    ("assets/TaskTable-BycDZGSA.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-BycDZGSA.js.br"), include_bytes!("assets/TaskTable-BycDZGSA.js.gz")),
    ("assets/Tasks-BT6hAMGN.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-BT6hAMGN.js.br"), include_bytes!("assets/Tasks-BT6hAMGN.js.gz")),
    ("assets/Trouble-CujgiZhV.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-CujgiZhV.js.br"), include_bytes!("assets/Trouble-CujgiZhV.js.gz")),
    ("assets/Turn-BxjJBSkb.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-BxjJBSkb.js.br"), include_bytes!("assets/Turn-BxjJBSkb.js.gz")),
    ("assets/form-DaKv9V2i.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-DaKv9V2i.js.br"), include_bytes!("assets/form-DaKv9V2i.js.gz")),
    ("assets/index-BRQQtHlW.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-BRQQtHlW.js.br"), include_bytes!("assets/index-BRQQtHlW.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-B5xpoFXu.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-B5xpoFXu.js.br"), include_bytes!("assets/taste.svelte-B5xpoFXu.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
