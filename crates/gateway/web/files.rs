//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-hmLePHLY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-hmLePHLY.js.br"), include_bytes!("assets/Agent-hmLePHLY.js.gz")),
    ("assets/Button-Cif8k7kt.js", "text/javascript; charset=utf-8", include_bytes!("assets/Button-Cif8k7kt.js.br"), include_bytes!("assets/Button-Cif8k7kt.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-DVPK_phF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-DVPK_phF.js.br"), include_bytes!("assets/Charts-DVPK_phF.js.gz")),
    ("assets/Chat-BjrHC1Ub.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-BjrHC1Ub.js.br"), include_bytes!("assets/Chat-BjrHC1Ub.js.gz")),
    ("assets/Code-C1A6aROj.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-C1A6aROj.js.br"), include_bytes!("assets/Code-C1A6aROj.js.gz")),
    ("assets/Config-BLV9ve9I.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-BLV9ve9I.js.br"), include_bytes!("assets/Config-BLV9ve9I.js.gz")),
    ("assets/Confirm-B4xo9U53.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-B4xo9U53.js.br"), include_bytes!("assets/Confirm-B4xo9U53.js.gz")),
    ("assets/Copy-JkgkwqLQ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-JkgkwqLQ.js.br"), include_bytes!("assets/Copy-JkgkwqLQ.js.gz")),
    ("assets/Entry-BcnoqIWq.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-BcnoqIWq.js.br"), include_bytes!("assets/Entry-BcnoqIWq.js.gz")),
    ("assets/Icon-fl_o9VHO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Icon-fl_o9VHO.js.br"), include_bytes!("assets/Icon-fl_o9VHO.js.gz")),
    ("assets/Network-xNbprYFY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Network-xNbprYFY.js.br"), include_bytes!("assets/Network-xNbprYFY.js.gz")),
    ("assets/New-DqL0H_x5.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-DqL0H_x5.js.br"), include_bytes!("assets/New-DqL0H_x5.js.gz")),
    ("assets/Operation-rsAPmfJF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-rsAPmfJF.js.br"), include_bytes!("assets/Operation-rsAPmfJF.js.gz")),
    ("assets/Operations-CEl92RNv.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-CEl92RNv.js.br"), include_bytes!("assets/Operations-CEl92RNv.js.gz")),
    ("assets/Parts-BgxqXalw.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-BgxqXalw.js.br"), include_bytes!("assets/Parts-BgxqXalw.js.gz")),
    ("assets/Register-Bqz-DYHX.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-Bqz-DYHX.js.br"), include_bytes!("assets/Register-Bqz-DYHX.js.gz")),
    ("assets/Scroll-CAFqmmPz.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-CAFqmmPz.js.br"), include_bytes!("assets/Scroll-CAFqmmPz.js.gz")),
    ("assets/SiteMap-BT-0j1aP.js", "text/javascript; charset=utf-8", include_bytes!("assets/SiteMap-BT-0j1aP.js.br"), include_bytes!("assets/SiteMap-BT-0j1aP.js.gz")),
    ("assets/State-CiqhzbYf.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-CiqhzbYf.js.br"), include_bytes!("assets/State-CiqhzbYf.js.gz")),
    ("assets/Tabs-D1x8jq7-.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-D1x8jq7-.js.br"), include_bytes!("assets/Tabs-D1x8jq7-.js.gz")),
    ("assets/Task-BSYd9LsL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-BSYd9LsL.js.br"), include_bytes!("assets/Task-BSYd9LsL.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-DEOG_L-z.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-DEOG_L-z.js.br"), include_bytes!("assets/TaskGraph-DEOG_L-z.js.gz")),
    ("assets/TaskTable-AkD2_bpH.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-AkD2_bpH.js.br"), include_bytes!("assets/TaskTable-AkD2_bpH.js.gz")),
    ("assets/Tasks-DPQ0yjUw.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-DPQ0yjUw.js.br"), include_bytes!("assets/Tasks-DPQ0yjUw.js.gz")),
    ("assets/Trouble-DNi1Fgc2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-DNi1Fgc2.js.br"), include_bytes!("assets/Trouble-DNi1Fgc2.js.gz")),
    ("assets/Turn-bwgf5zQe.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-bwgf5zQe.js.br"), include_bytes!("assets/Turn-bwgf5zQe.js.gz")),
    ("assets/charts-CY0Fh_pt.js", "text/javascript; charset=utf-8", include_bytes!("assets/charts-CY0Fh_pt.js.br"), include_bytes!("assets/charts-CY0Fh_pt.js.gz")),
    ("assets/form-BVZ9f-Py.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-BVZ9f-Py.js.br"), include_bytes!("assets/form-BVZ9f-Py.js.gz")),
    ("assets/index-D3Tll8Nc.css", "text/css; charset=utf-8", include_bytes!("assets/index-D3Tll8Nc.css.br"), include_bytes!("assets/index-D3Tll8Nc.css.gz")),
    ("assets/index-GHxt3LnY.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-GHxt3LnY.js.br"), include_bytes!("assets/index-GHxt3LnY.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DE57kdyt.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DE57kdyt.js.br"), include_bytes!("assets/taste.svelte-DE57kdyt.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
