//! `agentsite serve`, and `agentsite` alone: run the site.
//!
//! Promises: every flag here sets a key of the configuration and takes precedence over it. The site itself is
//! in `crate::serve`.

use clap::Args;

use super::shell::{Shell, config_error};
use crate::exit::{CliError, Exit};
use crate::serve::{self, Startup};

/// Flags of `serve`.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct Flags {
    /// File with the certificate chain (PEM); with --tls-key the site serves HTTPS.
    #[arg(long, value_name = "FILE")]
    tls_cert: Option<String>,
    /// File with the private key of the certificate (PEM).
    #[arg(long, value_name = "FILE")]
    tls_key: Option<String>,
    /// Address under which others reach the site.
    #[arg(long, value_name = "URL")]
    public_url: Option<String>,
    /// Allow plain HTTP on other addresses than loopback: a proxy in front of the site terminates TLS.
    #[arg(long, alias = "tls-elsewhere")]
    tls_terminated_by_proxy: bool,
    /// What callers without a key may use: none, public or admin.
    #[arg(long, value_name = "WHAT")]
    anonymous: Option<String>,
    /// Leave the built-in agents out.
    #[arg(long)]
    no_demos: bool,
    /// Serve the agent of an A2A compatibility kit, 1.0 or 0.3, as the site's own, for tests only.
    #[arg(long, value_name = "KIT", num_args = 0..=1, require_equals = true, default_missing_value = "1.0")]
    conformance: Option<String>,
    /// Take part in the mesh, where sites find each other's agents.
    #[arg(long)]
    mesh: bool,
    /// Where traces go, as OTLP over HTTP.
    #[arg(long, value_name = "URL")]
    otlp_endpoint: Option<String>,
}

impl Flags {
    /// These flags, and where they say nothing the others.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            tls_cert: self.tls_cert.or(other.tls_cert),
            tls_key: self.tls_key.or(other.tls_key),
            public_url: self.public_url.or(other.public_url),
            tls_terminated_by_proxy: self.tls_terminated_by_proxy || other.tls_terminated_by_proxy,
            anonymous: self.anonymous.or(other.anonymous),
            no_demos: self.no_demos || other.no_demos,
            conformance: self.conformance.or(other.conformance),
            mesh: self.mesh || other.mesh,
            otlp_endpoint: self.otlp_endpoint.or(other.otlp_endpoint),
        }
    }

    /// The keys of the configuration that the flags set.
    pub(super) fn keys(&self) -> Vec<(&'static str, String)> {
        let given = [
            ("tls_cert", self.tls_cert.clone()),
            ("tls_key", self.tls_key.clone()),
            ("public_url", self.public_url.clone()),
            ("tls_terminated_by_proxy", self.tls_terminated_by_proxy.then(|| "true".to_owned())),
            ("anonymous", self.anonymous.clone()),
            ("demos", self.no_demos.then(|| "false".to_owned())),
            ("conformance", self.conformance.clone()),
            ("mesh.enabled", self.mesh.then(|| "true".to_owned())),
            ("telemetry.otlp_endpoint", self.otlp_endpoint.clone()),
        ];
        given.into_iter().filter_map(|(key, value)| Some((key, value?))).collect()
    }

    /// The first flag that was given, to detect one that belongs to `serve`.
    pub(super) fn first_given(&self) -> Option<String> {
        let (key, _) = self.keys().into_iter().next()?;
        let name = key.rsplit('.').next().unwrap_or(key);
        Some(match key {
            "demos" => "--no-demos".into(),
            "mesh.enabled" => "--mesh".into(),
            _ => format!("--{}", name.replace('_', "-")),
        })
    }
}

/// Runs the site until a signal comes.
pub(super) async fn run(shell: &Shell, flags: Flags) -> Result<Exit, CliError> {
    let reader = shell.reader(flags.keys());
    let loaded = reader.load().map_err(|error| config_error(&error))?;
    let startup = Startup { loaded, reader, output: shell.output, guest: None };
    Box::pin(serve::run(startup)).await
}
