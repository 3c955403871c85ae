//! Questions of a tool server: those that the site answers by itself, and those that go to the caller.
//!
//! Promises: a local server gets its own folder as root and a remote one none; the caller's folders are none
//! of its business. A question for a model goes to the caller's, or to the site's where the operator allows
//! it. What the caller cannot be asked is called off. Answers that the site has are kept in the state until
//! the caller's come, so that the server gets them together.

use std::collections::BTreeMap;

use agentsite_protocol::mcp::{Abilities, InputNeeded, InputRequest, Round};
use serde_json::{Value, json};

use crate::llm::Sampler;
use crate::{TaskBudget, ToolFault};

/// What answers for the site.
#[derive(Debug)]
pub(super) struct SiteAnswers {
    /// The answer to `roots/list`.
    pub(super) roots: Value,
    /// The model that is asked when the caller has none.
    pub(super) sampler: Option<Sampler>,
}

/// What to do about questions.
#[derive(Debug, PartialEq)]
pub(super) enum QuestionOutcome {
    /// The site has answered them all; the request is made again with this.
    Again(Round),
    /// The caller must answer some.
    Ask(InputNeeded),
}

impl SiteAnswers {
    /// Answers what the site can answer. `modern` servers know from the protocol what the caller can do, and
    /// their caller gets the refusal as text; older ones get an empty answer.
    pub(super) async fn settle(
        &self,
        needed: InputNeeded,
        abilities: Abilities,
        modern: bool,
        budget: &TaskBudget,
    ) -> Result<QuestionOutcome, ToolFault> {
        let (mut answers, mut requests) = (BTreeMap::new(), BTreeMap::new());
        for (name, request) in needed.requests {
            match (request.method.as_str(), &self.sampler) {
                ("roots/list", _) => drop(answers.insert(name, self.roots.clone())),
                _ if abilities.allows(&request) => drop(requests.insert(name, request)),
                ("sampling/createMessage", Some(sampler)) => {
                    let answer = sampler.answer(&request.params, budget).await.map_err(ToolFault::Failed)?;
                    answers.insert(name, answer);
                }
                _ if modern => return Err(lacks(&request)),
                ("elicitation/create", _) => drop(answers.insert(name, json!({ "action": "cancel" }))),
                // Without an answer the older server learns that there is none.
                _ => {}
            }
        }
        Ok(if requests.is_empty() {
            QuestionOutcome::Again(Round { answers, state: needed.state })
        } else {
            QuestionOutcome::Ask(InputNeeded {
                requests,
                state: Some(envelope(needed.state.as_ref(), &answers)),
            })
        })
    }
}

fn lacks(request: &InputRequest) -> ToolFault {
    let (what, capability) = match request.method.as_str() {
        "sampling/createMessage" => ("ask its model for the tool", json!({ "sampling": {} })),
        "elicitation/create" if request.params.get("mode").is_some_and(|mode| mode == "url") => {
            ("open an address for the tool", json!({ "elicitation": { "url": {} } }))
        }
        "elicitation/create" => ("ask its user for the tool", json!({ "elicitation": {} })),
        _ => ("answer a question of the tool", json!({})),
    };
    ToolFault::NeedsAbility { what: format!("the client must be able to {what}"), capability }
}

/// The state for the caller: the server's own, and the answers that the site has already.
fn envelope(server: Option<&Value>, answers: &BTreeMap<String, Value>) -> Value {
    json!({ "server": server, "answers": answers })
}

/// What goes to the server when the caller comes back: its own state, and all answers.
pub(super) fn opened(round: Round) -> Round {
    let Some(Value::Object(mut state)) = round.state else { return Round { state: None, ..round } };
    let server = state.remove("server").filter(|server| !server.is_null());
    let mut answers = round.answers;
    if let Some(Value::Object(ours)) = state.remove("answers") {
        answers.extend(ours);
    }
    Round { answers, state: server }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clerk() -> SiteAnswers {
        SiteAnswers { roots: json!({ "roots": [] }), sampler: None }
    }

    fn needed(questions: &[(&str, &str)]) -> InputNeeded {
        let request = |method: &str| InputRequest { method: method.into(), ..InputRequest::default() };
        let requests = questions.iter().map(|(name, method)| ((*name).to_owned(), request(method))).collect();
        InputNeeded { requests, state: Some(json!("s1")) }
    }

    const FORMS: Abilities =
        Abilities { forms: true, urls: false, sampling: false, roots: true, tasks: false };

    #[tokio::test]
    async fn folders_are_told_by_the_site_and_the_rest_is_asked() {
        let questions = needed(&[("a", "roots/list"), ("b", "elicitation/create")]);
        let QuestionOutcome::Ask(asked) =
            clerk().settle(questions, FORMS, true, &TaskBudget::default()).await.unwrap()
        else {
            panic!("ask")
        };
        assert_eq!(asked.requests.keys().collect::<Vec<_>>(), ["b"]);
        let answers = BTreeMap::from([("b".to_owned(), json!({ "action": "accept" }))]);
        let round = opened(Round { answers, state: asked.state });
        assert_eq!(round.state, Some(json!("s1")));
        assert_eq!(round.answers["a"], json!({ "roots": [] }));
        assert_eq!(round.answers["b"]["action"], "accept");
    }

    #[tokio::test]
    async fn what_the_caller_cannot_be_asked_is_refused_or_called_off() {
        let ask = || needed(&[("b", "elicitation/create")]);
        let refused =
            clerk().settle(ask(), Abilities::default(), true, &TaskBudget::default()).await.unwrap_err();
        assert!(
            matches!(refused, ToolFault::NeedsAbility { capability, .. } if capability == json!({ "elicitation": {} }))
        );
        let QuestionOutcome::Again(round) =
            clerk().settle(ask(), Abilities::default(), false, &TaskBudget::default()).await.unwrap()
        else {
            panic!("again")
        };
        assert_eq!(round.answers["b"], json!({ "action": "cancel" }));
        let model = needed(&[("m", "sampling/createMessage")]);
        let again = clerk().settle(model, FORMS, false, &TaskBudget::default()).await.unwrap();
        assert_eq!(again, QuestionOutcome::Again(Round { state: Some(json!("s1")), ..Round::default() }));
    }

    #[test]
    fn a_first_request_has_no_state() {
        assert_eq!(opened(Round::default()), Round::default());
        let none = Round { state: Some(envelope(None, &BTreeMap::new())), ..Round::default() };
        assert_eq!(opened(none), Round::default());
    }
}
