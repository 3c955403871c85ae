//! Tools whose calls may be followed as tasks: quick, slow, failing, broken, and asking in their course.
//!
//! Promises: each does the same whether it is followed as a task or not; a slow one stops when its call is
//! given up.

use std::time::Duration;

use agentsite_host::ToolFault;
use agentsite_protocol::mcp::{Reply, TaskSupport, Tool, ToolResult};
use serde_json::{Value, json};

use super::questions::{ask, filled, form, name_form, several};
use super::{Fixture, Played, Stage, at_once, done};

/// Longest work that may be asked for; the suite asks for a minute and cancels.
const MOST_SECONDS: f64 = 600.0;

/// How long the failing job works before it fails.
const FAILING_AFTER: Duration = Duration::from_secs(1);

pub(super) fn fixtures() -> Vec<Fixture> {
    let text = json!({ "type": "string" });
    let with = |fields: Value| json!({ "type": "object", "properties": fields });
    vec![
        Fixture::taking("greet", "Greets at once", with(json!({ "name": text })), |stage| {
            done(ToolResult::text(format!("Hello, {}!", stage.word("name"))))
        }),
        Fixture::taking(
            "slow_compute",
            "Works for some seconds",
            with(json!({ "seconds": { "type": "number", "minimum": 0 }, "label": text })),
            |stage| Box::pin(slow(stage)),
        )
        .followed(TaskSupport::Optional),
        Fixture::new("failing_job", "Works for a second and fails", |_| {
            Box::pin(async {
                tokio::time::sleep(FAILING_AFTER).await;
                Ok(Reply::Done(ToolResult::error("The job failed, as it always does.")))
            })
        })
        .followed(TaskSupport::Required),
        Fixture::new("protocol_error_job", "Breaks in a way that is not a result", |_| {
            at_once(Err(ToolFault::Failed("the job broke, as it always does".into())))
        })
        .followed(TaskSupport::Optional),
        Fixture::taking(
            "confirm_delete",
            "Asks before it pretends to delete",
            with(json!({ "filename": text })),
            |stage| at_once(confirm_delete(&stage)),
        )
        .followed(TaskSupport::Optional),
        Fixture::new("multi_input", "Asks two things at a time", |stage| {
            let asked = vec![("first", name_form("Who is first?")), ("second", name_form("Who is second?"))];
            at_once(several(&stage, asked))
        })
        .followed(TaskSupport::Optional),
        Fixture::new("test_tool_with_task", "Asks first and then becomes a task", |stage| {
            at_once(match stage.answer("user_name") {
                Some(answer) => {
                    Ok(Reply::Done(ToolResult::text(format!("Worked for {}.", filled(answer, "name")))))
                }
                None => ask(&stage.exchange, vec![("user_name", name_form("What is your name?"))], None),
            })
        })
        .followed(TaskSupport::AfterInput),
    ]
}

impl Fixture {
    fn followed(self, tasks: TaskSupport) -> Self {
        Self { tool: Tool { tasks, ..self.tool }, ..self }
    }
}

async fn slow(stage: Stage) -> Played {
    let seconds = stage.call.arguments.get("seconds").and_then(Value::as_f64).unwrap_or_default();
    let time = Duration::from_secs_f64(seconds.clamp(0.0, MOST_SECONDS));
    tokio::select! {
        () = tokio::time::sleep(time) => {}
        () = stage.exchange.cancel.cancelled() => {
            return Ok(Reply::Done(ToolResult::error("The work was given up.")));
        }
    }
    Ok(Reply::Done(ToolResult::text(format!("{} took {seconds} seconds.", stage.word("label")))))
}

fn confirm_delete(stage: &Stage) -> Played {
    let file = stage.word("filename");
    let Some(answer) = stage.answer("confirm") else {
        let asked =
            form(&format!("Delete {file}?"), &json!({ "confirm": { "type": "boolean" } }), &["confirm"]);
        return ask(&stage.exchange, vec![("confirm", asked)], None);
    };
    let agreed = answer["content"]["confirm"] == true;
    let words = if agreed { format!("{file} would now be deleted.") } else { format!("{file} stays.") };
    Ok(Reply::Done(ToolResult::text(words)))
}
