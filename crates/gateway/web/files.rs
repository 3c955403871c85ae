//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-CIHprKGm.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-CIHprKGm.js.br"), include_bytes!("assets/Agent-CIHprKGm.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-SC95nzjo.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-SC95nzjo.js.br"), include_bytes!("assets/Charts-SC95nzjo.js.gz")),
    ("assets/Chat-DB6Ipv3U.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-DB6Ipv3U.js.br"), include_bytes!("assets/Chat-DB6Ipv3U.js.gz")),
    ("assets/Code-oOtA8n1w.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-oOtA8n1w.js.br"), include_bytes!("assets/Code-oOtA8n1w.js.gz")),
    ("assets/Config-BkXS0fSJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-BkXS0fSJ.js.br"), include_bytes!("assets/Config-BkXS0fSJ.js.gz")),
    ("assets/Confirm-BC9IBBRK.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-BC9IBBRK.js.br"), include_bytes!("assets/Confirm-BC9IBBRK.js.gz")),
    ("assets/Copy-DqCkbY1c.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-DqCkbY1c.js.br"), include_bytes!("assets/Copy-DqCkbY1c.js.gz")),
    ("assets/Entry-BfbTwlpF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-BfbTwlpF.js.br"), include_bytes!("assets/Entry-BfbTwlpF.js.gz")),
    ("assets/New-SXtBH76f.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-SXtBH76f.js.br"), include_bytes!("assets/New-SXtBH76f.js.gz")),
    ("assets/Operation-CY_1YKKM.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-CY_1YKKM.js.br"), include_bytes!("assets/Operation-CY_1YKKM.js.gz")),
    ("assets/Operations-BGP_-1TT.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-BGP_-1TT.js.br"), include_bytes!("assets/Operations-BGP_-1TT.js.gz")),
    ("assets/Parts-CffW1-ZN.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-CffW1-ZN.js.br"), include_bytes!("assets/Parts-CffW1-ZN.js.gz")),
    ("assets/Register-qZ-mZvAj.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-qZ-mZvAj.js.br"), include_bytes!("assets/Register-qZ-mZvAj.js.gz")),
    ("assets/Scroll-D93JcY_c.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-D93JcY_c.js.br"), include_bytes!("assets/Scroll-D93JcY_c.js.gz")),
    ("assets/State-Dg2nga8t.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-Dg2nga8t.js.br"), include_bytes!("assets/State-Dg2nga8t.js.gz")),
    ("assets/Tabs-BI54604b.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-BI54604b.js.br"), include_bytes!("assets/Tabs-BI54604b.js.gz")),
    ("assets/Task-D_7e0DTO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-D_7e0DTO.js.br"), include_bytes!("assets/Task-D_7e0DTO.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-DXaWgmMG.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-DXaWgmMG.js.br"), include_bytes!("assets/TaskGraph-DXaWgmMG.js.gz")),
    ("assets/TaskTable-CWyDbHlf.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-CWyDbHlf.js.br"), include_bytes!("assets/TaskTable-CWyDbHlf.js.gz")),
    ("assets/Tasks-DzPjKenj.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-DzPjKenj.js.br"), include_bytes!("assets/Tasks-DzPjKenj.js.gz")),
    ("assets/Trouble-lTo_bTYF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-lTo_bTYF.js.br"), include_bytes!("assets/Trouble-lTo_bTYF.js.gz")),
    ("assets/Turn-D5fj-ZDd.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-D5fj-ZDd.js.br"), include_bytes!("assets/Turn-D5fj-ZDd.js.gz")),
    ("assets/form-BWsx1f1b.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-BWsx1f1b.js.br"), include_bytes!("assets/form-BWsx1f1b.js.gz")),
    ("assets/index-CnM42Uv-.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-CnM42Uv-.js.br"), include_bytes!("assets/index-CnM42Uv-.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-CLQS5GKp.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-CLQS5GKp.js.br"), include_bytes!("assets/taste.svelte-CLQS5GKp.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
