//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-Y_0UAz72.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-Y_0UAz72.js.br"), include_bytes!("assets/Agent-Y_0UAz72.js.gz")),
    ("assets/Charts-B4ShePUN.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-B4ShePUN.js.br"), include_bytes!("assets/Charts-B4ShePUN.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-NUpDbEZr.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-NUpDbEZr.js.br"), include_bytes!("assets/Chat-NUpDbEZr.js.gz")),
    ("assets/Code-f3kUYPG4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-f3kUYPG4.js.br"), include_bytes!("assets/Code-f3kUYPG4.js.gz")),
    ("assets/Config-CuQx7mTm.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-CuQx7mTm.js.br"), include_bytes!("assets/Config-CuQx7mTm.js.gz")),
    ("assets/Confirm-Cz119jxb.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-Cz119jxb.js.br"), include_bytes!("assets/Confirm-Cz119jxb.js.gz")),
    ("assets/Copy-BBJTimSJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BBJTimSJ.js.br"), include_bytes!("assets/Copy-BBJTimSJ.js.gz")),
    ("assets/Entry-CE7rcHRZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-CE7rcHRZ.js.br"), include_bytes!("assets/Entry-CE7rcHRZ.js.gz")),
    ("assets/New-DDzw1fA8.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-DDzw1fA8.js.br"), include_bytes!("assets/New-DDzw1fA8.js.gz")),
    ("assets/Operation-BDMhSZPe.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-BDMhSZPe.js.br"), include_bytes!("assets/Operation-BDMhSZPe.js.gz")),
    ("assets/Operations--mpfQT1w.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations--mpfQT1w.js.br"), include_bytes!("assets/Operations--mpfQT1w.js.gz")),
    ("assets/Parts-CnG_1Hxt.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-CnG_1Hxt.js.br"), include_bytes!("assets/Parts-CnG_1Hxt.js.gz")),
    ("assets/Register-DNrghywz.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-DNrghywz.js.br"), include_bytes!("assets/Register-DNrghywz.js.gz")),
    ("assets/Scroll-bb624Mde.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-bb624Mde.js.br"), include_bytes!("assets/Scroll-bb624Mde.js.gz")),
    ("assets/State-NNXqEJXC.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-NNXqEJXC.js.br"), include_bytes!("assets/State-NNXqEJXC.js.gz")),
    ("assets/Tabs-D_QsxnDg.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-D_QsxnDg.js.br"), include_bytes!("assets/Tabs-D_QsxnDg.js.gz")),
    ("assets/Task-Bvy9ufZ7.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-Bvy9ufZ7.js.br"), include_bytes!("assets/Task-Bvy9ufZ7.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-emkEKHuj.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-emkEKHuj.js.br"), include_bytes!("assets/TaskGraph-emkEKHuj.js.gz")),
    ("assets/TaskTable-GBWk9Ydd.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-GBWk9Ydd.js.br"), include_bytes!("assets/TaskTable-GBWk9Ydd.js.gz")),
    ("assets/Tasks-C1wJLdDL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-C1wJLdDL.js.br"), include_bytes!("assets/Tasks-C1wJLdDL.js.gz")),
    ("assets/Trouble-CujgiZhV.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-CujgiZhV.js.br"), include_bytes!("assets/Trouble-CujgiZhV.js.gz")),
    ("assets/Turn-CwIwy5Op.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-CwIwy5Op.js.br"), include_bytes!("assets/Turn-CwIwy5Op.js.gz")),
    ("assets/form-DaKv9V2i.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-DaKv9V2i.js.br"), include_bytes!("assets/form-DaKv9V2i.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/index-Frh2k8g7.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-Frh2k8g7.js.br"), include_bytes!("assets/index-Frh2k8g7.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-B5xpoFXu.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-B5xpoFXu.js.br"), include_bytes!("assets/taste.svelte-B5xpoFXu.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
