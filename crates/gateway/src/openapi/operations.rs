//! The table of operations that `/openapi.json` and the page about it are written from.
//!
//! Promises: one row for each method of each route, JSON-RPC of the hub as one; names of shapes are those of `schemas.json`. It says nothing about A2A, MCP and the OpenAI-style
//! face, which have specifications of their own.

use utoipa::openapi::path::HttpMethod;

/// Which face an operation belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The REST face, for known callers.
    Rest,
    /// The registry of ARD.
    Ard,
    /// The registry API of MCP.
    Servers,
    /// The hub by JSON-RPC.
    Rpc,
}

impl Part {
    /// All of them, in the order in which they are shown.
    pub(crate) const ALL: [Self; 4] = [Self::Ard, Self::Rest, Self::Rpc, Self::Servers];

    /// What the face is called.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Rest => "REST",
            Self::Ard => "Discovery (ARD)",
            Self::Servers => "MCP registry",
            Self::Rpc => "JSON-RPC",
        }
    }

    /// The shape of its errors.
    pub(crate) const fn error(self) -> &'static str {
        match self {
            Self::Rest => "Error",
            Self::Ard => "ArdError",
            Self::Servers => "ServersError",
            Self::Rpc => "RpcError",
        }
    }
}

/// One method of one route.
#[derive(Clone)]
pub(crate) struct Operation {
    pub(crate) part: Part,
    pub(crate) method: HttpMethod,
    pub(crate) path: &'static str,
    pub(crate) id: &'static str,
    pub(crate) summary: &'static str,
    /// Name, type as [`parameter`](super::parameter) reads it, and meaning.
    pub(crate) query: &'static [(&'static str, &'static str, &'static str)],
    /// Shape of the request.
    pub(crate) body: Option<&'static str>,
    pub(crate) status: &'static str,
    /// Shape of the answer.
    pub(crate) answer: Option<&'static str>,
    /// Its media types, the usual one first, parted by `|`.
    pub(crate) media: &'static str,
}

impl Operation {
    const fn new(
        part: Part,
        method: HttpMethod,
        path: &'static str,
        id: &'static str,
        summary: &'static str,
    ) -> Self {
        let (query, media): (&[_], _) = (&[], "application/json");
        Self { part, method, path, id, summary, query, body: None, status: "200", answer: None, media }
    }

    const fn asks(mut self, query: &'static [(&'static str, &'static str, &'static str)]) -> Self {
        self.query = query;
        self
    }

    const fn takes(mut self, body: &'static str) -> Self {
        self.body = Some(body);
        self
    }

    const fn gives(mut self, answer: &'static str) -> Self {
        self.answer = Some(answer);
        self
    }

    const fn with(mut self, status: &'static str) -> Self {
        self.status = status;
        self
    }

    const fn in_type(mut self, media: &'static str) -> Self {
        self.media = media;
        self
    }
}

const fn get(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Rest, HttpMethod::Get, path, id, summary)
}

const fn post(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Rest, HttpMethod::Post, path, id, summary)
}

const fn patch(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Rest, HttpMethod::Patch, path, id, summary)
}

const fn put(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Rest, HttpMethod::Put, path, id, summary)
}

const fn delete(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Rest, HttpMethod::Delete, path, id, summary).with("204")
}

const fn ard(method: HttpMethod, path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Ard, method, path, id, summary)
}

const fn servers(path: &'static str, id: &'static str, summary: &'static str) -> Operation {
    Operation::new(Part::Servers, HttpMethod::Get, path, id, summary)
}

/// Media type of server-sent events.
pub(super) const STREAM: &str = "text/event-stream";

const CARD: &str = "application/mcp-server-card+json";

/// States of a task, parted by commas.
const STATES: &str = "~^(submitted|working|input-required|auth-required|completed|failed|canceled|rejected)(,(submitted|working|input-required|auth-required|completed|failed|canceled|rejected))*$";

/// At most four fields by which a list is sorted, each with its direction.
const ORDER: &str = "~^((identifier|displayName|name|type|version|updatedAt|createdAt|publisher)( (ASC|DESC))?(, ?(identifier|displayName|name|type|version|updatedAt|createdAt|publisher)( (ASC|DESC))?){0,3})?$";

