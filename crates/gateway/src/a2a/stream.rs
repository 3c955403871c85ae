//! SendStreamingMessage and SubscribeToTask: a task as a stream of its events.
//!
//! Promises: the first event is the task, or exactly one message; then every event once, in order, with its
//! number as the event's id. The stream of a message ends when the task has ended or waits for its caller,
//! that of a subscription only when it has ended (in A2A 0.3 as that of a message). Hanging up does not stop
//! the task. A caller that names the last number it saw, in `Last-Event-ID` or in the request's metadata,
//! gets what came after it and nothing else, also when the task has ended meanwhile.

use agentsite_protocol::extension::RESUME;
use agentsite_protocol::{Message, Task, WireStreamItem};
use agentsite_site::{Sent, TaskWatch};

use super::send::Sending;
use super::task::{TaskWanted, named_task};
use super::{A2aCall, wrong};
use crate::failure::{Failure, Fault};

/// The events of a task, one after the other; each binding writes them in its own way.
pub(super) struct Events {
    opening: Opening,
    /// Whether each event says its number also in its metadata.
    numbered: bool,
    /// What comes after the opening.
    watch: Option<TaskWatch>,
}

/// How a stream begins.
enum Opening {
    /// With the task, and so many messages of its history.
    Task(Box<Task>, Option<usize>),
    /// With the only event there will be.
    Message(Message),
    /// With the first event that the caller has not seen.
    Resumed,
}

/// Sends a message and follows the task it leads to.
pub(super) async fn send(call: &A2aCall<'_>, sending: Sending) -> Result<Events, Failure> {
    let (seen, history) = (last_seen(call)?.or(sending.after).filter(|seen| *seen > 0), sending.history);
    let mut watch = match call.front.site.send(&call.caller, &call.agent, sending.submission(call)).await? {
        Sent::Task(watch) => watch,
        Sent::Message(message) => return Ok(Events::new(call, Opening::Message(message), None)),
    };
    // The same message gives the same task, so that a caller that was cut off can send it again. A number
    // that the task has not reached is of another one, and then everything is sent.
    if let Some(seen) = seen
        && seen <= watch.snapshot().head.seq
    {
        let watch = call.front.site.tasks().watch(&call.caller, watch.id(), seen).await?;
        return Ok(Events::new(call, Opening::Resumed, Some(watch)));
    }
    let opening = Opening::Task(Box::new(watch.opening()), history);
    Ok(Events::new(call, opening, Some(watch)))
}

/// Follows a task that is there already. In 1.0 one that has ended is refused, and the stream lasts until it
/// has. Callers of 0.3, who come back after a cut, are told one that has ended as it ended, and their stream
/// ends as the first one does.
pub(super) async fn subscribe(call: &A2aCall<'_>, wanted: &TaskWanted) -> Result<Events, Failure> {
    let seen = last_seen(call)?.or(wanted.after()?);
    let task = named_task(call, &wanted.id).await?;
    if let Some(seen) = seen {
        if seen > task.head.seq {
            return Err(wrong("Last-Event-ID", "is greater than the number of any event of this task"));
        }
        let watch = call.front.site.tasks().watch_to_end(&call.caller, task.head.id, seen).await?;
        return Ok(Events::new(call, Opening::Resumed, Some(watch)));
    }
    let state = task.head.state;
    if state.is_terminal() && call.as_old {
        return Ok(Events::new(call, Opening::Task(Box::new(task), None), None));
    }
    if state.is_terminal() {
        let sentence = format!("the task has ended ({}); read it with GetTask", state.word());
        return Err(Failure::new(Fault::Unsupported, sentence).fact("state", state.word()));
    }
    let (site, id, seq) = (&call.front.site, task.head.id, task.head.seq);
    let mut watch = if call.as_old {
        site.tasks().watch(&call.caller, id, seq).await?
    } else {
        site.tasks().watch_to_end(&call.caller, id, seq).await?
    };
    let opening = Opening::Task(Box::new(watch.snapshot()), None);
    Ok(Events::new(call, opening, Some(watch)))
}

/// The number of the last event that the caller has seen.
fn last_seen(call: &A2aCall<'_>) -> Result<Option<u64>, Failure> {
    let Some(value) = call.parts.headers.get("last-event-id") else { return Ok(None) };
    match value.to_str().unwrap_or("?").trim() {
        "" => Ok(None),
        number => number
            .parse()
            .map(Some)
            .map_err(|_| wrong("Last-Event-ID", "must be the id of an event of this site, a number")),
    }
}

impl Events {
    fn new(call: &A2aCall<'_>, opening: Opening, watch: Option<TaskWatch>) -> Self {
        Self { opening, watch, numbered: call.wanted.has(RESUME) }
    }

    /// Hands the first event over, with its number; none when the caller has seen it already.
    pub(super) fn open(&self, write: impl FnOnce(Option<u64>, &WireStreamItem<'_>)) {
        match &self.opening {
            Opening::Task(task, history) => {
                let item = WireStreamItem::Task(task.wire(*history));
                write(Some(task.head.seq), &numbered(self.numbered, item, task.head.seq));
            }
            Opening::Message(message) => write(None, &WireStreamItem::Message(message)),
            Opening::Resumed => {}
        }
    }

    /// Hands over what happened since; `None` at the end. Safe to cancel: what was not handed over comes with
    /// the next call.
    pub(super) async fn next(&mut self, mut write: impl FnMut(u64, &WireStreamItem<'_>)) -> Option<()> {
        let watch = self.watch.as_mut()?;
        let events = watch.next().await?;
        for event in &events {
            if let Some(item) = event.wire(watch.context()) {
                write(event.seq, &numbered(self.numbered, item, event.seq));
            }
        }
        Some(())
    }
}

fn numbered(wanted: bool, item: WireStreamItem<'_>, seq: u64) -> WireStreamItem<'_> {
    if wanted { item.numbered(seq) } else { item }
}
