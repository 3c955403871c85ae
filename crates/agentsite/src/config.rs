//! The configuration of a site: one TOML file, environment variables and flags.
//!
//! Promises: flags > environment > file > defaults; every error names its place and what to do; keys are
//! declared once, in `sections` and the crates that use them, and everything else is made from there. It does
//! not build the site: `serve` does, from the values here.

pub(crate) mod change;
pub(crate) mod docs;
mod keys;
mod layers;
pub(crate) mod models;
mod place;
mod reader;
pub(crate) mod save;
mod sections;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

use agentsite_client::{EmbeddingsSection, MAX_DIMENSIONS};
use agentsite_egress::AllowedTarget;
use agentsite_gateway::Network;
use agentsite_site::OauthSection;

pub(crate) use layers::{Loaded, Sources};
pub(crate) use place::Place;
pub(crate) use reader::Reader;
pub(crate) use sections::{Config, LogFormat, TelemetrySection, shown_store};

/// The file that is looked for in the current folder.
pub(crate) const FILE: &str = "agentsite.toml";

/// Shortest lease of a process: a shorter one would be lost whenever the machine is busy.
const SHORTEST_LEASE: Duration = Duration::from_secs(1);

/// What is wrong with the configuration, and where.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    /// The file cannot be read.
    #[error("cannot read {}: {source}", file.display())]
    Read {
        /// The file.
        file: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// Something in the file is wrong.
    #[error("{}:{}:{}: {what}", file.display(), place.line, place.column)]
    Place {
        /// The file.
        file: PathBuf,
        /// Where in it.
        place: Place,
        /// What is wrong and what to do.
        what: String,
    },
    /// A variable or a flag is wrong, or values do not go together.
    #[error("{origin}: {what}")]
    Value {
        /// The variable, the flag or the key.
        origin: String,
        /// What is wrong and what to do.
        what: String,
    },
}

/// The JSON Schema of `agentsite.toml`.
pub(crate) fn schema() -> serde_json::Value {
    schemars::schema_for!(Config).to_value()
}

impl Loaded {
    /// Checks what the types cannot.
    fn check(&self, text: &str) -> Result<(), ConfigError> {
        let config = &self.config;
        match (&config.tls_cert, &config.tls_key) {
            (Some(_), None) => {
                return Err(self.wrong(text, "tls_cert", "set tls_key too, the file with its private key"));
            }
            (None, Some(_)) => {
                return Err(self.wrong(text, "tls_key", "set tls_cert too, the file with the certificate"));
            }
            _ => {}
        }
        if config.public_url.as_deref().is_some_and(|url| !is_http(url)) {
            return Err(self.wrong(
                text,
                "public_url",
                "write it with its scheme, like https://agents.example.org",
            ));
        }
        if config.telemetry.otlp_endpoint.as_deref().is_some_and(|url| !is_http(url)) {
            return Err(self.wrong(
                text,
                "telemetry.otlp_endpoint",
                "write it with its scheme, like http://127.0.0.1:4318",
            ));
        }
        if config.store.is_some() && config.store_file.is_some() {
            return Err(self.wrong(text, "store_file", "set store or store_file, not both"));
        }
        if config.store.as_deref().is_some_and(|store| !is_postgres(store)) {
            return Err(self.wrong(
                text,
                "store",
                "write it as a URL of PostgreSQL, like postgres://user@host/database, or leave it out",
            ));
        }
        if config.cluster.lease.0 < SHORTEST_LEASE {
            return Err(self.wrong(text, "cluster.lease", "must be at least 1s"));
        }
        if config.cluster.connections == 0 {
            return Err(self.wrong(text, "cluster.connections", "must be at least 1"));
        }
        if config.site.name.trim().is_empty() {
            return Err(self.wrong(text, "site.name", "give the site a name"));
        }
        if config.site.upstreams.iter().any(|url| !is_http(url) || url.parse::<url::Url>().is_err()) {
            return Err(self.wrong(
                text,
                "site.upstreams",
                "write each with its scheme, like https://finder.example/search",
            ));
        }
        self.check_limits(text)?;
        for (key, period) in [
            ("push.deadline", config.push.deadline),
            ("push.timeout", config.push.timeout),
            ("hub.lease", config.hub.lease),
            ("hub.timeout", config.hub.timeout),
        ] {
            if period.0.is_zero() {
                return Err(self.wrong(text, key, "must be longer than zero, like 10s"));
            }
        }
        for target in &config.egress.allow {
            target
                .parse::<AllowedTarget>()
                .map_err(|error| self.wrong(text, "egress.allow", &error.to_string()))?;
        }
        for proxy in &config.trusted_proxies {
            proxy
                .parse::<Network>()
                .map_err(|error| self.wrong(text, "trusted_proxies", &error.to_string()))?;
        }
        self.check_oauth(text)?;
        self.check_search(text)?;
        self.check_models(text)
    }

