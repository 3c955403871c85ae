//! Foreign documents, honest and hostile: each becomes a small draft or is refused with a sentence.
//! Who stands behind a document is another matter.

use serde_json::json;

use super::*;

fn card() -> Value {
    json!({
        "name": "Weather", "description": "Tells the weather.", "version": "1.2",
        "supportedInterfaces": [{"url": "https://w.example.org/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}],
        "skills": [{"id": "s", "name": "Forecast", "description": "Tomorrow.", "tags": ["weather"], "examples": ["Will it rain?"]}],
    })
}

#[test]
fn every_form_of_an_agent_is_read() {
    let read = |value: &Value| Draft::read(value).unwrap();
    let of_card = read(&card());
    assert_eq!((of_card.name.as_str(), of_card.host().as_deref()), ("Weather", Some("w.example.org")));
    assert_eq!(of_card.tags, ["weather"]);
    let entry = json!({
        "identifier": "urn:air:example.org:agents:weather", "displayName": "Weather", "type": A2A_CARD,
        "url": "https://example.org/card.json", "tags": ["sky"], "representativeQueries": ["rain?", "sun?"],
    });
    let of_entry = read(&entry);
    assert_eq!(of_entry.id.as_deref(), Some("urn:air:example.org:agents:weather"));
    assert_eq!(of_entry.skills[0].examples, ["rain?", "sun?"]);
    let inline =
        json!({ "identifier": "urn:air:a:b:c", "displayName": "W", "type": A2A_CARD, "data": card() });
    assert_eq!(read(&inline).skills[0].name, "Forecast");
    let server = json!({
        "$schema": "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json",
        "name": "org.example/files", "description": "Files.", "version": "2",
        "remotes": [{"type": "streamable-http", "url": "https://example.org/mcp"}],
    });
    let of_server = read(&server);
    assert_eq!((of_server.name.as_str(), of_server.protocols[0].as_str()), ("files", "mcp"));
    assert_eq!(read(&json!({ "server": server })).name, "files");
    let exported = json!({ "id": "urn:air:a:b:c", "name": "X", "mediaType": A2A_CARD, "owner": "admin", "proof": "signature" });
    assert_eq!(read(&exported).id.as_deref(), Some("urn:air:a:b:c"));
}

#[test]
fn what_is_no_agent_is_refused_with_a_sentence() {
    for value in [
        json!({}),
        json!({ "name": "x" }),
        json!({ "name": "\u{0}\n", "description": "", "version": "" }),
        json!({ "identifier": "urn:air:a:b:c", "displayName": "W", "type": A2A_CARD }),
        json!({ "identifier": "urn:air:a:b:c", "displayName": "W", "type": A2A_CARD, "url": "file:///etc/passwd" }),
        json!({ "packages": [] }),
        json!({ "mediaType": 3, "owner": "x" }),
    ] {
        assert!(matches!(Draft::read(&value), Err(RegistryError::BadListing(_))), "{value}");
    }
}

#[test]
fn hostile_cards_are_cut_to_bounds() {
    let mut hostile = card();
    let skill = json!({
        "id": "s", "name": "n".repeat(10_000), "description": "d".repeat(20_000), "tags": vec!["t"; 500],
        "examples": vec!["e".repeat(1_000); 40], "deep": {"deep": {"deep": []}},
    });
    hostile["skills"] = json!(vec![skill; 300]);
    hostile["description"] = json!("x\u{0}\u{7f}y".repeat(50_000));
    let draft = Draft::read(&hostile).unwrap();
    assert_eq!(draft.skills.len(), MAX_SKILLS);
    assert_eq!(draft.description.chars().count(), MAX_DESCRIPTION);
    assert!(draft.description.chars().all(|letter| !letter.is_control()));
    let skill = &draft.skills[0];
    assert_eq!(skill.examples.len(), MAX_EXAMPLES.0);
    assert_eq!(skill.examples[0].chars().count(), MAX_EXAMPLES.1);
    assert!(skill.name.chars().count() <= MAX_NAME && skill.extra.is_empty());
    assert!(draft.tags.len() <= MAX_TAGS.0);
    assert!(draft.document.is_none(), "a document beyond the bound is not kept");
}

#[test]
fn a_publisher_is_a_host_with_its_port() {
    let of = |url: &str| publisher(&Url::parse(url).unwrap());
    assert_eq!(of("https://example.org/x"), "example.org");
    assert_eq!(of("http://127.0.0.1:4747"), "127.0.0.1-4747");
}
