//! The shape of `agent.toml` as it is written, and the checks that turn it into a Manifest.
//!
//! Promises: one flat table for all runtimes, so that the reader knows the position of every key; keys that
//! belong to another kind of runtime are refused by name. It is private to `manifest`.

mod mcp;

use std::collections::BTreeMap;
use std::ops::Range;

use agentsite_protocol::{AgentName, ByteSize, Period, PublicKey, Visibility};
use schemars::JsonSchema;
use serde::Deserialize;
use url::Url;

use super::runtime::{MAX_TOKENS, MEMORY, START_TIMEOUT};
use super::{
    A2aBinding, A2aRuntime, AcpRuntime, Answers, Approve, Budget, Builtin, ExecRuntime, FIRST_VERSION,
    FileAccess, Instances, LibraryRuntime, Limits, LlmRuntime, MAX_SKILLS, Manifest, ManifestError, ModelApi,
    OpenApiRuntime, Permissions, Repeats, Runtime, RuntimeKind, Sandbox, ServerGrant, SkillEntry, Stdin,
};

/// Least memory of a sandbox; with less, the smallest shell does not start.
const MIN_MEMORY: ByteSize = ByteSize(4 << 20);

/// Most sites that one agent names: more are peers of the whole site.
const MAX_CALLERS: usize = 64;

/// An agent of a site.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(title = "agent.toml")]
pub(super) struct ManifestTable {
    /// Unique in the site: a-z, 0-9 and -.
    name: AgentName,
    /// What the agent does, in a sentence.
    description: String,
    /// The agent's own version.
    #[serde(default = "first_version")]
    version: String,
    /// Who may find and call it: private, peers or public.
    #[serde(default)]
    visibility: Visibility,
    /// DIDs of other sites that may call it, in addition to those that an admin added as peers; only with
    /// visibility = "peers".
    #[serde(default)]
    callers: Vec<String>,
    /// Whether callers get a recorded task, just a message, or what the agent chooses each time.
    #[serde(default)]
    answers: Answers,
    /// Whether a message that is sent again leads to the same task or to a new one.
    #[serde(default)]
    repeats: Repeats,
    /// What it can do.
    #[serde(default)]
    skills: Vec<SkillEntry>,
    /// How it runs.
    runtime: RuntimeTable,
    /// How long, how many, how often.
    #[serde(default)]
    limits: Limits,
    /// How much it may spend.
    #[serde(default)]
    budget: Budget,
    /// exec, a2a, acp, mcp: what the agent's programs may see, reach and use.
    sandbox: Option<Sandbox>,
}

fn first_version() -> String {
    FIRST_VERSION.into()
}

/// The agents that are built in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum BuiltinWord {
    /// Says what was said to it.
    Echo,
    /// Works out expressions.
    Calc,
    /// Tells the time anywhere.
    Clock,
    /// Answers questions from the documents of a folder.
    Library,
}

