//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-DCNT8ak5.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-DCNT8ak5.js.br"), include_bytes!("assets/Agent-DCNT8ak5.js.gz")),
    ("assets/Charts-CiFz9ueu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-CiFz9ueu.js.br"), include_bytes!("assets/Charts-CiFz9ueu.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-B3EDvjzt.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-B3EDvjzt.js.br"), include_bytes!("assets/Chat-B3EDvjzt.js.gz")),
    ("assets/Code-DgBsvZi9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-DgBsvZi9.js.br"), include_bytes!("assets/Code-DgBsvZi9.js.gz")),
    ("assets/Config-BVhdFrZd.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-BVhdFrZd.js.br"), include_bytes!("assets/Config-BVhdFrZd.js.gz")),
    ("assets/Confirm-50FdDPmA.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-50FdDPmA.js.br"), include_bytes!("assets/Confirm-50FdDPmA.js.gz")),
    ("assets/Copy-U312DM_m.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-U312DM_m.js.br"), include_bytes!("assets/Copy-U312DM_m.js.gz")),
    ("assets/Entry-CIf5TvbY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-CIf5TvbY.js.br"), include_bytes!("assets/Entry-CIf5TvbY.js.gz")),
    ("assets/New-CJaW6Ox0.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-CJaW6Ox0.js.br"), include_bytes!("assets/New-CJaW6Ox0.js.gz")),
    ("assets/Operation-BEuVf1Cx.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-BEuVf1Cx.js.br"), include_bytes!("assets/Operation-BEuVf1Cx.js.gz")),
    ("assets/Operations-D4UUDv8Y.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-D4UUDv8Y.js.br"), include_bytes!("assets/Operations-D4UUDv8Y.js.gz")),
    ("assets/Parts-DVW9dIIE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-DVW9dIIE.js.br"), include_bytes!("assets/Parts-DVW9dIIE.js.gz")),
    ("assets/Register-DC4-k8GJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-DC4-k8GJ.js.br"), include_bytes!("assets/Register-DC4-k8GJ.js.gz")),
    ("assets/Scroll-uVuOCHhu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-uVuOCHhu.js.br"), include_bytes!("assets/Scroll-uVuOCHhu.js.gz")),
    ("assets/State-DjA4zJTW.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-DjA4zJTW.js.br"), include_bytes!("assets/State-DjA4zJTW.js.gz")),
    ("assets/Tabs-BtHlzUAG.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-BtHlzUAG.js.br"), include_bytes!("assets/Tabs-BtHlzUAG.js.gz")),
    ("assets/Task-qBploFVv.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-qBploFVv.js.br"), include_bytes!("assets/Task-qBploFVv.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-f1dWZZ1T.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-f1dWZZ1T.js.br"), include_bytes!("assets/TaskGraph-f1dWZZ1T.js.gz")),
    ("assets/TaskTable-CtqMXcbo.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-CtqMXcbo.js.br"), include_bytes!("assets/TaskTable-CtqMXcbo.js.gz")),
    ("assets/Tasks-CMpW1wOz.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-CMpW1wOz.js.br"), include_bytes!("assets/Tasks-CMpW1wOz.js.gz")),
    ("assets/Trouble-ZjkSGNj9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-ZjkSGNj9.js.br"), include_bytes!("assets/Trouble-ZjkSGNj9.js.gz")),
    ("assets/Turn-DwrRvFru.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-DwrRvFru.js.br"), include_bytes!("assets/Turn-DwrRvFru.js.gz")),
    ("assets/form-MJs8ewmC.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-MJs8ewmC.js.br"), include_bytes!("assets/form-MJs8ewmC.js.gz")),
    ("assets/index-C-FqKk8X.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-C-FqKk8X.js.br"), include_bytes!("assets/index-C-FqKk8X.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DN4v2aep.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DN4v2aep.js.br"), include_bytes!("assets/taste.svelte-DN4v2aep.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
