//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-Bnv7hQO2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-Bnv7hQO2.js.br"), include_bytes!("assets/Agent-Bnv7hQO2.js.gz")),
    ("assets/Charts-Bl92CtVb.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-Bl92CtVb.js.br"), include_bytes!("assets/Charts-Bl92CtVb.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-DmSXTsVs.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-DmSXTsVs.js.br"), include_bytes!("assets/Chat-DmSXTsVs.js.gz")),
    ("assets/Code-BJbAPE4Q.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-BJbAPE4Q.js.br"), include_bytes!("assets/Code-BJbAPE4Q.js.gz")),
    ("assets/Config-CytzoeSt.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-CytzoeSt.js.br"), include_bytes!("assets/Config-CytzoeSt.js.gz")),
    ("assets/Confirm-DlgNBHSP.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-DlgNBHSP.js.br"), include_bytes!("assets/Confirm-DlgNBHSP.js.gz")),
    ("assets/Copy-BILT9B6x.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BILT9B6x.js.br"), include_bytes!("assets/Copy-BILT9B6x.js.gz")),
    ("assets/Entry-DwC0nQwN.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-DwC0nQwN.js.br"), include_bytes!("assets/Entry-DwC0nQwN.js.gz")),
    ("assets/New-BqZPlCP8.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-BqZPlCP8.js.br"), include_bytes!("assets/New-BqZPlCP8.js.gz")),
    ("assets/Operation-BUq6SPZD.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-BUq6SPZD.js.br"), include_bytes!("assets/Operation-BUq6SPZD.js.gz")),
    ("assets/Operations-5_69Rtcb.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-5_69Rtcb.js.br"), include_bytes!("assets/Operations-5_69Rtcb.js.gz")),
    ("assets/Parts-BGf9zbJy.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-BGf9zbJy.js.br"), include_bytes!("assets/Parts-BGf9zbJy.js.gz")),
    ("assets/Register-DS9F_gAW.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-DS9F_gAW.js.br"), include_bytes!("assets/Register-DS9F_gAW.js.gz")),
    ("assets/Scroll-uVuOCHhu.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-uVuOCHhu.js.br"), include_bytes!("assets/Scroll-uVuOCHhu.js.gz")),
    ("assets/State-HVIxdPeS.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-HVIxdPeS.js.br"), include_bytes!("assets/State-HVIxdPeS.js.gz")),
    ("assets/Tabs-5h6U1Qzg.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-5h6U1Qzg.js.br"), include_bytes!("assets/Tabs-5h6U1Qzg.js.gz")),
    ("assets/Task-BPcaVGRn.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-BPcaVGRn.js.br"), include_bytes!("assets/Task-BPcaVGRn.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-VJpmfjpn.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-VJpmfjpn.js.br"), include_bytes!("assets/TaskGraph-VJpmfjpn.js.gz")),
    ("assets/TaskTable-CdID6qoU.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-CdID6qoU.js.br"), include_bytes!("assets/TaskTable-CdID6qoU.js.gz")),
    ("assets/Tasks-MMCzKPBV.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-MMCzKPBV.js.br"), include_bytes!("assets/Tasks-MMCzKPBV.js.gz")),
    ("assets/Trouble-ZjkSGNj9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-ZjkSGNj9.js.br"), include_bytes!("assets/Trouble-ZjkSGNj9.js.gz")),
    ("assets/Turn-BrIrpJ27.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-BrIrpJ27.js.br"), include_bytes!("assets/Turn-BrIrpJ27.js.gz")),
    ("assets/form-MJs8ewmC.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-MJs8ewmC.js.br"), include_bytes!("assets/form-MJs8ewmC.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/index-DR-XQRaw.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-DR-XQRaw.js.br"), include_bytes!("assets/index-DR-XQRaw.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DN4v2aep.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DN4v2aep.js.br"), include_bytes!("assets/taste.svelte-DN4v2aep.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