/// How an agent runs; which keys are allowed depends on the kind.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct RuntimeTable {
    /// builtin, exec, a2a, acp, mcp, openapi or llm.
    kind: RuntimeKind,
    /// builtin: which one.
    builtin: Option<BuiltinWord>,
    /// builtin library: the folder with the documents, relative to the agent's own; left out: the
    /// documentation of agentsite.
    path: Option<String>,
    /// exec, a2a, acp, mcp: the program and its arguments.
    command: Option<Vec<String>>,
    /// exec: text or json.
    stdin: Option<Stdin>,
    /// exec, a2a, acp, mcp: variables the program gets.
    env: Option<BTreeMap<String, String>>,
    /// exec, a2a, acp, mcp: variables of the site that the program gets too.
    pass_env: Option<Vec<String>>,
    /// exec, mcp: most memory of one process.
    memory_limit: Option<ByteSize>,
    /// exec, mcp: most processor time of one process.
    cpu_limit: Option<Period>,
    /// exec, mcp: largest file it may write.
    file_size_limit: Option<ByteSize>,
    /// exec, mcp: most open files of one process.
    open_files_limit: Option<u64>,
    /// a2a: address of the agent's card.
    #[schemars(with = "Option<String>")]
    card: Option<Url>,
    /// a2a, acp, mcp: how long the server may take to start.
    start_timeout: Option<Period>,
    /// a2a, acp, mcp: how often the server that `command` starts runs when several processes serve the site:
    /// process (once in each) or site (once in all).
    instances: Option<Instances>,
    /// a2a, mcp, openapi: name of the variable that holds the token for the remote agent, server or API.
    token_env: Option<String>,
    /// a2a: the only binding in which the agent is called; what its card prefers when it is left out.
    binding: Option<A2aBinding>,
    /// acp: who answers when the agent asks for a permission: ask (the caller), allow or reject.
    permissions: Option<Permissions>,
    /// acp: which files of its folder the agent may have through the site: none, read or write.
    files: Option<FileAccess>,
    /// acp: which of the agent's ways to sign in is used.
    auth_method: Option<String>,
    /// openapi: the document, a file in the agent's folder or an address.
    document: Option<String>,
    /// openapi: variables that hold other secrets of the API, by the names of the document's security
    /// schemes.
    keys: Option<BTreeMap<String, String>>,
    /// llm: who the agent is and how it should answer; mcp: instructions for a model about the tools;
    /// library: about the documents.
    prompt: Option<String>,
    /// llm: a file in the agent's folder with the prompt.
    prompt_file: Option<String>,
    /// llm, mcp, builtin library: PROVIDER:MODEL, or MODEL of the first provider.
    model: Option<String>,
    /// llm: a dedicated server instead of a configured provider. openapi: where all operations go.
    #[schemars(with = "Option<String>")]
    base_url: Option<Url>,
    /// llm: the wire form of that server, openai or anthropic.
    api: Option<ModelApi>,
    /// llm: name of the variable that holds that server's key.
    key_env: Option<String>,
    /// llm: sampling temperature.
    temperature: Option<f32>,
    /// llm: most tokens of one answer.
    max_tokens: Option<u32>,
    /// llm: earlier messages of the conversation that the model sees.
    memory: Option<usize>,
    /// llm: what it may use, agent:NAME, agent:URL, mcp:NAME, openapi:FILE or openapi:URL.
    tools: Option<Vec<String>>,
    /// mcp: address of the server.
    #[schemars(with = "Option<String>")]
    url: Option<Url>,
    /// mcp: how the site gets a token from the authorization server that the tool server names: login (a
    /// person logs in once) or machine.
    auth: Option<ServerGrant>,
    /// mcp: the client that was registered manually at that authorization server; without it, auth = "login"
    /// registers one.
    client_id: Option<String>,
    /// mcp: name of the variable that holds that client's secret.
    client_secret_env: Option<String>,
    /// mcp: the scopes that are asked for, instead of those that the tool server names.
    scopes: Option<Vec<String>>,
    /// mcp: which tools must be approved before they can be used: never, changed or always.
    approve: Option<Approve>,
    /// mcp: whether the server may ask the site's model when its caller has none.
    sampling: Option<bool>,
    /// mcp: whether plain words are understood with the help of a model, when there is one; builtin library:
    /// whether it writes the answers.
    talk: Option<bool>,
}

/// What is wrong, and under which key.
struct Wrong {
    key: &'static str,
    what: String,
}

fn wrong<T>(key: &'static str, what: impl Into<String>) -> Result<T, Wrong> {
    Err(Wrong { key, what: what.into() })
}

impl ManifestTable {
    /// Checks what the types cannot, and gives the manifest.
    pub(super) fn check(self, text: &str) -> Result<Manifest, ManifestError> {
        self.soundness()
            .and_then(|()| self.manifest())
            .map_err(|wrong| position(text, wrong.key, &wrong.what))
    }

