//! Facts about filter expressions: what they find, what is refused, and that none makes the reader panic.
//! What a filter finds in a whole registry is told by the stories of the face.

use proptest::prelude::*;
use serde_json::json;

use super::*;

fn entry() -> Entry {
    let value = json!({
        "identifier": "urn:air:acme.com:agents:weather",
        "displayName": "Weather, and more",
        "type": "application/a2a-agent-card+json",
        "tags": ["forecast", "Wind"],
        "version": "1.2.0",
        "updatedAt": "2026-03-01T00:00:00.000Z",
        "metadata": { "live": true, "price": 0.5 },
    });
    Entry {
        members: value.as_object().unwrap().clone(),
        created: Timestamp::parse("2026-02-01T00:00:00Z").unwrap(),
    }
}

fn holds(text: &str) -> bool {
    Condition::read(text).unwrap_or_else(|error| panic!("{text}: {error}")).holds(&entry())
}

#[test]
fn an_entry_is_found_by_what_it_is() {
    for text in [
        "type = 'application/a2a-agent-card+json'",
        "type = 'application/mcp-server-card+json,application/a2a-agent-card+json'",
        "publisherId = acme.com",
        "publisher = 'ACME.com'",
        "displayName = \"weather, AND more\"",
        "displayName : 'weather'",
        "tags = wind and NOT tags = snow",
        "tags != snow",
        "createdAfter > '2026-01-01' AND updatedAfter = '2026-02-15T00:00:00Z'",
        "updatedAt >= '2026-03-01'",
        "metadata.price < 0.75",
        "metadata.price<=0.5 and metadata.live=true",
        "(tags = snow OR tags = forecast) AND version = '1.2.0'",
        "tags = snow or tags = rain or tags = wind",
        r"displayName != 'it\'s'",
    ] {
        assert!(holds(text), "{text}");
    }
}

#[test]
fn an_entry_is_not_found_by_what_it_is_not() {
    for text in [
        "type = 'application/mcp-server-card+json'",
        "createdAfter > '2026-02-02'",
        "tags = wind AND tags = snow",
        "NOT (tags = wind OR tags = snow)",
        "metadata.price > 10",
        "capabilities = x",
    ] {
        assert!(!holds(text), "{text}");
    }
}

#[test]
fn and_binds_closer_than_or() {
    assert!(holds("tags = wind OR tags = snow AND tags = rain"));
    assert!(!holds("(tags = wind OR tags = snow) AND tags = rain"));
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    let deep = format!("{}tags = x{}", "(".repeat(40), ")".repeat(40));
    let many = vec!["tags = x"; 40].join(" AND ");
    let long = format!("displayName = '{}'", "x".repeat(5000));
    for (text, said) in [
        ("", "name a field"),
        ("colour = red", "is no field"),
        ("type", "put one of"),
        ("type ~ x", "put one of"),
        ("type =", "a value is missing"),
        ("type = ','", "the value is empty"),
        ("type = 'x", "not closed"),
        ("(type = x", "not closed"),
        ("type = x type = y", "AND or OR"),
        ("createdAfter > 'soon'", "takes a moment"),
        ("createdAfter < '2026-01-01'", "takes = or >"),
        (deep.as_str(), "too many brackets"),
        (many.as_str(), "comparisons"),
        (long.as_str(), "longer than"),
    ] {
        let error = Condition::read(text).expect_err(text).to_string();
        assert!(error.contains(said) && error.starts_with("filter: at letter "), "{text}: {error}");
    }
}

proptest! {
    #[test]
    fn no_text_makes_it_panic(text in "(tags|type|metadata\\.x|=|!=|>|:|'|\"|\\\\|\\(|\\)|NOT |AND |OR |,|x| |é){0,40}") {
        if let Ok(condition) = Condition::read(&text) {
            condition.holds(&entry());
        }
    }

    #[test]
    fn a_negation_holds_where_the_expression_does_not(word in "[a-z]{1,8}", operator in "(=|!=|>|<|:)") {
        let text = format!("tags {operator} '{word}'");
        prop_assert_ne!(holds(&text), holds(&format!("NOT ({text})")));
    }

    #[test]
    fn a_quoted_text_is_read_as_it_was_meant(text in "[^\\\\]{1,30}") {
        prop_assume!(text.len() < 1000);
        let quoted = text.replace('\'', "\\'");
        let read = Condition::read(&format!("displayName = '{quoted}'")).unwrap();
        prop_assert_eq!(read, Condition::Compares {
            path: Path::read("displayName").unwrap(), operator: Operator::Equal, values: vec![text],
        });
    }
}
