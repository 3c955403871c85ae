//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-DqxhWhF4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-DqxhWhF4.js.br"), include_bytes!("assets/Agent-DqxhWhF4.js.gz")),
    ("assets/Charts-CKg_zAVK.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-CKg_zAVK.js.br"), include_bytes!("assets/Charts-CKg_zAVK.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-BqUZexZu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-BqUZexZu.js.br"), include_bytes!("assets/Chat-BqUZexZu.js.gz")),
    ("assets/Code-E4aR0gLL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-E4aR0gLL.js.br"), include_bytes!("assets/Code-E4aR0gLL.js.gz")),
    ("assets/Config-C9Be0pQj.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-C9Be0pQj.js.br"), include_bytes!("assets/Config-C9Be0pQj.js.gz")),
    ("assets/Confirm-C7dDG9E8.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-C7dDG9E8.js.br"), include_bytes!("assets/Confirm-C7dDG9E8.js.gz")),
    ("assets/Copy-WmHC3OgE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-WmHC3OgE.js.br"), include_bytes!("assets/Copy-WmHC3OgE.js.gz")),
    ("assets/Entry-Dc-wvORm.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-Dc-wvORm.js.br"), include_bytes!("assets/Entry-Dc-wvORm.js.gz")),
    ("assets/New-Bo80CRnI.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-Bo80CRnI.js.br"), include_bytes!("assets/New-Bo80CRnI.js.gz")),
    ("assets/Operation-Bhp9Bfhj.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-Bhp9Bfhj.js.br"), include_bytes!("assets/Operation-Bhp9Bfhj.js.gz")),
    ("assets/Operations-Db_oU7Zk.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-Db_oU7Zk.js.br"), include_bytes!("assets/Operations-Db_oU7Zk.js.gz")),
    ("assets/Parts-DtiEfm1N.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-DtiEfm1N.js.br"), include_bytes!("assets/Parts-DtiEfm1N.js.gz")),
    ("assets/Register-CIT7TNBI.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-CIT7TNBI.js.br"), include_bytes!("assets/Register-CIT7TNBI.js.gz")),
    ("assets/Scroll-uVuOCHhu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-uVuOCHhu.js.br"), include_bytes!("assets/Scroll-uVuOCHhu.js.gz")),
    ("assets/State-Dn3n062K.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-Dn3n062K.js.br"), include_bytes!("assets/State-Dn3n062K.js.gz")),
    ("assets/Tabs--QWSpZKE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs--QWSpZKE.js.br"), include_bytes!("assets/Tabs--QWSpZKE.js.gz")),
    ("assets/Task-DFd5ZRv3.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-DFd5ZRv3.js.br"), include_bytes!("assets/Task-DFd5ZRv3.js.gz")),
    ("assets/TaskGraph-DTzixpjW.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-DTzixpjW.js.br"), include_bytes!("assets/TaskGraph-DTzixpjW.js.gz")),
    ("assets/TaskGraph-DcglYD2b.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-DcglYD2b.css.br"), include_bytes!("assets/TaskGraph-DcglYD2b.css.gz")),
    ("assets/TaskTable-Dnp4f6rZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-Dnp4f6rZ.js.br"), include_bytes!("assets/TaskTable-Dnp4f6rZ.js.gz")),
    ("assets/Tasks-C-bvAVO4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-C-bvAVO4.js.br"), include_bytes!("assets/Tasks-C-bvAVO4.js.gz")),
    ("assets/Trouble-ZjkSGNj9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-ZjkSGNj9.js.br"), include_bytes!("assets/Trouble-ZjkSGNj9.js.gz")),
    ("assets/Turn-C5gEXKV9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-C5gEXKV9.js.br"), include_bytes!("assets/Turn-C5gEXKV9.js.gz")),
    ("assets/form-MJs8ewmC.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-MJs8ewmC.js.br"), include_bytes!("assets/form-MJs8ewmC.js.gz")),
    ("assets/index-CMQe6kUC.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-CMQe6kUC.js.br"), include_bytes!("assets/index-CMQe6kUC.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DN4v2aep.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DN4v2aep.js.br"), include_bytes!("assets/taste.svelte-DN4v2aep.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
