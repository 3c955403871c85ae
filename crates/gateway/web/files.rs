//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-Bm6SAoP7.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-Bm6SAoP7.js.br"), include_bytes!("assets/Agent-Bm6SAoP7.js.gz")),
    ("assets/Charts-BAInupty.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-BAInupty.js.br"), include_bytes!("assets/Charts-BAInupty.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-BmLsQdqa.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-BmLsQdqa.js.br"), include_bytes!("assets/Chat-BmLsQdqa.js.gz")),
    ("assets/Code-C9hnE7RR.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-C9hnE7RR.js.br"), include_bytes!("assets/Code-C9hnE7RR.js.gz")),
    ("assets/Config-ChTKgLPY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-ChTKgLPY.js.br"), include_bytes!("assets/Config-ChTKgLPY.js.gz")),
    ("assets/Confirm-CrJeRhB5.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-CrJeRhB5.js.br"), include_bytes!("assets/Confirm-CrJeRhB5.js.gz")),
    ("assets/Copy-CsqBHNDu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-CsqBHNDu.js.br"), include_bytes!("assets/Copy-CsqBHNDu.js.gz")),
    ("assets/Entry-B7YCcOBG.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-B7YCcOBG.js.br"), include_bytes!("assets/Entry-B7YCcOBG.js.gz")),
    ("assets/New-CgUOZQkP.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-CgUOZQkP.js.br"), include_bytes!("assets/New-CgUOZQkP.js.gz")),
    ("assets/Operation-Deeo86dY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-Deeo86dY.js.br"), include_bytes!("assets/Operation-Deeo86dY.js.gz")),
    ("assets/Operations-DJ32FiBM.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-DJ32FiBM.js.br"), include_bytes!("assets/Operations-DJ32FiBM.js.gz")),
    ("assets/Parts-DpdAFMAO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-DpdAFMAO.js.br"), include_bytes!("assets/Parts-DpdAFMAO.js.gz")),
    ("assets/Register-BsErpo8T.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-BsErpo8T.js.br"), include_bytes!("assets/Register-BsErpo8T.js.gz")),
    ("assets/Scroll-uVuOCHhu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-uVuOCHhu.js.br"), include_bytes!("assets/Scroll-uVuOCHhu.js.gz")),
    ("assets/State-CItWsiCP.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-CItWsiCP.js.br"), include_bytes!("assets/State-CItWsiCP.js.gz")),
    ("assets/Tabs-CkDZu-AQ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-CkDZu-AQ.js.br"), include_bytes!("assets/Tabs-CkDZu-AQ.js.gz")),
    ("assets/Task-DBb6Mhpj.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-DBb6Mhpj.js.br"), include_bytes!("assets/Task-DBb6Mhpj.js.gz")),
    ("assets/TaskGraph-BaGDCSzh.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-BaGDCSzh.js.br"), include_bytes!("assets/TaskGraph-BaGDCSzh.js.gz")),
    ("assets/TaskGraph-DcglYD2b.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-DcglYD2b.css.br"), include_bytes!("assets/TaskGraph-DcglYD2b.css.gz")),
    ("assets/TaskTable-YDtRZJMc.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-YDtRZJMc.js.br"), include_bytes!("assets/TaskTable-YDtRZJMc.js.gz")),
    ("assets/Tasks-B04fhK75.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-B04fhK75.js.br"), include_bytes!("assets/Tasks-B04fhK75.js.gz")),
    ("assets/Trouble-ZjkSGNj9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-ZjkSGNj9.js.br"), include_bytes!("assets/Trouble-ZjkSGNj9.js.gz")),
    ("assets/Turn-6CxqwhvU.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-6CxqwhvU.js.br"), include_bytes!("assets/Turn-6CxqwhvU.js.gz")),
    ("assets/form-MJs8ewmC.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-MJs8ewmC.js.br"), include_bytes!("assets/form-MJs8ewmC.js.gz")),
    ("assets/index-C2qkpxJd.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-C2qkpxJd.js.br"), include_bytes!("assets/index-C2qkpxJd.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DN4v2aep.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DN4v2aep.js.br"), include_bytes!("assets/taste.svelte-DN4v2aep.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
