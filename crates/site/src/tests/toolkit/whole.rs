//! The whole site as a set of tools: its agents, and a few tools about them.
//!
//! How it looks on the wire is the gateway's matter.

use super::*;

async fn names(kit: &Toolkit, caller: &Caller) -> Vec<String> {
    let exchange = Exchange::silent(caller.clone(), PLAIN);
    kit.tools(&exchange).await.unwrap().iter().map(|tool| tool.name.clone()).collect()
}

fn private(story: &Story, name: &str) {
    let text = format!(
        "name = \"{name}\"\ndescription = \"An agent named {name}\"\n[runtime]\nkind = \"builtin\"\nbuiltin = \"echo\"\n"
    );
    story.site.agents().install_runner(Manifest::read(&text).unwrap(), Arc::new(echo()));
}

#[tokio::test]
async fn it_lists_its_services_and_every_visible_agent() {
    let story = Story::begin().await;
    story.agent("zebra", echo());
    story.tools("");
    private(&story, "secret");
    let services = ["find_agents", "call_agent", "get_task", "cancel_task", "list_tasks"];
    let all = names(&story.whole(), &Caller::local()).await;
    assert_eq!(all[..5], services);
    assert_eq!(all[5..7], ["bench__echo", "bench__slow"]);
    assert_eq!(all[all.len() - 2..], ["secret", "zebra"]);
    assert_eq!(names(&story.whole(), &Caller::local()).await, all, "the order does not change");
    let theirs = names(&story.site.toolkit(&stranger(), None).unwrap(), &stranger()).await;
    assert!(!theirs.contains(&"secret".into()) && theirs.contains(&"zebra".into()));
}

#[tokio::test]
async fn effects_are_told_as_far_as_they_are_known() {
    let story = Story::begin().await;
    let tools = story.whole().tools(&exchange(PLAIN)).await.unwrap();
    let hints =
        |name: &str| tools.iter().find(|tool| tool.name == name).unwrap().annotations.clone().unwrap();
    for reads in ["find_agents", "get_task", "list_tasks"] {
        assert_eq!(hints(reads)["readOnlyHint"], true, "{reads}");
    }
    assert_eq!(hints("cancel_task")["destructiveHint"], true);
    assert_eq!(hints("call_agent")["readOnlyHint"], false);
}

#[tokio::test]
async fn above_a_hundred_operations_only_the_way_to_them_is_listed() {
    let story = Story::begin().await;
    for number in 0..101 {
        story.agent(&format!("agent-{number:03}"), echo());
    }
    let kit = story.whole();
    let listed = names(&kit, &Caller::local()).await;
    let all = [
        "find_agents",
        "call_agent",
        "get_task",
        "cancel_task",
        "list_tasks",
        "list_agents",
        "describe_agent",
    ];
    assert_eq!(listed, all);
    let page = result(&kit, "list_agents", json!({ "limit": 100 })).await.structured_content.unwrap();
    assert_eq!((page["agents"].as_array().unwrap().len(), &page["next"]), (100, &json!("agent-099")));
    let rest =
        result(&kit, "list_agents", json!({ "after": page["next"] })).await.structured_content.unwrap();
    assert_eq!((rest["agents"][0]["name"].clone(), rest.get("next")), (json!("agent-100"), None));
    let direct = result(&kit, "agent-007", json!({ "message": "still there" })).await;
    assert_eq!(direct.plain_text(), "still there");
}

#[tokio::test]
async fn agents_are_found_by_words() {
    let story = Story::begin().await;
    story.agent("weather", echo());
    private(&story, "secret");
    let kit = story.whole();
    let found = result(&kit, "find_agents", json!({ "query": "what is the weather?" })).await;
    assert_eq!(found.structured_content.unwrap()["agents"][0]["name"], "weather");
    let nobody = result(&kit, "find_agents", json!({ "query": "cake" })).await;
    assert_eq!(nobody.structured_content.unwrap(), json!({ "agents": [] }));
    let theirs = story.site.toolkit(&stranger(), None).unwrap();
    let exchange = Exchange::silent(stranger(), PLAIN);
    let called = theirs.call(exchange, with("find_agents", &json!({ "query": "secret" }))).await.unwrap();
    let ToolOutcome::Reply(Reply::Done(found)) = called else { panic!() };
    assert_eq!(found.structured_content.unwrap(), json!({ "agents": [] }));
}