    fn check_limits(&self, text: &str) -> Result<(), ConfigError> {
        let limits = &self.config.limits;
        for (key, most) in [
            ("limits.connections", limits.connections),
            ("limits.connections_per_address", limits.connections_per_address),
            ("limits.requests", limits.requests),
            ("limits.requests_per_address", limits.requests_per_address),
            ("limits.requests_per_key", limits.requests_per_key),
        ] {
            if most == 0 {
                return Err(self.wrong(text, key, "must be at least 1"));
            }
        }
        if limits.reserve > 90 {
            return Err(self.wrong(
                text,
                "limits.reserve",
                "must be at most 90, so that callers can begin to authenticate",
            ));
        }
        Ok(())
    }

    fn check_oauth(&self, text: &str) -> Result<(), ConfigError> {
        let config = &self.config;
        for (key, url) in [("oauth.issuer", &config.oauth.issuer), ("oauth.jwks_url", &config.oauth.jwks_url)]
        {
            if url.as_deref().is_some_and(|url| !is_http(url) || url.parse::<url::Url>().is_err()) {
                return Err(self.wrong(
                    text,
                    key,
                    "write it with its scheme, like https://login.example.org",
                ));
            }
        }
        if config.oauth.issuer.is_none() && config.oauth != OauthSection::default() {
            return Err(self.wrong(
                text,
                "oauth.issuer",
                "set it too; the other keys of [oauth] are about it",
            ));
        }
        Ok(())
    }

    fn check_search(&self, text: &str) -> Result<(), ConfigError> {
        let section = &self.config.search.embeddings;
        if section.url.as_deref().is_some_and(|url| !is_http(url) || url.parse::<url::Url>().is_err()) {
            let what = "write it with its scheme, like http://127.0.0.1:11434/v1";
            return Err(self.wrong(text, "search.embeddings.url", what));
        }
        if section.url.is_none() && *section != EmbeddingsSection::default() {
            let what = "set it too; the other keys of [search.embeddings] are about it";
            return Err(self.wrong(text, "search.embeddings.url", what));
        }
        if section.url.is_some() && section.model.as_deref().is_none_or(|model| model.trim().is_empty()) {
            return Err(self.wrong(text, "search.embeddings.model", "name the model to use"));
        }
        if section.dimensions.is_some_and(|count| !(1..=MAX_DIMENSIONS).contains(&count)) {
            let what = format!("name a number from 1 to {MAX_DIMENSIONS}");
            return Err(self.wrong(text, "search.embeddings.dimensions", &what));
        }
        Ok(())
    }

    fn check_models(&self, text: &str) -> Result<(), ConfigError> {
        for (name, model) in &self.config.models {
            if model.key_env.is_some() && model.key_file.is_some() {
                return Err(self.wrong(
                    text,
                    &format!("models.{name}.key_file"),
                    "set either key_env or key_file, not both",
                ));
            }
            if model.base_url.as_deref().is_some_and(|url| !is_http(url) || url.parse::<url::Url>().is_err())
            {
                return Err(self.wrong(
                    text,
                    &format!("models.{name}.base_url"),
                    "write it with its scheme, http:// or https://",
                ));
            }
        }
        Ok(())
    }

    /// An error at the place where the key was set.
    pub(crate) fn wrong(&self, text: &str, key: &str, what: &str) -> ConfigError {
        match (self.origins.get(key), &self.file) {
            (Some(layers::Origin::File(_)), Some(file)) => {
                let (file, place) = (file.clone(), Place::of_key(text, key));
                ConfigError::Place { file, place, what: format!("{key}: {what}") }
            }
            (Some(layers::Origin::Flag(name) | layers::Origin::Variable(name)), _) => {
                ConfigError::Value { origin: name.clone(), what: what.to_owned() }
            }
            _ => ConfigError::Value { origin: key.to_owned(), what: what.to_owned() },
        }
    }
}

fn is_http(url: &str) -> bool {
    ["http://", "https://"].iter().any(|scheme| url.strip_prefix(scheme).is_some_and(|rest| !rest.is_empty()))
}

/// Whether this is the URL of a PostgreSQL database.
pub(crate) fn is_postgres(url: &str) -> bool {
    ["postgres://", "postgresql://"].iter().any(|scheme| url.starts_with(scheme))
}