    fn soundness(&self) -> Result<(), Wrong> {
        if let Err(reserved) = self.name.check_choice() {
            return wrong("name", reserved.to_string());
        }
        if self.description.trim().is_empty() {
            return wrong(
                "description",
                "describe in a sentence what the agent does; others find it by this text",
            );
        }
        if self.skills.len() > MAX_SKILLS {
            return wrong(
                "skills",
                format!("an agent has at most {MAX_SKILLS} skills; split it into several agents"),
            );
        }
        for (at, skill) in self.skills.iter().enumerate() {
            if skill.id.is_empty() || self.skills[..at].iter().any(|earlier| earlier.id == skill.id) {
                return wrong(
                    "skills",
                    format!("skill id `{}` is empty or occurs twice; give each its own", skill.id),
                );
            }
        }
        self.callers_fit()?;
        if self.limits.concurrency == 0 {
            return wrong("limits.concurrency", "must be at least 1");
        }
        self.sandbox_fits()?;
        if self.limits.timeout.0.is_zero() {
            return wrong("limits.timeout", "must be longer than 0s");
        }
        Ok(())
    }

    fn callers_fit(&self) -> Result<(), Wrong> {
        if self.callers.is_empty() {
            return Ok(());
        }
        if self.visibility != Visibility::Peers {
            return wrong(
                "callers",
                "only an agent with visibility = \"peers\" names the sites that call it",
            );
        }
        if self.callers.len() > MAX_CALLERS {
            return wrong(
                "callers",
                format!("at most {MAX_CALLERS} sites; add peers with `agentsite peer add`"),
            );
        }
        let is_site = |did: &String| PublicKey::from_did_key(did).is_ok_and(|key| key.did_key() == *did);
        match self.callers.iter().find(|did| !is_site(did)) {
            Some(other) => wrong("callers", format!("`{other}` is not a site: write its DID, did:key:z6Mk…")),
            None => Ok(()),
        }
    }

    fn sandbox_fits(&self) -> Result<(), Wrong> {
        let Some(sandbox) = &self.sandbox else { return Ok(()) };
        if self.runtime.command.is_none() {
            return wrong("sandbox", "only an agent with a `command` has a sandbox; remove the table");
        }
        if !sandbox.network && self.runtime.kind == RuntimeKind::A2a {
            return wrong("sandbox.network", "an A2A server is called over the network; remove the key");
        }
        if sandbox.memory.0 < MIN_MEMORY.0 {
            return wrong("sandbox.memory", format!("must be at least {MIN_MEMORY}"));
        }
        if sandbox.processes == 0 {
            return wrong("sandbox.processes", "must be at least 1");
        }
        Ok(())
    }

    fn manifest(self) -> Result<Manifest, Wrong> {
        self.runtime.only_keys_of_its_kind()?;
        if self.runtime.instances == Some(Instances::Site) && self.runtime.command.is_none() {
            return wrong(
                "runtime.instances",
                "only a server that a `command` starts has instances; remove the key",
            );
        }
        let instances = self.runtime.instances.unwrap_or_default();
        let runtime = self.runtime.runtime()?;
        only_modes_of_its_intake(&self.skills, &runtime)?;
        Ok(Manifest {
            name: self.name,
            description: self.description,
            version: self.version,
            visibility: self.visibility,
            callers: self.callers,
            answers: self.answers,
            repeats: self.repeats,
            skills: self.skills,
            runtime,
            limits: self.limits,
            budget: self.budget,
            sandbox: self.sandbox.unwrap_or_default(),
            instances,
        })
    }
}

/// Refuses skills that promise to take files which would not reach the agent.
fn only_modes_of_its_intake(skills: &[SkillEntry], runtime: &Runtime) -> Result<(), Wrong> {
    let intake = runtime.intake();
    if intake.links || intake.files {
        return Ok(());
    }
    let reaches = |mode: &&String| mode.starts_with("text/") || intake.modes().contains(&mode.as_str());
    let lost = skills.iter().flat_map(|skill| &skill.input_modes).find(|mode| !reaches(mode));
    let Some(lost) = lost else { return Ok(()) };
    let remedy = match runtime {
        Runtime::Exec(_) => "; set stdin = \"json\", or leave the mode out",
        _ => "; leave the mode out",
    };
    let taken = intake.modes().join(" and ");
    wrong("skills", format!("input_modes names `{lost}`, but this agent only accepts {taken}{remedy}"))
}

