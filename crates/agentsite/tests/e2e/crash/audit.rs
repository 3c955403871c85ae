//! The audit: what the clients wrote down against what the site has.
//!
//! Promises: lost and doubled tasks are counted, everything else that is wrong fails with the task itself in
//! the message. It only uses HTTP, like any client.

use std::collections::{BTreeMap, HashMap, HashSet};

use futures::StreamExt;
use serde_json::Value;

use super::load::Acknowledged;
use crate::site::{PATIENCE, TestSite};

/// Rows of one page of the list.
const PAGE: usize = 200;

/// Requests of the audit at once.
const AT_ONCE: usize = 8;

/// What was found so far.
#[derive(Debug, Default)]
pub(crate) struct Audit {
    /// The message of each task.
    tasks: BTreeMap<String, String>,
    /// The task of each message.
    messages: HashMap<String, String>,
    duplicates: Vec<String>,
    lost: Vec<String>,
    /// Tasks that were on disk before their answer was sent.
    untold: usize,
    completed: usize,
    failed: usize,
}

impl Audit {
    /// Looks at the tasks that were not there the last time, and for all that was acknowledged.
    pub(crate) async fn look_at_what_is_new(&mut self, site: &TestSite, acknowledged: &[Acknowledged]) {
        let new: Vec<String> =
            list(site).await.into_iter().filter(|id| !self.tasks.contains_key(id)).collect();
        self.look_at(site, new.clone()).await;
        let told: HashSet<&str> = acknowledged.iter().map(|line| line.task.as_str()).collect();
        self.untold += new.iter().filter(|id| !told.contains(id.as_str())).count();
        // A task that moved to another page while the list was read is asked for by its id.
        let unseen = acknowledged.iter().filter(|line| !self.tasks.contains_key(&line.task));
        let unseen: Vec<String> = unseen.map(|line| line.task.clone()).collect();
        self.look_at(site, unseen).await;
        let lost = acknowledged.iter().filter(|line| self.tasks.get(&line.task) != Some(&line.message));
        let lost: Vec<String> = lost.map(|line| format!("{line:?}")).collect();
        self.lost.extend(lost);
        self.verdict();
    }

    async fn look_at(&mut self, site: &TestSite, ids: Vec<String>) {
        let tasks = futures::stream::iter(ids).map(|id| async move {
            let task = site.get(&format!("/api/tasks/{id}")).await;
            (id, task)
        });
        for (id, task) in tasks.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
            let Some(message) = task["history"][0]["messageId"].as_str() else { continue };
            self.tasks.insert(id.clone(), message.to_owned());
            let first = self.messages.entry(message.to_owned()).or_insert_with(|| id.clone());
            if *first != id {
                self.duplicates.push(format!("{message}: {first} and {id}"));
            }
        }
    }

    /// Waits for the end of every task and looks at all of it.
    pub(crate) async fn look_at_everything(&mut self, site: &TestSite, acknowledged: &[Acknowledged]) {
        let shown: HashMap<&str, &Acknowledged> =
            acknowledged.iter().map(|line| (line.message.as_str(), line)).collect();
        let ids: Vec<String> = self.tasks.keys().cloned().collect();
        let looks = futures::stream::iter(ids).map(|id| async move {
            let agent = site.get(&format!("/api/tasks/{id}")).await["agent"].clone();
            if agent == "linger" {
                // It would take its hour; whether it has ended already does not matter.
                let url = format!("{}/api/tasks/{id}/cancel", site.url);
                site.http.post(url).send().await.unwrap();
            }
            let task = ended(site, &id).await;
            let events = site.get(&format!("/api/tasks/{id}/events?after=0&limit=1000")).await;
            (id, task, events)
        });
        for (id, task, events) in looks.buffer_unordered(AT_ONCE).collect::<Vec<_>>().await {
            let dense: Vec<u64> = (1..=task["seq"].as_u64().unwrap_or(0)).collect();
            assert_eq!(numbers(&events), dense, "the events of a task are dense: {events}");
            match shown.get(self.tasks[&id].as_str()) {
                None => self.lost.push(format!("{task} is unknown")),
                Some(line) => self.compare(&task, line),
            }
        }
    }

    fn compare(&mut self, task: &Value, line: &Acknowledged) {
        assert_eq!(task["agent"], line.agent);
        assert_eq!(task["history"][0]["parts"][0]["text"], line.text.as_str());
        if line.state.ends_with("COMPLETED") || line.state.ends_with("FAILED") {
            assert_eq!(state(task), line.state, "finished work stays as it was shown: {task}");
        }
        match state(task) {
            "TASK_STATE_COMPLETED" => {
                assert_eq!(answer(task).trim_end(), line.text, "the answer is whole and once: {task}");
                self.completed += 1;
            }
            "TASK_STATE_FAILED" => {
                let why = task["status"]["message"]["parts"][0]["text"].as_str().unwrap_or_default();
                assert!(why.contains("limits.retry") && line.agent != "echo", "it says why: {task}");
                self.failed += 1;
            }
            "TASK_STATE_CANCELED" => assert_eq!(line.agent, "linger"),
            other => panic!("the task has not ended but is {other}: {task}"),
        }
    }

    /// What was found, as text.
    pub(crate) fn counts(&self) -> String {
        let (completed, failed) = (self.completed, self.failed);
        let (untold, duplicates, lost) = (self.untold, self.duplicates.len(), self.lost.len());
        format!(
            "{completed} completed, {failed} interrupted, {untold} written but not told before a kill, {duplicates} duplicates, {lost} lost"
        )
    }

    /// Fails when anything was lost or doubled.
    pub(crate) fn verdict(&self) {
        assert!(self.duplicates.is_empty(), "one message became two tasks: {:#?}", self.duplicates);
        assert!(self.lost.is_empty(), "acknowledged and not there: {:#?}", self.lost);
    }
}

/// The ids of all tasks.
pub(crate) async fn list(site: &TestSite) -> Vec<String> {
    let (mut ids, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = site.get(&format!("/api/tasks?limit={PAGE}&cursor={cursor}")).await;
        let rows = page["tasks"].as_array().unwrap_or_else(|| panic!("no list: {page}"));
        ids.extend(rows.iter().map(|row| row["id"].as_str().unwrap().to_owned()));
        match page["next"].as_str() {
            Some(next) => next.clone_into(&mut cursor),
            None => return ids,
        }
    }
}

/// The task, once it has ended: its stream of events says when.
pub(crate) async fn ended(site: &TestSite, id: &str) -> Value {
    let url = format!("{}/api/tasks/{id}/events", site.url);
    let follow = async {
        let stream = site.http.get(url).header("accept", "text/event-stream").send().await.unwrap();
        stream.text().await.unwrap()
    };
    let events = tokio::time::timeout(PATIENCE, follow).await.expect("the task ends");
    assert!(events.contains("event: settled"), "{events}");
    site.get(&format!("/api/tasks/{id}")).await
}

/// The state of a task.
pub(crate) fn state(task: &Value) -> &str {
    task["status"]["state"].as_str().unwrap_or_default()
}

/// All text of the artifacts of a task.
pub(crate) fn answer(task: &Value) -> String {
    let artifacts = task["artifacts"].as_array().into_iter().flatten();
    let parts = artifacts.flat_map(|artifact| artifact["parts"].as_array().into_iter().flatten());
    parts.filter_map(|part| part["text"].as_str()).collect()
}

/// The numbers of events.
pub(crate) fn numbers(events: &Value) -> Vec<u64> {
    events["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}
