//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-BvW7kQ_5.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-BvW7kQ_5.js.br"), include_bytes!("assets/Agent-BvW7kQ_5.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-Co2-lqYD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-Co2-lqYD.js.br"), include_bytes!("assets/Charts-Co2-lqYD.js.gz")),
    ("assets/Chat-Cmmis-wo.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-Cmmis-wo.js.br"), include_bytes!("assets/Chat-Cmmis-wo.js.gz")),
    ("assets/Code-Bv5acAlL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-Bv5acAlL.js.br"), include_bytes!("assets/Code-Bv5acAlL.js.gz")),
    ("assets/Config-ByfQgpKe.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-ByfQgpKe.js.br"), include_bytes!("assets/Config-ByfQgpKe.js.gz")),
    ("assets/Confirm-f-G5srJf.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-f-G5srJf.js.br"), include_bytes!("assets/Confirm-f-G5srJf.js.gz")),
    ("assets/Copy-DEUtMTAU.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-DEUtMTAU.js.br"), include_bytes!("assets/Copy-DEUtMTAU.js.gz")),
    ("assets/Entry-CvICm0Mv.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-CvICm0Mv.js.br"), include_bytes!("assets/Entry-CvICm0Mv.js.gz")),
    ("assets/New-Ua5BidM4.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-Ua5BidM4.js.br"), include_bytes!("assets/New-Ua5BidM4.js.gz")),
    ("assets/Operation-CtCnu0U3.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-CtCnu0U3.js.br"), include_bytes!("assets/Operation-CtCnu0U3.js.gz")),
    ("assets/Operations-N5pPQUkP.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-N5pPQUkP.js.br"), include_bytes!("assets/Operations-N5pPQUkP.js.gz")),
    ("assets/Parts-Ci3hISvi.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-Ci3hISvi.js.br"), include_bytes!("assets/Parts-Ci3hISvi.js.gz")),
    ("assets/Register-BmhVVgQS.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-BmhVVgQS.js.br"), include_bytes!("assets/Register-BmhVVgQS.js.gz")),
    ("assets/Scroll-uVuOCHhu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-uVuOCHhu.js.br"), include_bytes!("assets/Scroll-uVuOCHhu.js.gz")),
    ("assets/State-DwzmM9wP.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-DwzmM9wP.js.br"), include_bytes!("assets/State-DwzmM9wP.js.gz")),
    ("assets/Tabs-Cpd2D4py.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-Cpd2D4py.js.br"), include_bytes!("assets/Tabs-Cpd2D4py.js.gz")),
    ("assets/Task-G-juAhZq.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-G-juAhZq.js.br"), include_bytes!("assets/Task-G-juAhZq.js.gz")),
    ("assets/TaskGraph-DcglYD2b.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-DcglYD2b.css.br"), include_bytes!("assets/TaskGraph-DcglYD2b.css.gz")),
    ("assets/TaskGraph-FJ5bNOz0.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-FJ5bNOz0.js.br"), include_bytes!("assets/TaskGraph-FJ5bNOz0.js.gz")),
    ("assets/TaskTable-j_KPVOQy.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-j_KPVOQy.js.br"), include_bytes!("assets/TaskTable-j_KPVOQy.js.gz")),
    ("assets/Tasks-C3lYT1Sl.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-C3lYT1Sl.js.br"), include_bytes!("assets/Tasks-C3lYT1Sl.js.gz")),
    ("assets/Trouble-ZjkSGNj9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-ZjkSGNj9.js.br"), include_bytes!("assets/Trouble-ZjkSGNj9.js.gz")),
    ("assets/Turn-DZ5J5OIE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-DZ5J5OIE.js.br"), include_bytes!("assets/Turn-DZ5J5OIE.js.gz")),
    ("assets/form-MJs8ewmC.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-MJs8ewmC.js.br"), include_bytes!("assets/form-MJs8ewmC.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/index-Df8P9eWy.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-Df8P9eWy.js.br"), include_bytes!("assets/index-Df8P9eWy.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DN4v2aep.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DN4v2aep.js.br"), include_bytes!("assets/taste.svelte-DN4v2aep.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