impl RuntimeTable {
    fn only_keys_of_its_kind(&self) -> Result<(), Wrong> {
        use RuntimeKind::{A2a, Acp, Builtin, Exec, Llm, Mcp, Openapi};
        let keys: [(&'static str, bool, &[RuntimeKind]); 38] = [
            ("runtime.builtin", self.builtin.is_some(), &[Builtin]),
            ("runtime.path", self.path.is_some(), &[Builtin]),
            ("runtime.command", self.command.is_some(), &[Exec, A2a, Acp, Mcp]),
            ("runtime.stdin", self.stdin.is_some(), &[Exec]),
            ("runtime.env", self.env.is_some(), &[Exec, A2a, Acp, Mcp]),
            ("runtime.pass_env", self.pass_env.is_some(), &[Exec, A2a, Acp, Mcp]),
            ("runtime.memory_limit", self.memory_limit.is_some(), &[Exec, Mcp]),
            ("runtime.cpu_limit", self.cpu_limit.is_some(), &[Exec, Mcp]),
            ("runtime.file_size_limit", self.file_size_limit.is_some(), &[Exec, Mcp]),
            ("runtime.open_files_limit", self.open_files_limit.is_some(), &[Exec, Mcp]),
            ("runtime.card", self.card.is_some(), &[A2a]),
            ("runtime.start_timeout", self.start_timeout.is_some(), &[A2a, Acp, Mcp]),
            ("runtime.instances", self.instances.is_some(), &[A2a, Acp, Mcp]),
            ("runtime.token_env", self.token_env.is_some(), &[A2a, Mcp, Openapi]),
            ("runtime.binding", self.binding.is_some(), &[A2a]),
            ("runtime.permissions", self.permissions.is_some(), &[Acp]),
            ("runtime.files", self.files.is_some(), &[Acp]),
            ("runtime.auth_method", self.auth_method.is_some(), &[Acp]),
            ("runtime.document", self.document.is_some(), &[Openapi]),
            ("runtime.keys", self.keys.is_some(), &[Openapi]),
            ("runtime.prompt", self.prompt.is_some(), &[Llm, Mcp, Builtin]),
            ("runtime.prompt_file", self.prompt_file.is_some(), &[Llm]),
            ("runtime.model", self.model.is_some(), &[Llm, Mcp, Builtin]),
            ("runtime.base_url", self.base_url.is_some(), &[Llm, Openapi]),
            ("runtime.api", self.api.is_some(), &[Llm]),
            ("runtime.key_env", self.key_env.is_some(), &[Llm]),
            ("runtime.temperature", self.temperature.is_some(), &[Llm]),
            ("runtime.max_tokens", self.max_tokens.is_some(), &[Llm]),
            ("runtime.memory", self.memory.is_some(), &[Llm]),
            ("runtime.tools", self.tools.is_some(), &[Llm]),
            ("runtime.url", self.url.is_some(), &[Mcp]),
            ("runtime.auth", self.auth.is_some(), &[Mcp]),
            ("runtime.client_id", self.client_id.is_some(), &[Mcp]),
            ("runtime.client_secret_env", self.client_secret_env.is_some(), &[Mcp]),
            ("runtime.scopes", self.scopes.is_some(), &[Mcp]),
            ("runtime.approve", self.approve.is_some(), &[Mcp]),
            ("runtime.sampling", self.sampling.is_some(), &[Mcp]),
            ("runtime.talk", self.talk.is_some(), &[Mcp, Builtin]),
        ];
        for (key, set, kinds) in keys {
            if set && !kinds.contains(&self.kind) {
                let kind = self.kind.word();
                let theirs: Vec<&str> = kinds.iter().map(|kind| kind.word()).collect();
                return wrong(
                    key,
                    format!(
                        "a runtime of kind \"{kind}\" has no such key; it belongs to {}",
                        theirs.join(" and ")
                    ),
                );
            }
        }
        Ok(())
    }

    fn runtime(self) -> Result<Runtime, Wrong> {
        match self.kind {
            RuntimeKind::Builtin => self.builtin(),
            RuntimeKind::Exec => self.exec().map(Runtime::Exec),
            RuntimeKind::A2a => self.a2a().map(Runtime::A2a),
            RuntimeKind::Acp => self.acp().map(Runtime::Acp),
            RuntimeKind::Openapi => self.openapi().map(Runtime::Openapi),
            RuntimeKind::Llm => self.llm().map(Runtime::Llm),
            RuntimeKind::Mcp => self.mcp().map(Runtime::Mcp),
            RuntimeKind::Connected => wrong(
                "kind",
                "a program that connects to the site declares itself; see docs/connect-agents.md",
            ),
        }
    }

    fn builtin(self) -> Result<Runtime, Wrong> {
        let builtin = match self.builtin {
            Some(BuiltinWord::Echo) => Builtin::Echo,
            Some(BuiltinWord::Calc) => Builtin::Calc,
            Some(BuiltinWord::Clock) => Builtin::Clock,
            Some(BuiltinWord::Library) => return self.library().map(Runtime::Library),
            None => {
                let which = "name one: builtin = \"echo\", \"calc\", \"clock\" or \"library\"";
                return wrong("runtime", which);
            }
        };
        let of_a_library = [
            ("runtime.path", self.path.is_some()),
            ("runtime.prompt", self.prompt.is_some()),
            ("runtime.model", self.model.is_some()),
            ("runtime.talk", self.talk.is_some()),
        ];
        match of_a_library.into_iter().find(|(_, set)| *set) {
            Some((key, _)) => wrong(key, "of the built-in agents only the library has such a key"),
            None => Ok(Runtime::Builtin(builtin)),
        }
    }

    fn library(self) -> Result<LibraryRuntime, Wrong> {
        if self.path.as_ref().is_some_and(|path| path.trim().is_empty()) {
            return wrong(
                "runtime.path",
                "name the folder with the documents, such as \"docs\", or leave the key out",
            );
        }
        Ok(LibraryRuntime {
            path: self.path,
            talk: self.talk.unwrap_or(true),
            prompt: self.prompt,
            model: self.model,
        })
    }

    fn exec(self) -> Result<ExecRuntime, Wrong> {
        let command = self.command.unwrap_or_default();
        if command.first().is_none_or(String::is_empty) {
            return wrong("runtime", "name the program: command = [\"program\", \"argument\"]");
        }
        Ok(ExecRuntime {
            command,
            stdin: self.stdin.unwrap_or_default(),
            env: self.env.unwrap_or_default(),
            pass_env: self.pass_env.unwrap_or_default(),
            memory: self.memory_limit,
            cpu: self.cpu_limit,
            file_size: self.file_size_limit,
            open_files: self.open_files_limit,
        })
    }

    fn a2a(self) -> Result<A2aRuntime, Wrong> {
        let command = self.command.unwrap_or_default();
        let missing = "name the agent: card = \"https://…\", or command = [\"program\"] to start it";
        here_or_elsewhere(&command, self.card.as_ref(), "card", missing)?;
        Ok(A2aRuntime {
            card: self.card,
            command,
            env: self.env.unwrap_or_default(),
            pass_env: self.pass_env.unwrap_or_default(),
            start_timeout: self.start_timeout.unwrap_or(START_TIMEOUT),
            token_env: self.token_env,
            binding: self.binding,
            site: None,
            second_way: None,
        })
    }

    fn acp(self) -> Result<AcpRuntime, Wrong> {
        let command = self.command.unwrap_or_default();
        if command.first().is_none_or(String::is_empty) {
            return wrong("runtime", "name the program: command = [\"program\", \"argument\"]");
        }
        Ok(AcpRuntime {
            command,
            env: self.env.unwrap_or_default(),
            pass_env: self.pass_env.unwrap_or_default(),
            start_timeout: self.start_timeout.unwrap_or(START_TIMEOUT),
            permissions: self.permissions.unwrap_or_default(),
            files: self.files.unwrap_or_default(),
            auth_method: self.auth_method,
        })
    }

    fn openapi(self) -> Result<OpenApiRuntime, Wrong> {
        let Some(document) = self.document.filter(|document| !document.trim().is_empty()) else {
            return wrong(
                "runtime",
                "name the API: document = \"openapi.json\", a file of this folder, or \"https://…\"",
            );
        };
        if document.contains("://") && !is_web(&document) {
            return wrong("runtime.document", "the address must begin with https:// or http://");
        }
        if self.base_url.as_ref().is_some_and(|base| !matches!(base.scheme(), "http" | "https")) {
            return wrong("runtime.base_url", "the address must begin with https:// or http://");
        }
        Ok(OpenApiRuntime {
            document,
            base_url: self.base_url,
            token_env: self.token_env,
            keys: self.keys.unwrap_or_default(),
        })
    }

    fn llm(self) -> Result<LlmRuntime, Wrong> {
        if self.prompt.is_some() && self.prompt_file.is_some() {
            return wrong("runtime.prompt_file", "set either prompt or prompt_file, not both");
        }
        if self.temperature.is_some_and(|heat| !(0.0..=2.0).contains(&heat)) {
            return wrong("runtime.temperature", "must be between 0 and 2");
        }
        let tools = self.tools.unwrap_or_default();
        if let Some(tool) = tools.iter().find(|tool| !is_tool(tool)) {
            return wrong(
                "runtime.tools",
                format!(
                    "`{tool}` is not a tool: write agent:NAME, agent:https://…, mcp:NAME or openapi:FILE"
                ),
            );
        }
        Ok(LlmRuntime {
            prompt: self.prompt,
            prompt_file: self.prompt_file,
            model: self.model,
            base_url: self.base_url,
            api: self.api.unwrap_or_default(),
            key_env: self.key_env,
            temperature: self.temperature,
            max_tokens: self.max_tokens.unwrap_or(MAX_TOKENS),
            memory: self.memory.unwrap_or(MEMORY),
            tools,
        })
    }
}

fn is_web(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "http" | "https"))
}

