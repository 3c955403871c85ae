//! The built pages: name, type, and the bytes by brotli and by gzip. Written by `cargo xtask web`.
//!
//! It decides nothing; `pages/shell.rs` serves what is listed here.

/// A built file.
pub(crate) type File = (&'static str, &'static str, &'static [u8], &'static [u8]);

/// Every built file, by name.
#[rustfmt::skip]
pub(crate) const FILES: &[File] = &[
    ("assets/Agent-B6QKHVLE.js", "text/javascript; charset=utf-8", include_bytes!("assets/Agent-B6QKHVLE.js.br"), include_bytes!("assets/Agent-B6QKHVLE.js.gz")),
    ("assets/Charts-CnsZ1jie.css", "text/css; charset=utf-8", include_bytes!("assets/Charts-CnsZ1jie.css.br"), include_bytes!("assets/Charts-CnsZ1jie.css.gz")),
    ("assets/Charts-WCLTVSxp.js", "text/javascript; charset=utf-8", include_bytes!("assets/Charts-WCLTVSxp.js.br"), include_bytes!("assets/Charts-WCLTVSxp.js.gz")),
    ("assets/Chat-3dZyC9Vg.js", "text/javascript; charset=utf-8", include_bytes!("assets/Chat-3dZyC9Vg.js.br"), include_bytes!("assets/Chat-3dZyC9Vg.js.gz")),
    ("assets/Code-DCqNXCkp.js", "text/javascript; charset=utf-8", include_bytes!("assets/Code-DCqNXCkp.js.br"), include_bytes!("assets/Code-DCqNXCkp.js.gz")),
    ("assets/Config-DqhFqhvz.js", "text/javascript; charset=utf-8", include_bytes!("assets/Config-DqhFqhvz.js.br"), include_bytes!("assets/Config-DqhFqhvz.js.gz")),
    ("assets/Confirm-CCWunfkB.js", "text/javascript; charset=utf-8", include_bytes!("assets/Confirm-CCWunfkB.js.br"), include_bytes!("assets/Confirm-CCWunfkB.js.gz")),
    ("assets/Copy-l6aF5Aqd.js", "text/javascript; charset=utf-8", include_bytes!("assets/Copy-l6aF5Aqd.js.br"), include_bytes!("assets/Copy-l6aF5Aqd.js.gz")),
    ("assets/Entry-CQmS2FjU.js", "text/javascript; charset=utf-8", include_bytes!("assets/Entry-CQmS2FjU.js.br"), include_bytes!("assets/Entry-CQmS2FjU.js.gz")),
    ("assets/New-D0o3r1wh.js", "text/javascript; charset=utf-8", include_bytes!("assets/New-D0o3r1wh.js.br"), include_bytes!("assets/New-D0o3r1wh.js.gz")),
    ("assets/Operation-BknQQsYY.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operation-BknQQsYY.js.br"), include_bytes!("assets/Operation-BknQQsYY.js.gz")),
    ("assets/Operations-Z0LGjV3h.js", "text/javascript; charset=utf-8", include_bytes!("assets/Operations-Z0LGjV3h.js.br"), include_bytes!("assets/Operations-Z0LGjV3h.js.gz")),
    ("assets/Parts-BwWZwric.js", "text/javascript; charset=utf-8", include_bytes!("assets/Parts-BwWZwric.js.br"), include_bytes!("assets/Parts-BwWZwric.js.gz")),
    ("assets/Register-ChKSeDjb.js", "text/javascript; charset=utf-8", include_bytes!("assets/Register-ChKSeDjb.js.br"), include_bytes!("assets/Register-ChKSeDjb.js.gz")),
    ("assets/Scroll-D93JcY_c.js", "text/javascript; charset=utf-8", include_bytes!("assets/Scroll-D93JcY_c.js.br"), include_bytes!("assets/Scroll-D93JcY_c.js.gz")),
    ("assets/State-CysicGBd.js", "text/javascript; charset=utf-8", include_bytes!("assets/State-CysicGBd.js.br"), include_bytes!("assets/State-CysicGBd.js.gz")),
    ("assets/Tabs-DzBXWBVo.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tabs-DzBXWBVo.js.br"), include_bytes!("assets/Tabs-DzBXWBVo.js.gz")),
    ("assets/Task-B9fO7CLX.js", "text/javascript; charset=utf-8", include_bytes!("assets/Task-B9fO7CLX.js.br"), include_bytes!("assets/Task-B9fO7CLX.js.gz")),
    ("assets/TaskGraph-BdatiDqY.css", "text/css; charset=utf-8", include_bytes!("assets/TaskGraph-BdatiDqY.css.br"), include_bytes!("assets/TaskGraph-BdatiDqY.css.gz")),
    ("assets/TaskGraph-CTVpg3Us.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskGraph-CTVpg3Us.js.br"), include_bytes!("assets/TaskGraph-CTVpg3Us.js.gz")),
    ("assets/TaskTable-CEsMIxi9.js", "text/javascript; charset=utf-8", include_bytes!("assets/TaskTable-CEsMIxi9.js.br"), include_bytes!("assets/TaskTable-CEsMIxi9.js.gz")),
    ("assets/Tasks-wCmtr7LP.js", "text/javascript; charset=utf-8", include_bytes!("assets/Tasks-wCmtr7LP.js.br"), include_bytes!("assets/Tasks-wCmtr7LP.js.gz")),
    ("assets/Trouble-lTo_bTYF.js", "text/javascript; charset=utf-8", include_bytes!("assets/Trouble-lTo_bTYF.js.br"), include_bytes!("assets/Trouble-lTo_bTYF.js.gz")),
    ("assets/Turn-DvPrgU72.js", "text/javascript; charset=utf-8", include_bytes!("assets/Turn-DvPrgU72.js.br"), include_bytes!("assets/Turn-DvPrgU72.js.gz")),
    ("assets/form-BWsx1f1b.js", "text/javascript; charset=utf-8", include_bytes!("assets/form-BWsx1f1b.js.br"), include_bytes!("assets/form-BWsx1f1b.js.gz")),
    ("assets/index-D2k2RBPU.js", "text/javascript; charset=utf-8", include_bytes!("assets/index-D2k2RBPU.js.br"), include_bytes!("assets/index-D2k2RBPU.js.gz")),
    ("assets/index-D5dWmGdh.css", "text/css; charset=utf-8", include_bytes!("assets/index-D5dWmGdh.css.br"), include_bytes!("assets/index-D5dWmGdh.css.gz")),
    ("assets/markdown-t2fFnJvZ.js", "text/javascript; charset=utf-8", include_bytes!("assets/markdown-t2fFnJvZ.js.br"), include_bytes!("assets/markdown-t2fFnJvZ.js.gz")),
    ("assets/taste.svelte-CLQS5GKp.js", "text/javascript; charset=utf-8", include_bytes!("assets/taste.svelte-CLQS5GKp.js.br"), include_bytes!("assets/taste.svelte-CLQS5GKp.js.gz")),
    ("icon.svg", "image/svg+xml", include_bytes!("icon.svg.br"), include_bytes!("icon.svg.gz")),
    ("index.html", "text/html; charset=utf-8", include_bytes!("index.html.br"), include_bytes!("index.html.gz")),
];
