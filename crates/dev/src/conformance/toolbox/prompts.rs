//! Prompts of the suite, and completions of what fills them.
//!
//! Promises: a prompt whose place is not filled says which one; completions begin with what was typed.

use agentsite_host::{Exchange, ToolFault};
use agentsite_protocol::mcp::{
    Completing, CompletionOf, Completions, Content, Contents, Prompt, PromptArgument, PromptCall,
    PromptMessage, PromptText, Reply,
};
use serde_json::json;

use super::content::picture;
use super::questions::{ask, filled, form};
use super::resources::TEMPLATE;

const SIMPLE: &str = "test_simple_prompt";
const WITH_ARGUMENTS: &str = "test_prompt_with_arguments";
const WITH_RESOURCE: &str = "test_prompt_with_embedded_resource";
const WITH_IMAGE: &str = "test_prompt_with_image";
const ASKING: &str = "test_input_required_result_prompt";

/// What may fill a place of a prompt.
const WORDS: [&str; 4] = ["paris", "park", "party", "test"];

/// What may fill the place of the template.
const IDS: [&str; 3] = ["123", "124", "456"];

pub(super) fn all() -> Vec<Prompt> {
    let prompt = |name: &str, description: &str, places: &[&str]| Prompt {
        name: name.into(),
        description: Some(description.into()),
        arguments: places.iter().map(|name| place(name)).collect(),
        ..Prompt::default()
    };
    vec![
        prompt(SIMPLE, "A prompt without places", &[]),
        prompt(WITH_ARGUMENTS, "A prompt with two places", &["arg1", "arg2"]),
        prompt(WITH_RESOURCE, "A prompt that carries a resource", &["resourceUri"]),
        prompt(WITH_IMAGE, "A prompt that carries a picture", &[]),
        prompt(ASKING, "A prompt that asks before it is filled", &[]),
    ]
}

fn place(name: &str) -> PromptArgument {
    let description = Some(format!("Fills {name}"));
    PromptArgument { name: name.into(), description, required: true, ..PromptArgument::default() }
}

pub(super) fn fill(exchange: &Exchange, call: &PromptCall) -> Result<Reply<PromptText>, ToolFault> {
    let content = match call.name.as_str() {
        SIMPLE => vec![Content::text("This is a simple prompt for testing.")],
        WITH_ARGUMENTS => {
            let (first, second) = (given(call, "arg1")?, given(call, "arg2")?);
            vec![Content::text(format!("Prompt with arguments: arg1='{first}', arg2='{second}'"))]
        }
        WITH_RESOURCE => {
            let text = "Embedded resource content for testing.";
            let resource = Contents::text(given(call, "resourceUri")?, "text/plain", text);
            vec![Content::resource(resource), Content::text("Please process the embedded resource above.")]
        }
        WITH_IMAGE => vec![picture(), Content::text("Please analyze the image above.")],
        ASKING => {
            let answer = call.round.answers.get("user_context").filter(|answer| answer.is_object());
            let Some(answer) = answer else {
                let fields = json!({ "context": { "type": "string" } });
                let asked = form("What context should the prompt use?", &fields, &["context"]);
                return ask(exchange, vec![("user_context", asked)], None);
            };
            vec![Content::text(format!("Work in this context: {}", filled(answer, "context")))]
        }
        _ => return Err(ToolFault::NoSuchPrompt(call.name.clone())),
    };
    let messages = content.into_iter().map(PromptMessage::user).collect();
    Ok(Reply::Done(PromptText { messages, ..PromptText::default() }))
}

fn given<'a>(call: &'a PromptCall, name: &str) -> Result<&'a str, ToolFault> {
    let missing = || ToolFault::BadArguments(format!("the prompt {} needs the argument `{name}`", call.name));
    call.arguments.get(name).map(String::as_str).ok_or_else(missing)
}

pub(super) fn complete(completing: &Completing) -> Completions {
    let known: &[&str] = match &completing.of {
        CompletionOf::Prompt(name) if name == WITH_ARGUMENTS => &WORDS,
        CompletionOf::Template(template) if template == TEMPLATE => &IDS,
        _ => &[],
    };
    let fits = known.iter().filter(|word| word.starts_with(&completing.value));
    let values: Vec<String> = fits.map(|word| (*word).to_owned()).collect();
    Completions { total: Some(values.len() as u64), has_more: Some(false), values }
}
