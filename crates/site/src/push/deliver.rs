//! One delivery: from a claimed row of the outbox to what becomes of it.
//!
//! Promises: every claimed row ends in exactly one change of the outbox; if that is not written, the lease
//! runs out and the row is delivered again. The body is made from the stored event, so that it is the same at
//! every try.

use std::sync::PoisonError;
use std::time::Duration;

use agentsite_egress::DeliveryOutcome;
use agentsite_protocol::{
    AgentName, Delivery, JournalLine, JournalSubject, PushConfig, Task, TaskEventKind, TaskHead, TaskId,
    Timestamp, legacy,
};
use agentsite_store::{Change, DeliveryChange, DeliveryClaim, DeliveryRequest, StoreError, Unjournaled};

use super::Push;
use super::attempt::DeliveryAttempt;
use super::back_off::back_off;
use super::capability::GIVEN_UP;
use super::identify::{delivery_id, origin};
use crate::queries::{self, Queries};

/// Deliveries of one account to one origin at once: enough to keep a quick receiver busy, few enough that a
/// slow one leaves the account space for its other receivers.
const PER_ORIGIN: usize = 4;

/// Deliveries of all accounts to one origin at once, so that a site is no flood to a service that many of its
/// callers use.
const PER_ORIGIN_IN_ALL: usize = 16;

/// How long a delivery steps back when its receiver has as many as it may.
const STEP_BACK: Duration = Duration::from_secs(2);

/// How long a signature is good: clocks may differ by minutes, and a replay must not be possible for long.
const GOOD_FOR: Duration = Duration::from_secs(300);

/// What a delivery is about.
struct Subject {
    /// The agent and the task it tells of; none for a match of a kept query.
    of: Option<(AgentName, TaskId)>,
    /// The id that its receiver sees.
    id: String,
    config: PushConfig,
    seq: u64,
    body: Vec<u8>,
}

impl Subject {
    /// An event of a task.
    fn event(head: TaskHead, config: PushConfig, seq: u64, body: Vec<u8>) -> Self {
        let id = delivery_id(head.id.as_bytes(), &config.id, seq);
        Self { of: Some((head.agent, head.id)), id, config, seq, body }
    }
}

/// What a claimed delivery is about, once looked up.
enum DeliveryContent {
    Subject(Box<Subject>),
    /// Nobody wants it any more.
    Unwanted,
    /// It cannot be made.
    Lost(&'static str),
}

impl Push {
    /// Delivers a claimed row and writes down what became of it.
    pub(super) async fn deliver(&self, queued: DeliveryClaim) -> Result<(), StoreError> {
        let (outbox, journal) = self.settle(&queued).await?;
        self.store.commit(Change::of_lines(journal, Unjournaled::DeliveryAttempt).edit(outbox)).await
    }

    async fn settle(&self, queued: &DeliveryClaim) -> Result<(DeliveryChange, Vec<JournalLine>), StoreError> {
        let id = queued.id;
        let subject = match self.find(queued).await? {
            DeliveryContent::Subject(subject) => subject,
            DeliveryContent::Unwanted => return Ok((DeliveryChange::Done(id), Vec::new())),
            DeliveryContent::Lost(why) => {
                let now = self.ids.clock().now();
                let text = format!("gave up a delivery that cannot be made: {why}");
                let line = JournalLine::new(GIVEN_UP, now, "push", text);
                let line = line.about(JournalSubject::Delivery(id));
                return Ok((DeliveryChange::Dead { id, error: why.into() }, vec![line]));
            }
        };
        let origin = origin(&subject.config.url);
        let now = self.ids.clock().now();
        let Some(_slot) = self.take_slot(&queued.row.account, &origin) else {
            return Ok((DeliveryChange::Defer { id, due: now.plus(STEP_BACK) }, Vec::new()));
        };
        // The last try may have been the one that a kill cut off; the first is always made.
        if self.ids.clock().settled() >= queued.row.deadline && queued.attempts > 0 {
            return Ok(self.dead(id, &subject, "the deadline passed", queued.attempts));
        }
        // One circuit for each account and origin: a receiver of one account that hangs must not close the
        // origin to the others.
        let passage = match self.circuits.enter_for(&queued.row.account, &origin) {
            Ok(passage) => passage,
            Err(rest) => return Ok(self.rest(queued, &subject, now, rest)),
        };
        let outcome = self.courier.carry(self.attempt(&subject, now)).await;
        passage.learn(&outcome);
        Ok(self.after(queued, &subject, outcome))
    }

