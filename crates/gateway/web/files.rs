//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent--uZDdEM0.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent--uZDdEM0.js.br"), include_bytes!("assets/Agent--uZDdEM0.js.gz")),
    ("assets/Button-BZnOSW1R.js", "text/javascript; charset=utf-8", include_bytes!("assets/Button-BZnOSW1R.js.br"), include_bytes!("assets/Button-BZnOSW1R.js.gz")),
    ("assets/Charts-Bn1td720.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-Bn1td720.js.br"), include_bytes!("assets/Charts-Bn1td720.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Chat-zsy79uAr.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-zsy79uAr.js.br"), include_bytes!("assets/Chat-zsy79uAr.js.gz")),
    ("assets/Code-BqZehEGr.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-BqZehEGr.js.br"), include_bytes!("assets/Code-BqZehEGr.js.gz")),
    ("assets/Config-CgM4Po3d.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-CgM4Po3d.js.br"), include_bytes!("assets/Config-CgM4Po3d.js.gz")),
    ("assets/Confirm-BdqE3N_8.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-BdqE3N_8.js.br"), include_bytes!("assets/Confirm-BdqE3N_8.js.gz")),
    ("assets/Copy-6BoC6tqi.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-6BoC6tqi.js.br"), include_bytes!("assets/Copy-6BoC6tqi.js.gz")),
    ("assets/Entry-BAkbKOAE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-BAkbKOAE.js.br"), include_bytes!("assets/Entry-BAkbKOAE.js.gz")),
    ("assets/Icon-Bs8irgpX.js", "text/javascript; charset=utf-8", include_bytes!("assets/Icon-Bs8irgpX.js.br"), include_bytes!("assets/Icon-Bs8irgpX.js.gz")),
    ("assets/Network-Cxu0CcNF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Network-Cxu0CcNF.js.br"), include_bytes!("assets/Network-Cxu0CcNF.js.gz")),
    ("assets/New-3IAuFmJZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-3IAuFmJZ.js.br"), include_bytes!("assets/New-3IAuFmJZ.js.gz")),
    ("assets/Operation-DKRGnLqJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-DKRGnLqJ.js.br"), include_bytes!("assets/Operation-DKRGnLqJ.js.gz")),
    ("assets/Operations-B8yISwz2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-B8yISwz2.js.br"), include_bytes!("assets/Operations-B8yISwz2.js.gz")),
    ("assets/Parts-C_R3tE7X.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-C_R3tE7X.js.br"), include_bytes!("assets/Parts-C_R3tE7X.js.gz")),
    ("assets/Register-BigOJ2a9.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-BigOJ2a9.js.br"), include_bytes!("assets/Register-BigOJ2a9.js.gz")),
    ("assets/Scroll-D8I1qMAM.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-D8I1qMAM.js.br"), include_bytes!("assets/Scroll-D8I1qMAM.js.gz")),
    ("assets/SiteMap-BbWkp5zs.js", "text/javascript; charset=utf-8", include_bytes!("assets/SiteMap-BbWkp5zs.js.br"), include_bytes!("assets/SiteMap-BbWkp5zs.js.gz")),
    ("assets/State-NW7miG7v.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-NW7miG7v.js.br"), include_bytes!("assets/State-NW7miG7v.js.gz")),
    ("assets/Tabs-C0S-XCWG.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-C0S-XCWG.js.br"), include_bytes!("assets/Tabs-C0S-XCWG.js.gz")),
    ("assets/Task-Cc3Yhamr.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-Cc3Yhamr.js.br"), include_bytes!("assets/Task-Cc3Yhamr.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-pBBlNCXy.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-pBBlNCXy.js.br"), include_bytes!("assets/TaskGraph-pBBlNCXy.js.gz")),
    ("assets/TaskTable-DY4DO7zb.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-DY4DO7zb.js.br"), include_bytes!("assets/TaskTable-DY4DO7zb.js.gz")),
    ("assets/Tasks-B2k5Rq16.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-B2k5Rq16.js.br"), include_bytes!("assets/Tasks-B2k5Rq16.js.gz")),
    ("assets/Trouble-0p0ginG3.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-0p0ginG3.js.br"), include_bytes!("assets/Trouble-0p0ginG3.js.gz")),
    ("assets/Turn-701okikm.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-701okikm.js.br"), include_bytes!("assets/Turn-701okikm.js.gz")),
    ("assets/charts-CY0Fh_pt.js", "text/javascript; charset=utf-8", include_bytes!("assets/charts-CY0Fh_pt.js.br"), include_bytes!("assets/charts-CY0Fh_pt.js.gz")),
    ("assets/form-Cy_c_243.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-Cy_c_243.js.br"), include_bytes!("assets/form-Cy_c_243.js.gz")),
    ("assets/index-CJ0fMDEj.css", "text/css; charset=utf-8", include_bytes!("assets/index-CJ0fMDEj.css.br"), include_bytes!("assets/index-CJ0fMDEj.css.gz")),
    ("assets/index-z39xicKe.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-z39xicKe.js.br"), include_bytes!("assets/index-z39xicKe.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-BWRY4bmT.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-BWRY4bmT.js.br"), include_bytes!("assets/taste.svelte-BWRY4bmT.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
