//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-BE9Eq9oU.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-BE9Eq9oU.js.br"), include_bytes!("assets/Agent-BE9Eq9oU.js.gz")),
    ("assets/Button-Dwv5bVg-.js", "text/javascript; charset=utf-8", include_bytes!("assets/Button-Dwv5bVg-.js.br"), include_bytes!("assets/Button-Dwv5bVg-.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-DE3EUXe7.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-DE3EUXe7.js.br"), include_bytes!("assets/Charts-DE3EUXe7.js.gz")),
    ("assets/Chat-CV232lif.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-CV232lif.js.br"), include_bytes!("assets/Chat-CV232lif.js.gz")),
    ("assets/Code-BSdMOskI.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-BSdMOskI.js.br"), include_bytes!("assets/Code-BSdMOskI.js.gz")),
    ("assets/Config-Cnkadj65.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-Cnkadj65.js.br"), include_bytes!("assets/Config-Cnkadj65.js.gz")),
    ("assets/Confirm-fbGz9Lon.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-fbGz9Lon.js.br"), include_bytes!("assets/Confirm-fbGz9Lon.js.gz")),
    ("assets/Copy-BR9eUkdW.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-BR9eUkdW.js.br"), include_bytes!("assets/Copy-BR9eUkdW.js.gz")),
    ("assets/Entry-C_RhSIJx.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-C_RhSIJx.js.br"), include_bytes!("assets/Entry-C_RhSIJx.js.gz")),
    ("assets/Icon-VXSFJAkJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Icon-VXSFJAkJ.js.br"), include_bytes!("assets/Icon-VXSFJAkJ.js.gz")),
    ("assets/Network-DmvRPGN0.js", "text/javascript; charset=utf-8", include_bytes!("assets/Network-DmvRPGN0.js.br"), include_bytes!("assets/Network-DmvRPGN0.js.gz")),
    ("assets/New-7nyNu9oa.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-7nyNu9oa.js.br"), include_bytes!("assets/New-7nyNu9oa.js.gz")),
    ("assets/Operation-DC2lXaOW.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-DC2lXaOW.js.br"), include_bytes!("assets/Operation-DC2lXaOW.js.gz")),
    ("assets/Operations-DEkONwgv.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-DEkONwgv.js.br"), include_bytes!("assets/Operations-DEkONwgv.js.gz")),
    ("assets/Parts-CgtgQYBC.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-CgtgQYBC.js.br"), include_bytes!("assets/Parts-CgtgQYBC.js.gz")),
    ("assets/Register-B17VAZwO.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-B17VAZwO.js.br"), include_bytes!("assets/Register-B17VAZwO.js.gz")),
    ("assets/Scroll-CZYmpB5c.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-CZYmpB5c.js.br"), include_bytes!("assets/Scroll-CZYmpB5c.js.gz")),
    ("assets/SiteMap-CvGnU6E-.js", "text/javascript; charset=utf-8", include_bytes!("assets/SiteMap-CvGnU6E-.js.br"), include_bytes!("assets/SiteMap-CvGnU6E-.js.gz")),
    ("assets/State-Bsnb0jfZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-Bsnb0jfZ.js.br"), include_bytes!("assets/State-Bsnb0jfZ.js.gz")),
    ("assets/Tabs-DXssSrcN.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-DXssSrcN.js.br"), include_bytes!("assets/Tabs-DXssSrcN.js.gz")),
    ("assets/Task-DzV5zUDJ.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-DzV5zUDJ.js.br"), include_bytes!("assets/Task-DzV5zUDJ.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-CQv1qOye.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-CQv1qOye.js.br"), include_bytes!("assets/TaskGraph-CQv1qOye.js.gz")),
    ("assets/TaskTable-DM2G4B2n.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-DM2G4B2n.js.br"), include_bytes!("assets/TaskTable-DM2G4B2n.js.gz")),
    ("assets/Tasks-DfNrFrrk.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-DfNrFrrk.js.br"), include_bytes!("assets/Tasks-DfNrFrrk.js.gz")),
    ("assets/Trouble-7whNfq-i.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-7whNfq-i.js.br"), include_bytes!("assets/Trouble-7whNfq-i.js.gz")),
    ("assets/Turn-DOQwiqYV.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-DOQwiqYV.js.br"), include_bytes!("assets/Turn-DOQwiqYV.js.gz")),
    ("assets/charts-CY0Fh_pt.js", "text/javascript; charset=utf-8", include_bytes!("assets/charts-CY0Fh_pt.js.br"), include_bytes!("assets/charts-CY0Fh_pt.js.gz")),
    ("assets/form-Cr5T1OIn.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-Cr5T1OIn.js.br"), include_bytes!("assets/form-Cr5T1OIn.js.gz")),
    ("assets/index-CJ0fMDEj.css", "text/css; charset=utf-8", include_bytes!("assets/index-CJ0fMDEj.css.br"), include_bytes!("assets/index-CJ0fMDEj.css.gz")),
    ("assets/index-CqLP-zN6.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-CqLP-zN6.js.br"), include_bytes!("assets/index-CqLP-zN6.js.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-DUAh_3Dc.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-DUAh_3Dc.js.br"), include_bytes!("assets/taste.svelte-DUAh_3Dc.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