    /// Puts a delivery off while its receiver is left alone; it takes no slot and counts as no attempt.
    fn rest(
        &self,
        queued: &DeliveryClaim,
        subject: &Subject,
        now: Timestamp,
        rest: Duration,
    ) -> (DeliveryChange, Vec<JournalLine>) {
        let due = now.plus(rest + back_off(0, self.random(), None));
        if due >= queued.row.deadline {
            let why = "the receiver did not answer again and again until the deadline";
            return self.dead(queued.id, subject, why, queued.attempts);
        }
        self.metrics.pushed("deferred");
        (DeliveryChange::Defer { id: queued.id, due }, Vec::new())
    }

    fn random(&self) -> u64 {
        let mut random = [0; 8];
        self.ids.rng().fill(&mut random);
        u64::from_le_bytes(random)
    }

    fn after(
        &self,
        queued: &DeliveryClaim,
        subject: &Subject,
        outcome: DeliveryOutcome,
    ) -> (DeliveryChange, Vec<JournalLine>) {
        let id = queued.id;
        match outcome {
            DeliveryOutcome::Taken => {
                self.metrics.pushed("delivered");
                (DeliveryChange::Done(id), Vec::new())
            }
            DeliveryOutcome::Refused(why) => self.dead(id, subject, &why, queued.attempts + 1),
            DeliveryOutcome::Later { why, wait, .. } => {
                let wait = back_off(queued.attempts, self.random(), wait);
                let due = self.ids.clock().now().plus(wait);
                if self.ids.clock().settled().plus(wait) >= queued.row.deadline {
                    return self.dead(id, subject, &why, queued.attempts + 1);
                }
                self.metrics.pushed("retried");
                (DeliveryChange::Retry { id, due, error: why }, Vec::new())
            }
        }
    }

    /// Gives a delivery up, in a line that people read.
    fn dead(&self, id: u64, subject: &Subject, why: &str, tries: u32) -> (DeliveryChange, Vec<JournalLine>) {
        self.metrics.pushed("dead");
        let (agent, task) = subject.of.clone().unzip();
        let origin = origin(&subject.config.url);
        tracing::warn!(
            task = task.map(|task| task.to_string()),
            delivery = id,
            receiver = origin,
            why,
            "A receiver could not be told; see `agentsite outbox ls`."
        );
        let text = format!(
            "gave up telling {origin} about event {} after {tries} tries: {}",
            subject.seq,
            JournalLine::excerpt(why)
        );
        let mut line = JournalLine::new(GIVEN_UP, self.ids.clock().now(), "push", text)
            .about(JournalSubject::Delivery(id));
        (line.agent, line.task) = (agent, task);
        (DeliveryChange::Dead { id, error: why.to_owned() }, vec![line])
    }

    /// Reads what a row is about.
    async fn find(&self, queued: &DeliveryClaim) -> Result<DeliveryContent, StoreError> {
        let row = &queued.row;
        if row.kind == Queries::KIND {
            return self.find_match(row).await;
        }
        let (Some(task), Some(lane), Ok(seq)) = (row.task, &row.lane, row.body.parse::<u64>()) else {
            return Ok(DeliveryContent::Lost("this is no delivery of this version; drop it"));
        };
        let configs = self.store.push_configs(task).await?;
        let Some(config) = configs.into_iter().find(|config| config.id == *lane) else {
            return Ok(DeliveryContent::Unwanted);
        };
        let Some(head) = self.store.task(task).await? else { return Ok(DeliveryContent::Unwanted) };
        if config.is_old {
            return self.find_old(head, config, seq).await;
        }
        let events = self.store.events(task, seq.saturating_sub(1), 1).await?;
        let event = events.into_iter().find(|event| event.seq == seq);
        // Receivers of an anonymous caller get the ids that the caller has.
        let (event, context) = if head.owner.is_anonymous() {
            (event.map(|event| self.cipher.show_event(&event)), self.cipher.shown_context(&head.context))
        } else {
            (event, head.context.clone())
        };
        let body = event.and_then(|event| event.told(&context));
        Ok(match body {
            Some(body) => DeliveryContent::Subject(Box::new(Subject::event(head, config, seq, body))),
            None => DeliveryContent::Lost("the event is not one that receivers are told of; drop it"),
        })
    }

