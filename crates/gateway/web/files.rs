//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-Cr-nwJJG.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-Cr-nwJJG.js.br"), include_bytes!("assets/Agent-Cr-nwJJG.js.gz")),
    ("assets/Button-Cif8k7kt.js", "text/javascript; charset=utf-8", include_bytes!("assets/Button-Cif8k7kt.js.br"), include_bytes!("assets/Button-Cif8k7kt.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-D0c25LJs.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-D0c25LJs.js.br"), include_bytes!("assets/Charts-D0c25LJs.js.gz")),
    ("assets/Chat-UYb4PMGa.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-UYb4PMGa.js.br"), include_bytes!("assets/Chat-UYb4PMGa.js.gz")),
    ("assets/Code-DsrZoScQ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-DsrZoScQ.js.br"), include_bytes!("assets/Code-DsrZoScQ.js.gz")),
    ("assets/Config-DMbtsIWy.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-DMbtsIWy.js.br"), include_bytes!("assets/Config-DMbtsIWy.js.gz")),
    ("assets/Confirm-QVNnvs5y.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-QVNnvs5y.js.br"), include_bytes!("assets/Confirm-QVNnvs5y.js.gz")),
    ("assets/Copy-usLdoUl2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-usLdoUl2.js.br"), include_bytes!("assets/Copy-usLdoUl2.js.gz")),
    ("assets/Entry-DQsvpi7x.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-DQsvpi7x.js.br"), include_bytes!("assets/Entry-DQsvpi7x.js.gz")),
    ("assets/Icon-fl_o9VHO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Icon-fl_o9VHO.js.br"), include_bytes!("assets/Icon-fl_o9VHO.js.gz")),
    ("assets/Network-Ds71pM8E.js", "text/javascript; charset=utf-8", include_bytes!("assets/Network-Ds71pM8E.js.br"), include_bytes!("assets/Network-Ds71pM8E.js.gz")),
    ("assets/New-BOz5S9MF.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-BOz5S9MF.js.br"), include_bytes!("assets/New-BOz5S9MF.js.gz")),
    ("assets/Operation-rsAPmfJF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-rsAPmfJF.js.br"), include_bytes!("assets/Operation-rsAPmfJF.js.gz")),
    ("assets/Operations-lu1y5GNy.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-lu1y5GNy.js.br"), include_bytes!("assets/Operations-lu1y5GNy.js.gz")),
    ("assets/Parts-B7iBvxsL.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-B7iBvxsL.js.br"), include_bytes!("assets/Parts-B7iBvxsL.js.gz")),
    ("assets/Register-B8JZtZRl.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-B8JZtZRl.js.br"), include_bytes!("assets/Register-B8JZtZRl.js.gz")),
    ("assets/Scroll-CAFqmmPz.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-CAFqmmPz.js.br"), include_bytes!("assets/Scroll-CAFqmmPz.js.gz")),
    ("assets/SiteMap-Bq9vadjJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/SiteMap-Bq9vadjJ.js.br"), include_bytes!("assets/SiteMap-Bq9vadjJ.js.gz")),
    ("assets/State-8IUSybey.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-8IUSybey.js.br"), include_bytes!("assets/State-8IUSybey.js.gz")),
    ("assets/Tabs-BgbhGCPH.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-BgbhGCPH.js.br"), include_bytes!("assets/Tabs-BgbhGCPH.js.gz")),
    ("assets/Task-BRsUVUqg.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-BRsUVUqg.js.br"), include_bytes!("assets/Task-BRsUVUqg.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-CUhIwFE4.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-CUhIwFE4.js.br"), include_bytes!("assets/TaskGraph-CUhIwFE4.js.gz")),
    ("assets/TaskTable-B39hyh8w.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-B39hyh8w.js.br"), include_bytes!("assets/TaskTable-B39hyh8w.js.gz")),
    ("assets/Tasks-CLDV1R4L.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-CLDV1R4L.js.br"), include_bytes!("assets/Tasks-CLDV1R4L.js.gz")),
    ("assets/Trouble-DNi1Fgc2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-DNi1Fgc2.js.br"), include_bytes!("assets/Trouble-DNi1Fgc2.js.gz")),
    ("assets/Turn-DMsaamy2.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-DMsaamy2.js.br"), include_bytes!("assets/Turn-DMsaamy2.js.gz")),
    ("assets/charts-CY0Fh_pt.js", "text/javascript; charset=utf-8", include_bytes!("assets/charts-CY0Fh_pt.js.br"), include_bytes!("assets/charts-CY0Fh_pt.js.gz")),
    ("assets/form-BVZ9f-Py.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-BVZ9f-Py.js.br"), include_bytes!("assets/form-BVZ9f-Py.js.gz")),
    ("assets/index-CJ0fMDEj.css", "text/css; charset=utf-8", include_bytes!("assets/index-CJ0fMDEj.css.br"), include_bytes!("assets/index-CJ0fMDEj.css.gz")),
    ("assets/index-KMUPBTUa.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-KMUPBTUa.js.br"), include_bytes!("assets/index-KMUPBTUa.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DE57kdyt.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DE57kdyt.js.br"), include_bytes!("assets/taste.svelte-DE57kdyt.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