/// Checks that a server is either started by a command or found at an address of the web.
fn here_or_elsewhere(
    command: &[String],
    address: Option<&Url>,
    key: &'static str,
    missing: &str,
) -> Result<(), Wrong> {
    let started = command.first().is_some_and(|program| !program.is_empty());
    match address {
        None if !started => wrong("runtime", missing),
        Some(_) if started => wrong("runtime.command", format!("set either {key} or command, not both")),
        Some(address) if !matches!(address.scheme(), "http" | "https") => {
            let key = if key == "card" { "runtime.card" } else { "runtime.url" };
            wrong(key, "the address must begin with https:// or http://")
        }
        _ => Ok(()),
    }
}

fn is_tool(tool: &str) -> bool {
    if let Some(name) = tool.strip_prefix("mcp:") {
        return name.parse::<AgentName>().is_ok();
    }
    if let Some(document) = tool.strip_prefix("openapi:") {
        return !document.trim().is_empty() && (!document.contains("://") || is_web(document));
    }
    let Some(target) = tool.strip_prefix("agent:") else { return false };
    let remote = target.starts_with("http://") || target.starts_with("https://");
    if remote { Url::parse(target).is_ok() } else { target.parse::<AgentName>().is_ok() }
}

/// An error of the TOML reader with its place.
pub(super) fn syntax_error(text: &str, error: &toml::de::Error) -> ManifestError {
    let (line, column) = line_and_column(text, error.span().map_or(0, |span| span.start));
    let what = error.message().lines().collect::<Vec<_>>().join("; ");
    ManifestError { line, column, what }
}

/// An error under a key, with the place of the key, or of its table when the key itself is not there.
fn position(text: &str, key: &str, what: &str) -> ManifestError {
    let span = locate(text, key).or_else(|| locate(text, key.split('.').next().unwrap_or(key)));
    let (line, column) = line_and_column(text, span.map_or(0, |span| span.start));
    let what = format!("{key}: {what}");
    ManifestError { line, column, what }
}

fn locate(text: &str, key: &str) -> Option<Range<usize>> {
    let document = toml::de::DeTable::parse(text).ok()?;
    let mut table = document.get_ref();
    let mut found = None;
    for step in key.split('.') {
        let (name, value) = table.iter().find(|(name, _)| name.get_ref() == step)?;
        found = Some(name.span());
        match value.get_ref() {
            toml::de::DeValue::Table(inner) => table = inner,
            _ => return found,
        }
    }
    found
}

fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text.as_bytes()[..at.min(text.len())];
    let line = before.iter().filter(|byte| **byte == b'\n').count() + 1;
    let start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
    let column = String::from_utf8_lossy(&before[start..]).chars().count() + 1;
    (line, column)
}
