//! Permissions: the agent's questions as text for a person, and the person's text as an answer to the agent.
//!
//! Promises: a question names what the agent wants to do and all that can be answered, as text and as data;
//! an answer is taken by the id of an option, its name, its number, a plain yes or no, or as data. An
//! ambiguous text is not an answer.

use agentsite_protocol::{Message, Part};
use serde_json::{Value, json};

use super::wire::{PermissionOption, PermissionRequest};
use crate::{Job, Permissions};

/// Options that are shown; an agent offers three or four.
const MOST_OPTIONS: usize = 20;

/// Longest text of the agent that is shown in a question.
const LONGEST: usize = 2_000;

/// The answer that the manifest gives; `None` when a person has to decide.
pub(super) fn by_rule(rule: Permissions, request: &PermissionRequest) -> Option<Value> {
    let kinds = match rule {
        Permissions::Ask => return None,
        Permissions::Allow => ["allow_once", "allow_always"],
        Permissions::Reject => ["reject_once", "reject_always"],
    };
    let found = kinds.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind));
    match (found, rule) {
        (Some(option), _) => Some(selected(&option.option_id)),
        // To reject, silence will do; to allow, the options must be known.
        (None, Permissions::Reject) => Some(super::connection::cancelled()),
        (None, _) => None,
    }
}

/// The answer to the agent that this option was chosen.
pub(super) fn selected(option: &str) -> Value {
    json!({"outcome": {"outcome": "selected", "optionId": option}})
}

/// The question as the caller reads it.
pub(super) fn question(job: &Job, request: &PermissionRequest) -> Message {
    let call = &request.tool_call;
    let cut = |text: &str| text.chars().take(LONGEST).collect::<String>();
    let title = call["title"].as_str().map_or_else(|| "use a tool".to_owned(), cut);
    let options: Vec<&PermissionOption> = request.options.iter().take(MOST_OPTIONS).collect();
    let mut words = format!("The agent asks for permission: {title}\n");
    for (at, option) in options.iter().enumerate() {
        words.push_str(&format!("{}. {}\n", at + 1, cut(name(option))));
    }
    words.push_str("Answer with the number or the name of an option.");
    let mut message = job.words(words);
    let asked = json!({
        "toolCall": {"toolCallId": call["toolCallId"], "title": title, "kind": call["kind"]},
        "options": options,
    });
    message.parts.push(Part::data(json!({"permission": asked})));
    message
}

/// The option that the caller chose; `None` when the answer is ambiguous.
pub(super) fn chosen(request: &PermissionRequest, said: &Message) -> Option<String> {
    let options = &request.options[..request.options.len().min(MOST_OPTIONS)];
    let by_id = |id: &str| {
        options.iter().find(|option| option.option_id == id).map(|option| option.option_id.clone())
    };
    let data = said.parts.iter().filter_map(|part| part.data.as_ref());
    for data in data {
        let id = data["optionId"].as_str().or_else(|| data["permission"]["optionId"].as_str());
        if let Some(id) = id {
            return by_id(id);
        }
    }
    let text = said.plain_text();
    let text = text.trim().trim_end_matches(['.', '!']).trim();
    let number = text.parse::<usize>().ok().and_then(|number| options.get(number.checked_sub(1)?));
    by_id(text)
        .or_else(|| only(options, |option| name(option).eq_ignore_ascii_case(text)))
        .or_else(|| number.map(|option| option.option_id.clone()))
        .or_else(|| {
            let kind = match text.to_lowercase().as_str() {
                "yes" | "y" | "ok" | "allow" => "allow_once",
                "no" | "n" | "reject" | "deny" => "reject_once",
                _ => return None,
            };
            only(options, |option| option.kind == kind)
        })
}

fn only(options: &[PermissionOption], is: impl Fn(&PermissionOption) -> bool) -> Option<String> {
    let mut found = options.iter().filter(|option| is(option));
    let first = found.next()?;
    if found.next().is_none() { Some(first.option_id.clone()) } else { None }
}

fn name(option: &PermissionOption) -> &str {
    if option.name.trim().is_empty() { &option.option_id } else { option.name.trim() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::job;

    fn request() -> PermissionRequest {
        serde_json::from_value(json!({
            "sessionId": "s",
            "toolCall": {"toolCallId": "c", "title": "Delete everything", "kind": "delete"},
            "options": [
                {"optionId": "o-yes", "name": "Allow", "kind": "allow_once"},
                {"optionId": "o-always", "name": "Always allow", "kind": "allow_always"},
                {"optionId": "o-no", "name": "Reject", "kind": "reject_once"},
            ]
        }))
        .unwrap()
    }

    fn answer(text: &str) -> Option<String> {
        chosen(&request(), &job(text).message)
    }

    #[test]
    fn a_question_is_asked_in_words_and_as_data() {
        let message = question(&job("x"), &request());
        let words = message.plain_text();
        assert!(words.contains("Delete everything\n1. Allow\n2. Always allow\n3. Reject\n"), "{words}");
        let data = message.parts[1].data.as_ref().unwrap();
        assert_eq!(data["permission"]["options"][2]["optionId"], "o-no");
    }

    #[test]
    fn an_answer_is_an_id_a_name_a_number_or_a_word() {
        assert_eq!(answer("o-always").as_deref(), Some("o-always"));
        assert_eq!(answer(" always ALLOW. ").as_deref(), Some("o-always"));
        assert_eq!(answer("3").as_deref(), Some("o-no"));
        assert_eq!(answer("yes!").as_deref(), Some("o-yes"));
        assert_eq!(answer("no").as_deref(), Some("o-no"));
        assert_eq!((answer("4"), answer("0"), answer("perhaps"), answer("")), (None, None, None, None));
        let mut data = job("").message;
        data.parts = vec![Part::data(json!({"optionId": "o-no"}))];
        assert_eq!(chosen(&request(), &data).as_deref(), Some("o-no"));
        data.parts = vec![Part::data(json!({"optionId": "other"})), Part::text("yes")];
        assert_eq!(chosen(&request(), &data), None, "a wrong id is not passed over");
    }

    #[test]
    fn a_rule_answers_for_the_person() {
        let outcome = |rule| by_rule(rule, &request()).map(|answer| answer["outcome"]["optionId"].clone());
        assert_eq!(outcome(Permissions::Ask), None);
        assert_eq!(outcome(Permissions::Allow), Some(json!("o-yes")));
        assert_eq!(outcome(Permissions::Reject), Some(json!("o-no")));
        let strange = PermissionRequest { options: Vec::new(), ..request() };
        assert_eq!(by_rule(Permissions::Allow, &strange), None);
        let rejected = by_rule(Permissions::Reject, &strange).unwrap();
        assert_eq!(rejected["outcome"]["outcome"], "cancelled");
    }
}
