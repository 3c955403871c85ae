//! A reverse proxy from Debian's packages in front of one or more sites.
//!
//! Promises: ready when `start` returns; killed when dropped. The configuration is the story's own.

use std::process::{Child, Command, Stdio};

use crate::site::{eventually, http};

/// Which proxy.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Program {
    Nginx,
    Caddy,
}

/// A running proxy, killed when dropped.
pub(crate) struct Proxy {
    process: Child,
    /// Where it listens.
    pub(crate) url: String,
    _folder: tempfile::TempDir,
}

impl Proxy {
    /// Starts a proxy with the configuration that `configured` makes for a folder and a port.
    pub(crate) async fn start(program: Program, configured: impl Fn(&str, u16) -> String) -> Self {
        loop {
            // Another program may take the port before the proxy does.
            if let Some(proxy) = Self::try_start(program, &configured).await {
                return proxy;
            }
        }
    }

    async fn try_start(program: Program, configured: &impl Fn(&str, u16) -> String) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let place = folder.path().display().to_string();
        let file = format!("{place}/config");
        std::fs::write(&file, configured(&place, port)).unwrap();
        let (name, arguments) = match program {
            Program::Nginx => {
                let main = format!("daemon off; master_process off; pid {place}/pid; error_log {place}/log;");
                ("nginx", vec!["-c".into(), file, "-p".into(), place.clone(), "-g".into(), main])
            }
            Program::Caddy => {
                ("caddy", ["run", "--adapter", "caddyfile", "--config", &file].map(str::to_owned).into())
            }
        };
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = format!("{}:/usr/sbin:/sbin", path.display());
        let mut command = Command::new("env");
        command.arg(format!("PATH={path}")).arg(name).args(arguments);
        command.env("HOME", &place).env("XDG_DATA_HOME", &place).env("XDG_CONFIG_HOME", &place);
        let log = std::fs::File::create(folder.path().join("said")).unwrap();
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        let process = command.spawn().unwrap();
        let mut proxy = Self { process, url: format!("http://127.0.0.1:{port}"), _folder: folder };
        proxy.wait(name).await.then_some(proxy)
    }

    /// Waits until the proxy answers; false when its port was taken.
    async fn wait(&mut self, name: &str) -> bool {
        let (said, url) = (self._folder.path().join("said"), format!("{}/healthz", self.url));
        eventually(&format!("{name} answers"), async || {
            if let Some(ended) = self.process.try_wait().unwrap() {
                let said = std::fs::read_to_string(&said).unwrap();
                assert!(
                    said.to_lowercase().contains("address already in use"),
                    "{name} ended with {ended}: {said}"
                );
                return Some(false);
            }
            let answer = http().get(&url).send().await.ok()?;
            answer.status().is_success().then_some(true)
        })
        .await
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Where nginx puts what it does not keep in memory, for its configuration.
pub(crate) fn temporary_paths(folder: &str) -> String {
    let paths = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
    paths.map(|one| format!("{one}_temp_path {folder}/{one};")).join(" ")
}
