//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-4Ba5Pewk.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-4Ba5Pewk.js.br"), include_bytes!("assets/Agent-4Ba5Pewk.js.gz")),
    ("assets/Charts-CBKkEUzn.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-CBKkEUzn.js.br"), include_bytes!("assets/Charts-CBKkEUzn.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-SCgwsiS2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-SCgwsiS2.js.br"), include_bytes!("assets/Chat-SCgwsiS2.js.gz")),
    ("assets/Code-BW2yWf8Z.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-BW2yWf8Z.js.br"), include_bytes!("assets/Code-BW2yWf8Z.js.gz")),
    ("assets/Config-B2GOW85S.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-B2GOW85S.js.br"), include_bytes!("assets/Config-B2GOW85S.js.gz")),
    ("assets/Confirm-mkiLlVmO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-mkiLlVmO.js.br"), include_bytes!("assets/Confirm-mkiLlVmO.js.gz")),
    ("assets/Copy-Ig0i5f7x.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-Ig0i5f7x.js.br"), include_bytes!("assets/Copy-Ig0i5f7x.js.gz")),
    ("assets/Entry-DyXNidvH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-DyXNidvH.js.br"), include_bytes!("assets/Entry-DyXNidvH.js.gz")),
    ("assets/New-jM-1wCss.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-jM-1wCss.js.br"), include_bytes!("assets/New-jM-1wCss.js.gz")),
    ("assets/Operation-QM7ve0_r.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-QM7ve0_r.js.br"), include_bytes!("assets/Operation-QM7ve0_r.js.gz")),
    ("assets/Operations-DLJhob9T.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-DLJhob9T.js.br"), include_bytes!("assets/Operations-DLJhob9T.js.gz")),
    ("assets/Parts-DSaJhfFZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-DSaJhfFZ.js.br"), include_bytes!("assets/Parts-DSaJhfFZ.js.gz")),
    ("assets/Register-DAHppLrD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-DAHppLrD.js.br"), include_bytes!("assets/Register-DAHppLrD.js.gz")),
    ("assets/Scroll-D93JcY_c.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-D93JcY_c.js.br"), include_bytes!("assets/Scroll-D93JcY_c.js.gz")),
    ("assets/State-C75QtIwH.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-C75QtIwH.js.br"), include_bytes!("assets/State-C75QtIwH.js.gz")),
    ("assets/Tabs-B_bIHGQH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-B_bIHGQH.js.br"), include_bytes!("assets/Tabs-B_bIHGQH.js.gz")),
    ("assets/Task-CSWwOlqC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-CSWwOlqC.js.br"), include_bytes!("assets/Task-CSWwOlqC.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-D4lmjbQA.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-D4lmjbQA.js.br"), include_bytes!("assets/TaskGraph-D4lmjbQA.js.gz")),
    ("assets/TaskTable-BT2YkZ0a.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-BT2YkZ0a.js.br"), include_bytes!("assets/TaskTable-BT2YkZ0a.js.gz")),
    ("assets/Tasks-pJk0NDH3.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-pJk0NDH3.js.br"), include_bytes!("assets/Tasks-pJk0NDH3.js.gz")),
    ("assets/Trouble-lTo_bTYF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-lTo_bTYF.js.br"), include_bytes!("assets/Trouble-lTo_bTYF.js.gz")),
    ("assets/Turn-bth0CDJv.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-bth0CDJv.js.br"), include_bytes!("assets/Turn-bth0CDJv.js.gz")),
    ("assets/form-BWsx1f1b.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-BWsx1f1b.js.br"), include_bytes!("assets/form-BWsx1f1b.js.gz")),
    ("assets/index-Ct4Isptn.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-Ct4Isptn.js.br"), include_bytes!("assets/index-Ct4Isptn.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-CLQS5GKp.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-CLQS5GKp.js.br"), include_bytes!("assets/taste.svelte-CLQS5GKp.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
