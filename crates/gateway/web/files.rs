//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-2SZ1Y9jV.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-2SZ1Y9jV.js.br"), include_bytes!("assets/Agent-2SZ1Y9jV.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-wnVFTGIm.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-wnVFTGIm.js.br"), include_bytes!("assets/Charts-wnVFTGIm.js.gz")),
    ("assets/Chat-DD1U1oel.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-DD1U1oel.js.br"), include_bytes!("assets/Chat-DD1U1oel.js.gz")),
    ("assets/Code-CA_cwbE9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-CA_cwbE9.js.br"), include_bytes!("assets/Code-CA_cwbE9.js.gz")),
    ("assets/Config-BINI8rFw.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-BINI8rFw.js.br"), include_bytes!("assets/Config-BINI8rFw.js.gz")),
    ("assets/Confirm-mFnLoxcP.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-mFnLoxcP.js.br"), include_bytes!("assets/Confirm-mFnLoxcP.js.gz")),
    ("assets/Copy-BTE0C7Uf.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BTE0C7Uf.js.br"), include_bytes!("assets/Copy-BTE0C7Uf.js.gz")),
    ("assets/Entry-radUVdmX.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-radUVdmX.js.br"), include_bytes!("assets/Entry-radUVdmX.js.gz")),
    ("assets/New-BE7Vx3mA.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-BE7Vx3mA.js.br"), include_bytes!("assets/New-BE7Vx3mA.js.gz")),
    ("assets/Operation-Cd-DPZk4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-Cd-DPZk4.js.br"), include_bytes!("assets/Operation-Cd-DPZk4.js.gz")),
    ("assets/Operations-lRlQrlUr.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-lRlQrlUr.js.br"), include_bytes!("assets/Operations-lRlQrlUr.js.gz")),
    ("assets/Parts-q-1WYxRH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-q-1WYxRH.js.br"), include_bytes!("assets/Parts-q-1WYxRH.js.gz")),
    ("assets/Register-B-04J-8n.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-B-04J-8n.js.br"), include_bytes!("assets/Register-B-04J-8n.js.gz")),
    ("assets/Scroll-bb624Mde.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-bb624Mde.js.br"), include_bytes!("assets/Scroll-bb624Mde.js.gz")),
    ("assets/State-BIPh8Xh7.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-BIPh8Xh7.js.br"), include_bytes!("assets/State-BIPh8Xh7.js.gz")),
    ("assets/Tabs-BB9nOhlL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-BB9nOhlL.js.br"), include_bytes!("assets/Tabs-BB9nOhlL.js.gz")),
    ("assets/Task-NjRkvP5w.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-NjRkvP5w.js.br"), include_bytes!("assets/Task-NjRkvP5w.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-Ch1LDMWz.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-Ch1LDMWz.js.br"), include_bytes!("assets/TaskGraph-Ch1LDMWz.js.gz")),
    ("assets/TaskTable-CK9rKplZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-CK9rKplZ.js.br"), include_bytes!("assets/TaskTable-CK9rKplZ.js.gz")),
    ("assets/Tasks-P6lIlkIY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-P6lIlkIY.js.br"), include_bytes!("assets/Tasks-P6lIlkIY.js.gz")),
    ("assets/Trouble-CujgiZhV.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-CujgiZhV.js.br"), include_bytes!("assets/Trouble-CujgiZhV.js.gz")),
    ("assets/Turn-CeYtJ3OE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-CeYtJ3OE.js.br"), include_bytes!("assets/Turn-CeYtJ3OE.js.gz")),
    ("assets/form-DaKv9V2i.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-DaKv9V2i.js.br"), include_bytes!("assets/form-DaKv9V2i.js.gz")),
    ("assets/index-B8hFhr3T.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-B8hFhr3T.js.br"), include_bytes!("assets/index-B8hFhr3T.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-B5xpoFXu.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-B5xpoFXu.js.br"), include_bytes!("assets/taste.svelte-B5xpoFXu.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
