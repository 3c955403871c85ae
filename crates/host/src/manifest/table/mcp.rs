//! The keys of a runtime of kind `mcp`, checked.
//!
//! Promises: a server is started here or is remote, and has one kind of authorization at most; everything
//! else is refused under its own key.

use super::{RuntimeTable, Wrong, here_or_elsewhere, wrong};
use crate::manifest::runtime::TOOL_SERVER_START_TIMEOUT;
use crate::manifest::{McpRuntime, ServerAuth, ServerGrant};

impl RuntimeTable {
    /// The runtime of a tool server.
    pub(super) fn mcp(self) -> Result<McpRuntime, Wrong> {
        let auth = self.server_auth()?;
        let command = self.command.unwrap_or_default();
        let missing = "name the server: url = \"https://…\", or command = [\"program\"] to start it";
        here_or_elsewhere(&command, self.url.as_ref(), "url", missing)?;
        if self.token_env.is_some() && self.url.is_none() {
            return wrong(
                "runtime.token_env",
                "only a server with a url accepts a token; use pass_env instead",
            );
        }
        Ok(McpRuntime {
            url: self.url,
            command,
            env: self.env.unwrap_or_default(),
            pass_env: self.pass_env.unwrap_or_default(),
            memory: self.memory_limit,
            cpu: self.cpu_limit,
            file_size: self.file_size_limit,
            open_files: self.open_files_limit,
            start_timeout: self.start_timeout.unwrap_or(TOOL_SERVER_START_TIMEOUT),
            token_env: self.token_env,
            auth,
            approve: self.approve.unwrap_or_default(),
            sampling: self.sampling.unwrap_or(false),
            talk: self.talk.unwrap_or(true),
            prompt: self.prompt,
            model: self.model,
        })
    }

    /// How the site gets a token for the server, when it has to get one.
    fn server_auth(&self) -> Result<Option<ServerAuth>, Wrong> {
        let Some(grant) = self.auth else {
            let unused = [
                ("runtime.client_id", self.client_id.is_some()),
                ("runtime.client_secret_env", self.client_secret_env.is_some()),
                ("runtime.scopes", self.scopes.is_some()),
            ];
            return match unused.into_iter().find(|(_, set)| *set) {
                Some((key, _)) => wrong(key, "has no meaning without auth = \"login\" or auth = \"machine\""),
                None => Ok(None),
            };
        };
        if self.url.is_none() {
            return wrong("runtime.auth", "only a server with a url requires a login; name its url");
        }
        if self.token_env.is_some() {
            return wrong("runtime.token_env", "set either auth or token_env, not both");
        }
        if self.client_id.as_ref().is_some_and(|id| id.trim().is_empty()) {
            return wrong("runtime.client_id", "is empty; write the id under which the client is registered");
        }
        if self.client_secret_env.is_some() && self.client_id.is_none() {
            return wrong("runtime.client_secret_env", "name the client of the secret: client_id = \"…\"");
        }
        if grant == ServerGrant::Machine && self.client_secret_env.is_none() {
            return wrong(
                "runtime.auth",
                "auth = \"machine\" needs a registered client: set client_id and client_secret_env",
            );
        }
        let scopes = self.scopes.clone().unwrap_or_default();
        let is_scope = |scope: &String| !scope.is_empty() && !scope.contains(char::is_whitespace);
        if let Some(scope) = scopes.iter().find(|scope| !is_scope(scope)) {
            return wrong(
                "runtime.scopes",
                format!("`{scope}` is not a scope; write each as a separate word"),
            );
        }
        let (client_id, client_secret_env) = (self.client_id.clone(), self.client_secret_env.clone());
        Ok(Some(ServerAuth { grant, client_id, client_secret_env, scopes }))
    }
}
