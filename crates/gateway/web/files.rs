//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-cCCGsjRS.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-cCCGsjRS.js.br"), include_bytes!("assets/Agent-cCCGsjRS.js.gz")),
    ("assets/Charts-BUeuETGD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-BUeuETGD.js.br"), include_bytes!("assets/Charts-BUeuETGD.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-DncjPkGM.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-DncjPkGM.js.br"), include_bytes!("assets/Chat-DncjPkGM.js.gz")),
    ("assets/Code-ekKK-K7k.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-ekKK-K7k.js.br"), include_bytes!("assets/Code-ekKK-K7k.js.gz")),
    ("assets/Config-C0NkF3yX.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-C0NkF3yX.js.br"), include_bytes!("assets/Config-C0NkF3yX.js.gz")),
    ("assets/Confirm-DS8PGNcO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-DS8PGNcO.js.br"), include_bytes!("assets/Confirm-DS8PGNcO.js.gz")),
    ("assets/Copy-BIQdjj8P.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BIQdjj8P.js.br"), include_bytes!("assets/Copy-BIQdjj8P.js.gz")),
    ("assets/Entry-DYcOfSd4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-DYcOfSd4.js.br"), include_bytes!("assets/Entry-DYcOfSd4.js.gz")),
    ("assets/New-Bjl0xF6m.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-Bjl0xF6m.js.br"), include_bytes!("assets/New-Bjl0xF6m.js.gz")),
    ("assets/Operation-4OPh93JO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-4OPh93JO.js.br"), include_bytes!("assets/Operation-4OPh93JO.js.gz")),
    ("assets/Operations-D_e1g97L.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-D_e1g97L.js.br"), include_bytes!("assets/Operations-D_e1g97L.js.gz")),
    ("assets/Parts-1_C3rG6X.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-1_C3rG6X.js.br"), include_bytes!("assets/Parts-1_C3rG6X.js.gz")),
    ("assets/Register-BRcuQAVK.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-BRcuQAVK.js.br"), include_bytes!("assets/Register-BRcuQAVK.js.gz")),
    ("assets/Scroll-uVuOCHhu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-uVuOCHhu.js.br"), include_bytes!("assets/Scroll-uVuOCHhu.js.gz")),
    ("assets/State-DQE9tc_3.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-DQE9tc_3.js.br"), include_bytes!("assets/State-DQE9tc_3.js.gz")),
    ("assets/Tabs-DJP2IdoO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-DJP2IdoO.js.br"), include_bytes!("assets/Tabs-DJP2IdoO.js.gz")),
    ("assets/Task-BEEYKAUS.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-BEEYKAUS.js.br"), include_bytes!("assets/Task-BEEYKAUS.js.gz")),
    ("assets/TaskGraph-B0ksZMSe.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-B0ksZMSe.js.br"), include_bytes!("assets/TaskGraph-B0ksZMSe.js.gz")),
    ("assets/TaskGraph-DcglYD2b.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-DcglYD2b.css.br"), include_bytes!("assets/TaskGraph-DcglYD2b.css.gz")),
    ("assets/TaskTable-C3R9I0mq.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-C3R9I0mq.js.br"), include_bytes!("assets/TaskTable-C3R9I0mq.js.gz")),
    ("assets/Tasks-cnydZSZi.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-cnydZSZi.js.br"), include_bytes!("assets/Tasks-cnydZSZi.js.gz")),
    ("assets/Trouble-ZjkSGNj9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-ZjkSGNj9.js.br"), include_bytes!("assets/Trouble-ZjkSGNj9.js.gz")),
    ("assets/Turn-B3f6Zfl4.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-B3f6Zfl4.js.br"), include_bytes!("assets/Turn-B3f6Zfl4.js.gz")),
    ("assets/form-MJs8ewmC.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-MJs8ewmC.js.br"), include_bytes!("assets/form-MJs8ewmC.js.gz")),
    ("assets/index-BJq-A980.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-BJq-A980.js.br"), include_bytes!("assets/index-BJq-A980.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DN4v2aep.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DN4v2aep.js.br"), include_bytes!("assets/taste.svelte-DN4v2aep.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
