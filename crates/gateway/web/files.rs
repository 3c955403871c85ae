//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-U7u0Rl_b.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-U7u0Rl_b.js.br"), include_bytes!("assets/Agent-U7u0Rl_b.js.gz")),
    ("assets/Chat-B7Xq2jKE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-B7Xq2jKE.js.br"), include_bytes!("assets/Chat-B7Xq2jKE.js.gz")),
    ("assets/Code-Do5d8-em.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-Do5d8-em.js.br"), include_bytes!("assets/Code-Do5d8-em.js.gz")),
    ("assets/Copy-B5hOa-3O.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-B5hOa-3O.js.br"), include_bytes!("assets/Copy-B5hOa-3O.js.gz")),
    ("assets/Entry-Bk2mKuPp.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-Bk2mKuPp.js.br"), include_bytes!("assets/Entry-Bk2mKuPp.js.gz")),
    ("assets/Operations-CUVvK51r.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-CUVvK51r.js.br"), include_bytes!("assets/Operations-CUVvK51r.js.gz")),
    ("assets/Register-BfWvbik4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-BfWvbik4.js.br"), include_bytes!("assets/Register-BfWvbik4.js.gz")),
    ("assets/Scroll-C5Uirg9J.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-C5Uirg9J.js.br"), include_bytes!("assets/Scroll-C5Uirg9J.js.gz")),
    ("assets/State-Tzg1N_En.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-Tzg1N_En.js.br"), include_bytes!("assets/State-Tzg1N_En.js.gz")),
    ("assets/Tabs-CzhNoiSe.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-CzhNoiSe.js.br"), include_bytes!("assets/Tabs-CzhNoiSe.js.gz")),
    ("assets/Task-DLDDsoMH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-DLDDsoMH.js.br"), include_bytes!("assets/Task-DLDDsoMH.js.gz")),
    ("assets/TaskTable-ZZQpYlqV.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-ZZQpYlqV.js.br"), include_bytes!("assets/TaskTable-ZZQpYlqV.js.gz")),
    ("assets/Tasks-BKiFaaHD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-BKiFaaHD.js.br"), include_bytes!("assets/Tasks-BKiFaaHD.js.gz")),
    ("assets/Trouble-Bn4W_5OH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-Bn4W_5OH.js.br"), include_bytes!("assets/Trouble-Bn4W_5OH.js.gz")),
    ("assets/Turn-Dwn7wk6o.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-Dwn7wk6o.js.br"), include_bytes!("assets/Turn-Dwn7wk6o.js.gz")),
    ("assets/arrow-left-D_4wgkTb.js", "text/javascript; charset=utf-8", include_bytes!("assets/arrow-left-D_4wgkTb.js.br"), include_bytes!("assets/arrow-left-D_4wgkTb.js.gz")),
    ("assets/index-BqUoGMGx.css", "text/css; charset=utf-8", include_bytes!("assets/index-BqUoGMGx.css.br"), include_bytes!("assets/index-BqUoGMGx.css.gz")),
    ("assets/index-oys4OZzx.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-oys4OZzx.js.br"), include_bytes!("assets/index-oys4OZzx.js.gz")),
    ("assets/markdown-BNji_Z-X.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-BNji_Z-X.js.br"), include_bytes!("assets/markdown-BNji_Z-X.js.gz")),
    ("assets/turn-DfS0SPC2.js", "text/javascript; charset=utf-8", include_bytes!("assets/turn-DfS0SPC2.js.br"), include_bytes!("assets/turn-DfS0SPC2.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