/// How a list of servers is narrowed.
const SERVERS: &[(&str, &str, &str)] = &[
    ("cursor", "string", "nextCursor of the page before"),
    ("limit", "1..100", "1 to 100; 30 when left out"),
    ("search", "string", "Part of the name"),
    ("updated_since", "moment", "Changed since this moment"),
    ("version", "string", "latest, or an exact version"),
];

/// Every operation.
pub(crate) const OPERATIONS: [Operation; 99] = [
    get("/api/agents", "listAgents", "The agents of the site that you may call").gives("Agents"),
    get("/api/agents/{name}", "getAgent", "One agent").gives("Agent"),
    post("/api/agents", "createAgent", "Make a new agent from a template")
        .takes("NewAgent")
        .with("201")
        .gives("Agent"),
    delete(
        "/api/agents/{name}",
        "removeAgent",
        "Take an agent out: its folder goes to the trash, a program that connects is sent away",
    ),
    get(
        "/api/agents/{name}/usage",
        "getAgentUsage",
        "Calls, failures, time and tokens of each of the last days",
    )
    .asks(&[("days", "integer", "30 when left out, at most 31")])
    .gives("Usage"),
    get("/api/agents/{name}/manifest", "getManifestFile", "The agent.toml of an agent").gives("ManifestFile"),
    put("/api/agents/{name}/manifest", "writeManifestFile", "Change the agent.toml of an agent")
        .takes("ManifestEdit")
        .gives("ManifestFile"),
    post("/api/agents/{name}/manifest/check", "checkManifestFile", "What is wrong with an agent.toml")
        .takes("ManifestText")
        .gives("ManifestProblems"),
    post("/api/agents/{name}/suspend", "suspendAgent", "Take an agent out for a while").gives("ManifestFile"),
    post("/api/agents/{name}/resume", "resumeAgent", "Bring an agent back").gives("ManifestFile"),
    get("/api/workshop", "getWorkshop", "What agents are made from, and which were taken out for a while")
        .gives("Workshop"),
    post("/api/workshop/draft", "draftAgent", "The files of a new agent, without writing them")
        .takes("NewAgent")
        .gives("AgentDraft"),
    get("/api/agents/{name}/logs", "getAgentLog", "The last lines of an agent's log")
        .asks(&[("lines", "integer", "100 when left out")])
        .gives("Log"),
    get("/api/agents/{name}/tools", "listAgentTools", "The tools of an agent that is a tool server")
        .gives("Tools"),
    post("/api/agents/{name}/tools/approve", "approveAgentTools", "Approve tools as they are now")
        .takes("Approval")
        .gives("Approved"),
    post("/api/agents/{name}/login", "beginLogin", "Begin the login of an agent whose tool server wants one")
        .takes("LoginGiven")
        .gives("Login"),
    post("/api/agents/{name}/login/answer", "finishLogin", "Finish a login with the address that it led to")
        .takes("LoginAnswer")
        .gives("LoggedIn"),
    post("/api/agents/{name}/logout", "logout", "Forget the login of an agent").gives("LoggedOut"),
    post("/api/find", "findAgents", "Find the right agents for a need in plain language")
        .takes("Query")
        .gives("Matches"),
    get("/api/queries", "listQueries", "The queries that you keep").gives("KeptQueries"),
    post("/api/queries", "keepQuery", "Keep a query, to be told when an agent appears that fits")
        .takes("QueryToKeep")
        .with("201")
        .gives("KeptQuery"),
    get("/api/queries/{id}", "getQuery", "One kept query with the last agents that appeared")
        .gives("KeptQuery"),
    delete("/api/queries/{id}", "forgetQuery", "Forget a kept query"),
    get(
        "/api/queries/{id}/events",
        "listAppeared",
        "The agents that appeared; with Accept: text/event-stream as they do",
    )
    .asks(&[("after", "integer", "Number of the last one seen")])
    .gives("AppearedList"),
    get(
        "/api/hub",
        "listHubEntries",
        "The agents from elsewhere that you may see, by their names everywhere",
    )
    .asks(&[
        ("format", "listings|catalog|servers", "listings when left out"),
        ("after", "string", "next of the page before"),
        ("limit", "integer", "100 when left out"),
    ])
    .gives("HubPage"),
    post("/api/hub", "registerAgent", "Register an agent by the address of its card, or by the card")
        .takes("Registering")
        .with("201")
        .gives("HubEntry"),
    post(
        "/api/hub/import",
        "importAgents",
        "Import from an address; lines of JSON come as application/x-ndjson",
    )
    .takes("ImportSource")
    .gives("Imported"),
    get("/api/hub/{id}", "getHubEntry", "One agent from elsewhere").gives("HubEntry"),
    patch("/api/hub/{id}", "changeEntry", "Change who sees an entry, where it runs and what it costs")
        .takes("HubEdit")
        .gives("HubEntry"),
    delete("/api/hub/{id}", "removeEntry", "Take an entry out"),
    post("/api/hub/{id}/verify", "proveEntry", "Prove to be the owner of an entry")
        .takes("Proving")
        .gives("HubEntry"),
    post("/api/hub/{id}/refresh", "refreshEntry", "Look at an entry again now").gives("HubEntry"),
    post("/api/hub/{id}/suspend", "suspendEntry", "Take an entry out for a while").gives("HubEntry"),
    post("/api/hub/{id}/resume", "resumeEntry", "Bring an entry back").gives("HubEntry"),
    post("/api/hub/{id}/open", "openEntry", "Open an entry, so that it is called through this site")
        .gives("OpenEntry"),
    get(
        "/api/conversations",
        "listConversations",
        "Your conversations, pinned ones first, then the last changed first",
    )
    .asks(&[
        ("text", "string", "With these words in title, questions or answers"),
        ("limit", "integer", "50 when left out"),
        ("cursor", "string", "next of the page before"),
    ])
    .gives("Conversations"),
    post("/api/conversations", "beginConversation", "Begin a conversation, with first words or without")
        .takes("NewConversation")
        .with("201")
        .gives("BegunConversation"),
    get("/api/conversations/events", "followConversations", "What happens to your conversations, as it does")
        .gives("ConversationEvent")
        .in_type(STREAM),
    get("/api/conversations/{id}", "getConversation", "One conversation without its turns")
        .gives("Conversation"),
    patch(
        "/api/conversations/{id}",
        "editConversation",
        "Rename it, pin it, or choose the branch that is shown",
    )
    .takes("ConversationEdit")
    .gives("Conversation"),
    delete("/api/conversations/{id}", "deleteConversation", "Delete it with everything that was said in it")
        .asks(&[("revision", "integer", "Only if this is still its revision")]),
    get("/api/conversations/{id}/turns", "listTurns", "A page of the path that is shown, oldest first")
        .asks(&[
            ("before", "uuid", "before of the page after; the last turns when left out"),
            ("limit", "integer", "50 when left out"),
        ])
        .gives("Turns"),
    post(
        "/api/conversations/{id}/turns",
        "say",
        "Say something: a new turn, an edit or retry of one, or an answer to what was asked back",
    )
    .takes("Saying")
    .with("201")
    .gives("Turn"),
    get("/api/conversations/{id}/events", "followConversation", "What happens to a conversation, as it does")
        .gives("ConversationEvent")
        .in_type(STREAM),
    get("/api/conversations/{id}/export", "exportConversation", "A conversation as Markdown or JSON")
        .asks(&[("format", "md|json", "md when left out")])
        .gives("Export")
        .in_type("text/markdown|application/json"),
    get("/api/tasks", "listTasks", "Your tasks, the last changed first")
        .asks(&[
            ("agent", "name", "Of this agent"),
            ("state", STATES, "In one of these states, parted by commas"),
            ("context", "id", "Of this conversation"),
            ("since", "moment", "Changed since this moment"),
            ("text", "string", "With this text in what was asked, the agent's name or the id"),
            ("limit", "integer", "50 when left out"),
            ("cursor", "string", "next of the page before"),
        ])
        .gives("Tasks"),
    get("/api/tasks/{id}", "getTask", "One task").gives("Task"),
    delete("/api/tasks/{id}", "deleteTask", "Delete an ended task with everything that was said in it"),
    get(
        "/api/tasks/{id}/events",
        "listTaskEvents",
        "The events of a task; with Accept: text/event-stream as they happen",
    )
    .asks(&[("after", "integer", "Number of the last event seen"), ("limit", "integer", "500 when left out")])
    .gives("Events"),
    post("/api/tasks/{id}/cancel", "cancelTask", "End a task").gives("Task"),
    post("/api/tasks/{id}/retry", "retryTask", "Ask the agent of an ended task the same again")
        .with("201")
        .gives("Task"),
    get("/api/tasks/{id}/graph", "getTaskGraph", "A task and the tasks that it started").gives("TaskGraph"),
    get("/api/names", "listReleasedNames", "Names that are reserved for their previous owners").gives("ReleasedNames"),
    delete("/api/names/{name}", "releaseName", "End the reservation of a name, so that anybody may take it"),
    get("/api/keys", "listKeys", "The API keys").gives("Keys"),
    post("/api/keys", "makeKey", "Make an API key; its secret is shown once")
        .takes("NewKey")
        .with("201")
        .gives("MadeKey"),
    delete("/api/keys/{id}", "revokeKey", "Revoke an API key"),
    post("/api/admin-token", "replaceAdminToken", "Replace the admin token; the one before ends at once")
        .with("201")
        .gives("MadeKey"),
    post("/api/signin-links", "makeSignInLink", "Make a link by which a browser signs in once")
        .with("201")
        .gives("Link"),
    get("/api/session", "getSession", "Who you are to the site").gives("Session"),
    post("/api/session", "signIn", "Sign a browser in with a key; the session is a cookie")
        .takes("SigningIn")
        .gives("Session"),
    delete("/api/session", "signOut", "End the session of a browser"),
    get("/api/outbox", "listLetters", "What has to leave the site, and what could not")
        .asks(&[
            ("state", "waiting|dead", "Both when left out"),
            ("task", "uuid", "Of this task"),
            ("after", "integer", "Number of the last one seen"),
            ("limit", "integer", "100 when left out"),
        ])
        .gives("Letters"),
    get("/api/outbox/{id}", "getLetter", "One letter").gives("Letter"),
    delete("/api/outbox/{id}", "dropLetter", "Drop a letter"),
    post("/api/outbox/{id}/retry", "sendLetterAgain", "Try a letter again").gives("Letter"),
    get("/api/identity", "getIdentity", "Who the site is: its keys").gives("Identity"),
    post("/api/identity/rotate", "rotateIdentity", "Take new keys").gives("Identity"),
    get("/api/identity/challenges", "listChallenges", "The challenges of other hubs that the site serves")
        .gives("ServedChallenges"),
    post("/api/identity/challenges", "serveChallenge", "Serve the challenge of another hub for an hour")
        .takes("ChallengeToServe")
        .with("201")
        .gives("ServedChallenge"),
    delete("/api/identity/challenges/{word}", "withdrawChallenge", "Serve a challenge no longer"),
    post("/api/identity/answer", "answerChallenge", "Sign the challenge of an entry in another hub")
        .takes("ChallengeToAnswer")
        .gives("SignedAnswer"),
    get("/api/status", "getStatus", "How the site fares").gives("Status"),
    get("/api/charts", "getCharts", "How the site fared over the last minutes, the last hour or the last day")
        .asks(&[("range", "15m|1h|24h", "15m when left out")])
        .gives("Charts"),
    get(
        "/api/logs",
        "getSiteLog",
        "The log of the site itself; with Accept: text/event-stream as it grows, with {\"missed\": N} for a reader that is too slow",
    )
    .asks(&[
        ("level", "error|warn|info|debug|trace", "As severe as that or more"),
        ("text", "string", "With this text"),
        ("after", "integer", "After this number"),
        ("limit", "integer", "200 when left out"),
    ])
    .gives("SiteLog"),
    get("/api/config", "getConfig", "The configuration in force, where each value came from, and its file")
        .gives("ConfigView"),
    post("/api/config", "saveConfig", "Write the configuration file, unless it is wrong or has changed meanwhile")
        .takes("ConfigSaving")
        .gives("ConfigVerdict"),
    post("/api/config/check", "checkConfig", "What would come of a text as the configuration file")
        .takes("ConfigDraft")
        .gives("ConfigVerdict"),
    get("/api/doctor", "getDoctor", "What the last look at everything that a site needs has found").gives("Doctor"),
    post("/api/doctor", "runDoctor", "Look at everything that a site needs, now").gives("Doctor"),
    get("/api/journal", "listJournal", "What happened, newest first")
        .asks(&[
            ("agent", "name", "About this agent"),
            ("task", "uuid", "About this task"),
            ("text", "string", "With this text"),
            ("actor", "string", "Of whoever is called so"),
            ("kind", "task|site", "About a task, or about none"),
            ("since", "moment", "From this time on, like 2026-01-31T08:00:00Z"),
            ("until", "moment", "Before this time"),
            ("before", "integer", "Before this number"),
            ("after", "integer", "After this number"),
            ("limit", "integer", "100 when left out"),
        ])
        .gives("Journal"),
    post("/api/backup", "backup", "Write a copy of everything to a file on the site's machine")
        .takes("Backup")
        .with("201")
        .gives("BackupMade"),
    post("/api/reload", "reload", "Read configuration and agents again").with("202").gives("Reloading"),
    ard(
        HttpMethod::Get,
        "/.well-known/ai-catalog.json",
        "getCatalog",
        "The public agents of the site as a catalogue",
    )
    .gives("Catalog"),
    ard(HttpMethod::Get, "/.well-known/ard.json", "getManifest", "The same, where ARD 0.91 looks for it")
        .gives("Catalog"),
    ard(HttpMethod::Post, "/search", "searchAgents", "Agents that fit a sentence, the best first")
        .takes("SearchRequest")
        .gives("SearchResponse"),
    ard(
        HttpMethod::Post,
        "/explore",
        "exploreRegistry",
        "How the agents that fit are spread over the values of fields",
    )
    .takes("ExploreRequest")
    .gives("ExploreResponse"),
    ard(HttpMethod::Get, "/agents", "listEntries", "Entries in a fixed order")
        .asks(&[
            ("filter", "string", "type = 'application/a2a-agent-card+json' AND updatedAfter > '2026-01-01'"),
            ("orderBy", ORDER, "displayName, updatedAt DESC"),
            ("pageSize", "1..100", "20 when left out"),
            ("pageToken", "string", "pageToken of the page before"),
        ])
        .gives("ListResponse"),
    ard(HttpMethod::Get, "/agents/{identifier}", "getEntry", "One entry by its identifier").gives("Entry"),
    Operation::new(
        Part::Rpc,
        HttpMethod::Post,
        "/rpc",
        "callHub",
        "Find, get and list agents by JSON-RPC 2.0: agents.find, agents.get, agents.list",
    )
    .takes("RpcRequest")
    .gives("RpcResponse"),
    servers("/v0.1/servers", "listServers", "Agents that are servers of tools")
        .asks(SERVERS)
        .gives("ServerList"),
    servers("/v0.1/servers/{name}", "getServer", "One server").gives("ServerResponse"),
    servers("/v0.1/servers/{name}/versions", "listServerVersions", "The versions of a server")
        .gives("ServerList"),
    servers("/v0.1/servers/{name}/versions/{version}", "getServerVersion", "One version of a server")
        .gives("ServerResponse"),
    servers("/v0/servers", "listServersV0", "The same by its former address")
        .asks(SERVERS)
        .gives("ServerList"),
    servers("/v0/servers/{name}", "getServerV0", "The same by its former address").gives("ServerResponse"),
    servers(
        "/.well-known/mcp/server-card.json",
        "getSiteServerCard",
        "The card of the site as a server of tools",
    )
    .gives("ServerCard")
    .in_type(CARD),
    ard(
        HttpMethod::Get,
        "/.well-known/mcp/catalog.json",
        "getServerCatalog",
        "The public servers of tools as a catalogue",
    )
    .gives("ServerCatalog"),
    servers("/mcp/{agent}/server-card", "getServerCard", "The card of an agent as a server of tools")
        .gives("ServerCard")
        .in_type(CARD),
];
