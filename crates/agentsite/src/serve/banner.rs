//! The few lines that a site says when it is ready.
//!
//! Promises: where the site is, where its agents are, how to call one, and a one-time link to sign in; on
//! stdout, as JSON when asked for. It promises nothing about the log, which goes to stderr.

use agentsite_dev::conformance::Kit;
use agentsite_protocol::Caller;
use agentsite_site::Site;
use serde::Serialize;

use crate::config::Config;
use crate::exit::CliError;
use crate::folder::AgentsFolder;
use crate::output::{Output, Style};

/// The text when the agent of the compatibility kits answers for the site.
const CONFORMANCE: &str = "conformance mode is on: the site answers as the A2A compatibility kits require, \
                           and webhooks may go to this machine; not for production";

/// The text when the site is ready.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Banner {
    url: String,
    agents_folder: String,
    agents: usize,
    broken: usize,
    example: String,
    /// Said when the site is not for real callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<&'static str>,
    /// The one-time link.
    #[serde(skip_serializing_if = "Option::is_none")]
    sign_in: Option<String>,
}

impl Banner {
    /// Collects what to print.
    pub(super) fn new(config: &Config, url: &str, folder: &AgentsFolder) -> Self {
        let (agents, broken) = folder.count();
        let example = match folder.example() {
            Some((name, words)) => format!("agentsite call {name} \"{words}\""),
            None => "agentsite agent new hello --lang sh".into(),
        };
        let agents_folder = config.agents.display().to_string();
        Self {
            url: url.to_owned(),
            agents_folder,
            agents,
            broken,
            example,
            warning: (config.conformance != Kit::None).then_some(CONFORMANCE),
            sign_in: None,
        }
    }

    /// Says it, with a new link to sign in.
    pub(super) async fn show(mut self, site: &Site, output: Output) -> Result<(), CliError> {
        let token = site.keys().new_sign_in(&Caller::admin()).await;
        let token = token.map_err(|error| CliError::error(error.to_string()))?;
        self.sign_in = Some(format!("{}/signin?token={token}", self.url));
        // A closed output must not keep the site from serving.
        if output.is_json() {
            let _ = output.json(&self);
            return Ok(());
        }
        let lines = self.lines(|text| output.paint(Style::Bold, text));
        let _ = lines.iter().try_for_each(|line| output.line(line));
        Ok(())
    }

    fn lines(&self, strong: impl Fn(&str) -> String) -> Vec<String> {
        let broken =
            if self.broken == 0 { String::new() } else { format!(" ({} broken, see the log)", self.broken) };
        let count = if self.agents == 1 { "1 agent".to_owned() } else { format!("{} agents", self.agents) };
        let mut lines = vec![
            format!("site     {}", strong(&self.url)),
            format!("agents   {count}{broken}; add yours in {}/", self.agents_folder),
            format!("try      {}", strong(&self.example)),
        ];
        lines.extend(self.warning.map(|warning| format!("warning  {}", strong(warning))));
        lines.extend(self.sign_in.as_ref().map(|link| {
            format!("sign in  {} (once, within 15 minutes; `agentsite open` makes another)", strong(link))
        }));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_is_three_lines_and_a_link_to_sign_in() {
        let mut banner = Banner {
            url: "http://127.0.0.1:4747".into(),
            agents_folder: "agents".into(),
            agents: 3,
            broken: 0,
            example: "agentsite call calc \"2+2\"".into(),
            warning: None,
            sign_in: None,
        };
        let plain = |text: &str| text.to_owned();
        assert_eq!(banner.lines(plain)[1], "agents   3 agents; add yours in agents/");
        assert_eq!(banner.lines(plain).len(), 3);
        banner.sign_in = Some("http://127.0.0.1:4747/x".into());
        banner.broken = 1;
        assert_eq!(banner.lines(plain).len(), 4);
        assert!(banner.lines(plain)[1].contains("1 broken"));
        banner.warning = Some(CONFORMANCE);
        assert!(banner.lines(plain)[3].starts_with("warning  conformance mode is on"));
    }
}
