//! One run of an llm agent: the model answers and calls tools, until it calls none.
//!
//! Promises: no turn and no call happens that the budget does not allow, nor that of an agent that called
//! this one; what was used is reported after each, and what a broken or cancelled turn used is reported as
//! far as it can be known. A cancel stops it at the next await. It does not measure time: the site ends a run
//! that takes too long.

use std::sync::Arc;
use std::time::Duration;

use agentsite_protocol::mcp::{self, Round};
use agentsite_protocol::{Message, Outcome, Step, Usage};
use futures::StreamExt;

use super::answer::Answer;
use super::daily_usage::{DailyUsage, Reservation};
use super::memory::{MEMORY_TOKENS, progress, recall};
use super::model::{
    ChatMessage, ChatRequest, EndReason, Model, ModelError, ModelEvent, ModelStream, ToolCall,
    estimated_tokens,
};
use super::pause::{Pause, Talk};
use super::tools::{Counter, ToolOutcome, ToolSource, excerpt};
use crate::task_budget::BudgetShare;
use crate::toolbox_runner::OpenCall;
use crate::{AgentLog, Gone, Job, LogSource, Reporter};

/// Bytes per token above which a server evidently ignores `max_tokens`; long words of any language stay far
/// below.
const MAX_BYTES_PER_TOKEN: usize = 32;

/// How long a canceled run still waits to report what it used.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// Longest excerpt of a question or an answer in statuses and logs.
const EXCERPT: usize = 160;

/// What a model receives when a question cannot be delivered.
const NOBODY_ANSWERS: &str =
    "the tool asks a question that cannot be answered here; use it differently, or report that";

/// What all runs of an agent share.
#[derive(Debug)]
pub(super) struct Setup {
    /// The system prompt.
    pub(super) prompt: String,
    /// Sampling temperature.
    pub(super) temperature: Option<f32>,
    /// Most tokens of one answer.
    pub(super) max_tokens: u32,
    /// What the model may ask.
    pub(super) tools: Vec<ToolSource>,
    /// What was spent.
    pub(super) daily_usage: DailyUsage,
    /// Where notes go.
    pub(super) log: AgentLog,
}

/// One run.
pub(super) struct Run {
    setup: Arc<Setup>,
    model: Arc<dyn Model>,
    job: Job,
    report: Reporter,
    answer: Answer,
    /// What the model may call.
    counter: Counter,
    /// What the task has used, earlier runs included.
    used: Usage,
    /// What was used and not yet reported.
    unreported: Usage,
    /// The turn in progress.
    flight: Option<Flight>,
}

/// A turn in progress: what is known of its cost.
struct Flight {
    reserved: Reservation,
    share: BudgetShare,
    reads: u64,
    bytes: usize,
    told: Option<Usage>,
}

/// A turn that is over.
struct Turn {
    text: String,
    calls: Vec<ToolCall>,
    end: EndReason,
    max_tokens: u32,
}

/// Why a run stops before its answer is complete.
enum Stop {
    /// It was canceled, or the task has ended.
    ToolOutcome,
    /// Something failed; the text describes it.
    Failed(String),
}

impl From<Gone> for Stop {
    fn from(_: Gone) -> Self {
        Self::ToolOutcome
    }
}

