//! Answer: the results of another registry, each read like an entry that is imported.
//!
//! Promises: whatever was sent, what comes out is small and named by a name everywhere; a result that is none
//! is left out and the others count. An answer that is no list of results is refused. It does not say whether
//! what it reads is true.

use agentsite_protocol::read_unambiguous;
use serde_json::Value;

use crate::registry::ForeignEntry;

/// Reads the results of a search, at most so many, with their scores from 0 to 1.
pub(super) fn read(bytes: &[u8], most: usize) -> Result<Vec<(ForeignEntry, f64)>, String> {
    let value = read_unambiguous(bytes).map_err(|error| format!("its answer cannot be read: {error}"))?;
    let results = value["results"].as_array().ok_or("its answer has no `results`; is this its /search?")?;
    Ok(results.iter().take(most).filter_map(result).collect())
}

/// One result; `None` when it lacks what a result must have.
fn result(value: &Value) -> Option<(ForeignEntry, f64)> {
    let score = value["score"].as_f64().filter(|score| (0.0..=100.0).contains(score))?;
    let entry = ForeignEntry::read(value).ok()?;
    Some((entry, score / 100.0))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(results: &Value) -> Result<Vec<(String, f64)>, String> {
        let read = read(json!({ "results": results }).to_string().as_bytes(), 3)?;
        Ok(read.into_iter().map(|(entry, score)| (entry.id.to_string(), score)).collect())
    }

    fn entry(id: &str, score: &Value) -> Value {
        json!({
            "identifier": id, "displayName": "Agent", "type": "application/a2a-agent-card+json",
            "url": "https://a.example/card.json", "score": score, "source": "https://forged.example",
        })
    }

    #[test]
    fn what_is_no_result_is_left_out() {
        let mut nowhere = entry("urn:air:a.example:x:nowhere", &json!(50));
        nowhere.as_object_mut().unwrap().remove("url");
        let mut nameless = entry("urn:air:a.example:x:nameless", &json!(50));
        nameless["displayName"] = json!("\u{0}");
        let good = entry("urn:air:a.example:x:good", &json!(95));
        assert_eq!(
            told(&json!([nowhere, nameless, good])),
            Ok(vec![("urn:air:a.example:x:good".into(), 0.95)])
        );
        for odd in [json!(101), json!(-1), json!("95"), Value::Null] {
            assert_eq!(told(&json!([entry("urn:air:a.example:x:y", &odd)])), Ok(Vec::new()));
        }
        for id in ["", "calc", "urn:air:a", "urn:air:a.example:x:<script>", "https://a.example/card.json"] {
            assert_eq!(told(&json!([entry(id, &json!(50))])), Ok(Vec::new()), "{id}");
        }
        assert_eq!(told(&json!([1, null, [], "x"])), Ok(Vec::new()));
    }

    #[test]
    fn no_more_is_read_than_was_asked_for_and_texts_are_cut() {
        let many: Vec<Value> =
            (0..9).map(|number| entry(&format!("urn:air:a.example:x:{number}"), &json!(50))).collect();
        assert_eq!(told(&json!(many)).unwrap().len(), 3);
        let mut long = entry("urn:air:a.example:x:long", &json!(50));
        long["description"] = json!("y".repeat(100_000));
        let read = read(json!({ "results": [long] }).to_string().as_bytes(), 1).unwrap();
        assert_eq!(read[0].0.description.len(), 4_000);
    }

    #[test]
    fn an_answer_that_is_none_is_refused() {
        for odd in ["", "<html>", "[]", "{}", r#"{"results":{}}"#, r#"{"results":[],"results":[]}"#] {
            assert!(read(odd.as_bytes(), 3).is_err(), "{odd}");
        }
    }
}