    /// Reads the match of a kept query that a row tells of.
    async fn find_match(&self, row: &DeliveryRequest) -> Result<DeliveryContent, StoreError> {
        let (Some(query), Ok(seq)) = (&row.lane, row.body.parse::<u64>()) else {
            return Ok(DeliveryContent::Lost("this is no delivery of this version; drop it"));
        };
        let Some(stored) = queries::read(&self.store, query).await? else {
            return Ok(DeliveryContent::Unwanted);
        };
        let Some(config) = stored.kept.push else { return Ok(DeliveryContent::Unwanted) };
        let Some(appeared) = stored.kept.matches.iter().find(|one| one.seq == seq) else {
            return Ok(DeliveryContent::Lost(
                "so many agents appeared since that this one is forgotten; drop it",
            ));
        };
        let body = serde_json::json!({
            "agentAppeared": { "query": query, "text": stored.kept.query.text, "seq": seq, "at": appeared.at, "match": appeared.found },
        });
        let id = delivery_id(query.as_bytes(), &config.id, seq);
        let body = body.to_string().into_bytes();
        Ok(DeliveryContent::Subject(Box::new(Subject { of: None, id, config, seq, body })))
    }

    /// Receivers of A2A 0.3 are told the whole task as it stood then, whenever it came to stand elsewhere.
    async fn find_old(
        &self,
        head: TaskHead,
        config: PushConfig,
        seq: u64,
    ) -> Result<DeliveryContent, StoreError> {
        let most = usize::try_from(seq).unwrap_or(usize::MAX);
        let mut events = self.store.events(head.id, 0, most).await?;
        events.retain(|event| event.seq <= seq);
        if matches!(events.last().map(|event| &event.kind), Some(TaskEventKind::Artifact { .. })) {
            return Ok(DeliveryContent::Unwanted);
        }
        let then = Task::replay(&events).ok().flatten().filter(|task| task.head.seq == seq);
        let then =
            then.map(|task| if head.owner.is_anonymous() { self.cipher.show_task(task) } else { task });
        let wire = then.and_then(|task| serde_json::to_value(task.wire(None)).ok());
        let old = wire.map(|task| legacy::downgrade_result("GetTask", task));
        Ok(match old.and_then(|task| serde_json::to_vec(&task).ok()) {
            Some(body) => DeliveryContent::Subject(Box::new(Subject::event(head, config, seq, body))),
            None => DeliveryContent::Lost("the task as it stood then cannot be read; drop it"),
        })
    }

    fn attempt(&self, subject: &Subject, now: Timestamp) -> DeliveryAttempt {
        let Subject { id, config, body, .. } = subject;
        let url = self.egress.receiver(config).map_or_else(|_| config.url.clone(), |url| url.to_string());
        let delivery = Delivery { url: &url, content_type: config.media_type(), body, id };
        let proof = self.identity.sign_delivery(&delivery, now, GOOD_FOR);
        DeliveryAttempt {
            config: config.clone(),
            body: body.clone(),
            proof,
            timeout: self.settings.timeout.0,
            now,
        }
    }

    /// A slot among the deliveries to one origin.
    fn take_slot(&self, account: &str, origin: &str) -> Option<OriginSlot<'_>> {
        let mut slots = self.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        let all: usize = slots.iter().filter(|((_, to), _)| to == origin).map(|(_, count)| count).sum();
        let key = (account.to_owned(), origin.to_owned());
        let taken = slots.get(&key).copied().unwrap_or(0);
        if taken >= PER_ORIGIN || all >= PER_ORIGIN_IN_ALL {
            return None;
        }
        slots.insert(key.clone(), taken + 1);
        Some(OriginSlot { push: self, key })
    }
}

/// A slot among the deliveries of an account to one origin; dropping it frees it.
struct OriginSlot<'a> {
    push: &'a Push,
    key: (String, String),
}

impl Drop for OriginSlot<'_> {
    fn drop(&mut self) {
        let mut slots = self.push.in_flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(taken) = slots.get_mut(&self.key) {
            *taken = taken.saturating_sub(1);
            if *taken == 0 {
                slots.remove(&self.key);
            }
        }
    }
}
