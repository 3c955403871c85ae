//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-UDVwxmCR.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-UDVwxmCR.js.br"), include_bytes!("assets/Agent-UDVwxmCR.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-cciqQ1as.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-cciqQ1as.js.br"), include_bytes!("assets/Charts-cciqQ1as.js.gz")),
    ("assets/Chat-ChaGnxsU.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-ChaGnxsU.js.br"), include_bytes!("assets/Chat-ChaGnxsU.js.gz")),
    ("assets/Code-DMs9-CHC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-DMs9-CHC.js.br"), include_bytes!("assets/Code-DMs9-CHC.js.gz")),
    ("assets/Config-TKcNzHeS.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-TKcNzHeS.js.br"), include_bytes!("assets/Config-TKcNzHeS.js.gz")),
    ("assets/Confirm-CftdgC1a.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-CftdgC1a.js.br"), include_bytes!("assets/Confirm-CftdgC1a.js.gz")),
    ("assets/Copy-Cj_e_wNm.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-Cj_e_wNm.js.br"), include_bytes!("assets/Copy-Cj_e_wNm.js.gz")),
    ("assets/Entry-BewwRKFT.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-BewwRKFT.js.br"), include_bytes!("assets/Entry-BewwRKFT.js.gz")),
    ("assets/New-Bex0pYej.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-Bex0pYej.js.br"), include_bytes!("assets/New-Bex0pYej.js.gz")),
    ("assets/Operation-Oa_UChhC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-Oa_UChhC.js.br"), include_bytes!("assets/Operation-Oa_UChhC.js.gz")),
    ("assets/Operations-DFhqaf-w.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-DFhqaf-w.js.br"), include_bytes!("assets/Operations-DFhqaf-w.js.gz")),
    ("assets/Parts-YM1W3p4B.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-YM1W3p4B.js.br"), include_bytes!("assets/Parts-YM1W3p4B.js.gz")),
    ("assets/Register-DQyZMqFD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-DQyZMqFD.js.br"), include_bytes!("assets/Register-DQyZMqFD.js.gz")),
    ("assets/Scroll-_ZXmt3w5.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-_ZXmt3w5.js.br"), include_bytes!("assets/Scroll-_ZXmt3w5.js.gz")),
    ("assets/State-DpM9O3Gx.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-DpM9O3Gx.js.br"), include_bytes!("assets/State-DpM9O3Gx.js.gz")),
    ("assets/Tabs-Be2SslY4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-Be2SslY4.js.br"), include_bytes!("assets/Tabs-Be2SslY4.js.gz")),
    ("assets/Task-zA6WxokT.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-zA6WxokT.js.br"), include_bytes!("assets/Task-zA6WxokT.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-bN0Nuc5v.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-bN0Nuc5v.js.br"), include_bytes!("assets/TaskGraph-bN0Nuc5v.js.gz")),
    ("assets/TaskTable-DbCrD82p.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-DbCrD82p.js.br"), include_bytes!("assets/TaskTable-DbCrD82p.js.gz")),
    ("assets/Tasks-C63aRUqw.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-C63aRUqw.js.br"), include_bytes!("assets/Tasks-C63aRUqw.js.gz")),
    ("assets/Trouble-bMjSzn1d.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-bMjSzn1d.js.br"), include_bytes!("assets/Trouble-bMjSzn1d.js.gz")),
    ("assets/Turn-UA7-WdO7.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-UA7-WdO7.js.br"), include_bytes!("assets/Turn-UA7-WdO7.js.gz")),
    ("assets/form-CG0Vha2v.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-CG0Vha2v.js.br"), include_bytes!("assets/form-CG0Vha2v.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/index-wcDvlJiK.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-wcDvlJiK.js.br"), include_bytes!("assets/index-wcDvlJiK.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-B1hRNbUi.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-B1hRNbUi.js.br"), include_bytes!("assets/taste.svelte-B1hRNbUi.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