#[tokio::test]
async fn an_agent_is_called_by_its_name() {
    let story = Story::begin().await;
    story.agent("echo", echo());
    story.tools("");
    private(&story, "secret");
    let kit = story.whole();
    let words = |name: &'static str, arguments: Value| {
        let kit = kit.clone();
        async move { result(&kit, name, arguments).await.plain_text() }
    };
    assert_eq!(words("call_agent", json!({ "agent": "echo", "message": "hi" })).await, "hi");
    let tool = json!({ "agent": "bench", "tool": "echo", "arguments": { "text": "hi" } });
    assert_eq!(words("call_agent", tool).await, "hi");
    assert_eq!(words("bench__echo", json!({ "text": "hi" })).await, "hi");
    for (arguments, said) in [
        (json!({ "agent": "nobody", "message": "x" }), "there is no agent `nobody`"),
        (json!({ "agent": "bench" }), "name one as `tool`"),
        (json!({ "agent": "bench", "tool": "nothing" }), "there is no tool `nothing`"),
        (json!({ "agent": "echo", "tool": "nothing" }), "no such tool"),
        (json!({ "message": "x" }), "lacks `agent`"),
    ] {
        let told = words("call_agent", arguments).await;
        assert!(told.contains(said), "{told}");
    }
    let theirs = story.site.toolkit(&stranger(), None).unwrap();
    let exchange = Exchange::silent(stranger(), PLAIN);
    let call = with("call_agent", &json!({ "agent": "secret", "message": "x" }));
    let ToolOutcome::Reply(Reply::Done(told)) = theirs.call(exchange, call).await.unwrap() else { panic!() };
    assert!(told.is_error && told.plain_text().contains("there is no agent `secret`"));
}

#[tokio::test]
async fn an_agent_is_described_with_its_tools() {
    let story = Story::begin().await;
    story.agent("echo", echo());
    story.tools("");
    let kit = story.whole();
    let bench = result(&kit, "describe_agent", json!({ "agent": "bench" })).await.structured_content.unwrap();
    assert_eq!((&bench["tools"][0]["name"], &bench["takesMessages"]), (&json!("echo"), &json!(false)));
    let echo = result(&kit, "describe_agent", json!({ "agent": "echo" })).await.structured_content.unwrap();
    assert_eq!((&echo["tools"], &echo["takesMessages"]), (&json!([]), &json!(true)));
}

#[tokio::test]
async fn tasks_are_told_listed_and_ended_for_their_owner_only() {
    let story = Story::begin().await;
    let agent = story.agent("asker", ScriptedRunner::new().ask("which?"));
    let kit = story.whole();
    let id = story.ask(&agent, "x").await.head.id;
    let told = result(&kit, "get_task", json!({ "task": id })).await;
    assert!(told.plain_text().contains("input-required") && told.plain_text().contains("which?"));
    let listed =
        result(&kit, "list_tasks", json!({ "state": "input-required" })).await.structured_content.unwrap();
    assert_eq!(listed["tasks"][0]["task"], json!(id));
    let none = result(&kit, "list_tasks", json!({ "state": "completed" })).await;
    assert_eq!(none.structured_content.unwrap()["tasks"], json!([]));

    let theirs = story.site.toolkit(&stranger(), None).unwrap();
    for (name, arguments) in [
        ("get_task", json!({ "task": id })),
        ("cancel_task", json!({ "task": id })),
        ("get_task", json!({ "task": "x" })),
    ] {
        let called = theirs.call(Exchange::silent(stranger(), PLAIN), with(name, &arguments)).await.unwrap();
        let ToolOutcome::Reply(Reply::Done(told)) = called else { panic!() };
        assert!(told.is_error && told.plain_text().contains("there is no task"), "{name}");
    }
    let called =
        theirs.call(Exchange::silent(stranger(), PLAIN), with("list_tasks", &json!({}))).await.unwrap();
    let ToolOutcome::Reply(Reply::Done(listed)) = called else { panic!() };
    assert_eq!(listed.structured_content.unwrap()["tasks"], json!([]));

    let ended = result(&kit, "cancel_task", json!({ "task": id })).await;
    assert_eq!(ended.structured_content.unwrap()["state"], "canceled");
    let again = result(&kit, "cancel_task", json!({ "task": id })).await;
    assert!(again.is_error && again.plain_text().contains("cannot be canceled"));
}

#[tokio::test]
async fn it_tells_a_model_how_to_use_it() {
    let story = Story::begin().await;
    let about = story.whole().about();
    assert_eq!(about.name, "agentsite");
    assert!(about.resources && about.prompts && about.completions);
    assert!(about.instructions.unwrap().contains("find_agents"));
}