impl From<ModelError> for Stop {
    fn from(error: ModelError) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Run {
    /// Prepares a run.
    pub(super) fn new(setup: Arc<Setup>, model: Arc<dyn Model>, mut job: Job, report: Reporter) -> Self {
        setup.daily_usage.learn(job.ids.clock().now(), job.used_today);
        let most = setup.daily_usage.tokens_per_task();
        job.ephemeral.budget = job.ephemeral.budget.below(&job.agent, most, job.used.tokens());
        let (used, answer) = (job.used, Answer::new(report.clone()));
        let (counter, unreported) = (Counter::default(), Usage::default());
        Self { setup, model, job, report, answer, counter, used, unreported, flight: None }
    }

    /// Runs until the answer is complete.
    pub(super) async fn run(mut self) -> Outcome {
        let cancel = self.job.cancel.clone();
        let end = tokio::select! {
            biased;
            () = cancel.cancelled() => Err(Stop::ToolOutcome),
            end = self.converse() => end,
        };
        // A listener that is busy must not hold up the end of a canceled run.
        let _ = tokio::time::timeout(LAST_WORDS, self.land()).await;
        match end {
            Ok(outcome) => outcome,
            Err(Stop::ToolOutcome) => Outcome::Canceled(None),
            Err(Stop::Failed(why)) => {
                self.setup.log.push(LogSource::Site, &why);
                self.job.failed(why)
            }
        }
    }

    async fn converse(&mut self) -> Result<Outcome, Stop> {
        self.offer_tools().await;
        let mut request = ChatRequest {
            system: self.setup.prompt.clone(),
            messages: Vec::new(),
            tools: self.counter.specs(),
            temperature: self.setup.temperature,
            max_tokens: self.setup.max_tokens,
        };
        let (mut talk, mut open) = match Pause::remembered(&self.job) {
            None => (Talk { messages: self.recalled(&request), ..Talk::default() }, None),
            Some(mut pause) => {
                let misread = pause.open.take_answer(&self.job.message);
                if !pause.open.is_answered() {
                    return self.ask(&pause, misread.as_deref()).await;
                }
                (pause.talk, Some(pause.open))
            }
        };
        loop {
            while let Some(call) = talk.calls.front().cloned() {
                let round = open.as_mut().map(OpenCall::next_round).unwrap_or_default();
                let (told, called) = self.call(&call, round).await?;
                let (text, failed) = match (told, called) {
                    (ToolOutcome::Question(needed), Some(called)) => {
                        match Pause::begin(talk, &called, needed, open.take()) {
                            Ok(pause) => return self.ask(&pause, None).await,
                            Err((back, why)) => {
                                talk = back;
                                (why, true)
                            }
                        }
                    }
                    (ToolOutcome::Answer(text), _) => (text, false),
                    (ToolOutcome::Error(text), _) => (text, true),
                    (ToolOutcome::Question(_), None) => (NOBODY_ANSWERS.to_owned(), true),
                };
                open = None;
                talk.calls.pop_front();
                talk.messages.push(ChatMessage::Tool { call: call.id, text, failed });
            }
            request.messages.clone_from(&talk.messages);
            let turn = self.turn(&request).await?;
            if turn.calls.is_empty() {
                return self.close(&turn).await.map(Outcome::Completed);
            }
            talk.calls = (1..).zip(turn.calls).map(|(n, call)| self.named(n, call)).collect();
            let remembered = talk.calls.iter().map(readable).collect();
            talk.messages.push(ChatMessage::Assistant { text: turn.text, calls: remembered });
        }
    }

    /// As much of the conversation as the budget has space for.
    fn recalled(&self, request: &ChatRequest) -> Vec<ChatMessage> {
        let fixed = request.estimated_tokens().saturating_add(self.setup.max_tokens.into());
        let space =
            self.setup.daily_usage.tokens_left(self.job.ids.clock().now(), &self.used, fixed, MEMORY_TOKENS);
        recall(&self.job, space.into())
    }

    /// Puts the questions of a tool to the caller and ends the run; the next one continues from the memo.
    async fn ask(&mut self, pause: &Pause, misread: Option<&str>) -> Result<Outcome, Stop> {
        self.answer.flush().await?;
        self.report.step(Step::Memo(pause.memo())).await?;
        Ok(Outcome::InputRequired(pause.open.question(&self.job, misread)))
    }

    /// Finds out what the model may call now.
    async fn offer_tools(&mut self) {
        let (counter, missing) = Counter::open(&self.setup.tools, &self.job).await;
        self.counter = counter;
        for note in missing {
            self.note(&format!("{note}; see `tools` in agent.toml"));
        }
    }

    async fn turn(&mut self, request: &ChatRequest) -> Result<Turn, Stop> {
        let (now, reads) = (self.job.ids.clock().now(), request.estimated_tokens());
        let reserved = self.setup.daily_usage.reserve(now, &self.used, reads, self.setup.max_tokens);
        let reserved = reserved.map_err(|over| Stop::Failed(over.sentence(&self.job.agent)))?;
        let share = self.job.ephemeral.budget.reserve(reads, reserved.max_tokens);
        let share = share.map_err(|over| Stop::Failed(over.to_string()))?;
        let max_tokens = share.max_tokens;
        self.flight = Some(Flight { reserved, share, reads: 0, bytes: 0, told: None });
        self.answer.next_turn();
        let model = self.model.clone();
        let answer = model.chat(ChatRequest { max_tokens, ..request.clone() }).await;
        let read = match answer {
            Ok(stream) => {
                self.in_flight(|flight| flight.reads = reads);
                self.read(stream, max_tokens).await
            }
            Err(error) => Err(error.into()),
        };
        self.answer.flush().await?;
        self.land().await?;
        read
    }

    async fn read(&mut self, mut stream: ModelStream, max_tokens: u32) -> Result<Turn, Stop> {
        let most = (max_tokens as usize).saturating_mul(MAX_BYTES_PER_TOKEN);
        let (mut text, mut calls) = (String::new(), Vec::new());
        while let Some(event) = stream.next().await {
            match event? {
                ModelEvent::Text(words) => {
                    self.in_flight(|flight| flight.bytes += words.len());
                    text.push_str(&words);
                    self.answer.say(&words).await?;
                }
                ModelEvent::ToolCall(call) => {
                    self.in_flight(|flight| flight.bytes += call.size());
                    calls.push(call);
                }
                ModelEvent::Usage(usage) => self.in_flight(|flight| flight.told = Some(usage)),
                ModelEvent::End(end) => return Ok(Turn { text, calls, end, max_tokens }),
            }
            if text.len() > most {
                let why = format!(
                    "the model server ignores max_tokens = {max_tokens}; {} bytes were read",
                    text.len()
                );
                return Err(Stop::Failed(format!("{why}; update the server, or use another one")));
            }
        }
        Err(Stop::Failed("the model stopped in the middle of its answer; ask again".into()))
    }

    /// Books and reports what the turn in progress has used, and everything else that is unreported.
    async fn land(&mut self) -> Result<(), Gone> {
        if let Some(flight) = self.flight.take() {
            let used = flight.used();
            self.setup.daily_usage.book(self.job.ids.clock().now(), used);
            self.job.ephemeral.budget.book(used.tokens());
            drop((flight.reserved, flight.share));
            self.used.add(used);
            self.unreported.add(used);
        }
        if !self.unreported.is_empty() {
            self.report.step(Step::Used(self.unreported)).await?;
            self.unreported = Usage::default();
        }
        Ok(())
    }

    /// Makes one call; gives its result and, when a tool was used, how it was called.
    async fn call(
        &mut self,
        call: &ToolCall,
        round: Round,
    ) -> Result<(ToolOutcome, Option<mcp::ToolCall>), Stop> {
        let now = self.job.ids.clock().now();
        let allowed = self.setup.daily_usage.call(now, &self.used);
        allowed.map_err(|over| Stop::Failed(over.sentence(&self.job.agent)))?;
        let used = Usage { calls: 1, ..Usage::default() };
        self.used.add(used);
        self.unreported.add(used);
        let told = match self.counter.understand(call) {
            Err(why) => {
                self.note(&format!("called a tool wrongly: {why}"));
                (ToolOutcome::Error(why), None)
            }
            Ok(order) => {
                let (does, called) = (excerpt(&order.wording(), EXCERPT), order.tool_call().cloned());
                self.report.step(Step::Status(progress(&self.job, does.clone()))).await?;
                let told = order.carry_out(&self.job, round).await;
                self.note(&format!("{does} → {}", told.in_short()));
                (told, called)
            }
        };
        self.land().await?;
        Ok(told)
    }

    async fn close(&mut self, turn: &Turn) -> Result<Option<Message>, Stop> {
        let max_tokens = turn.max_tokens;
        let cut_by = if max_tokens < self.setup.max_tokens {
            format!(
                "the {max_tokens} tokens that its budget had left; raise [budget] in agents/{}/agent.toml",
                self.job.agent
            )
        } else {
            format!(
                "max_tokens = {max_tokens}; raise it under [runtime] in agents/{}/agent.toml",
                self.job.agent
            )
        };
        if !self.answer.finish().await? {
            return Err(Stop::Failed(match turn.end {
                EndReason::Length => format!("the model produced nothing within {cut_by}"),
                EndReason::Filtered => {
                    "the model server's filter withheld the answer; rephrase the request".into()
                }
                _ => "the model gave an empty answer; ask again, or change the prompt".into(),
            }));
        }
        Ok(match &turn.end {
            EndReason::Length => Some(self.job.words(format!("the answer was cut at {cut_by}"))),
            EndReason::Filtered => Some(self.job.words("the answer was cut by the model server's filter")),
            _ => None,
        })
    }

    fn note(&self, words: &str) {
        self.setup.log.push(LogSource::Site, words);
    }

    fn in_flight(&mut self, change: impl FnOnce(&mut Flight)) {
        if let Some(flight) = &mut self.flight {
            change(flight);
        }
    }

    /// The call with an id, should the model have given none.
    fn named(&self, number: usize, mut call: ToolCall) -> ToolCall {
        if call.id.is_empty() {
            call.id = format!("call_{}_{number}", self.used.turns);
        }
        call
    }
}

impl Flight {
    /// What it cost: as the server counted, or else about what was seen.
    fn used(&self) -> Usage {
        let seen = Usage {
            input_tokens: self.reads,
            output_tokens: estimated_tokens(self.bytes),
            ..Usage::default()
        };
        Usage { turns: 1, ..self.told.unwrap_or(seen) }
    }
}

/// The call as it goes back to the model. Several servers fail on arguments that are not a JSON object, so
/// those are left out; the result repeats to the model what it wrote.
fn readable(call: &ToolCall) -> ToolCall {
    let is_object = serde_json::from_str::<serde_json::Map<_, _>>(&call.arguments).is_ok();
    let arguments = if is_object { call.arguments.clone() } else { "{}".into() };
    ToolCall { arguments, ..call.clone() }
}
