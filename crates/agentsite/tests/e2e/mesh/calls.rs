//! Calls all the time: each site calls the clerk of the next one, again and again, whatever happens.
//!
//! Promises: a message keeps its id until the site has answered it; an answer is written down the moment it
//! is read. The audit compares the answers with what the clerks wrote down and with the tasks of the called
//! sites.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::sites::{CLERK, Sites};
use crate::crash::audit::list;
use crate::site::{PATIENCE, state, status_text, unique};

/// Between two calls of one site: the machine has other things to do, too.
const PACE: Duration = Duration::from_millis(250);

/// Calls that take longer are printed.
const SLOW: Duration = Duration::from_secs(2);

/// One call that was answered.
#[derive(Debug, Clone)]
struct AnsweredCall {
    from: u8,
    to: u8,
    text: String,
    state: String,
    /// What the status of its task says.
    why: String,
}

/// Where a site is reached; its address is another one after each start.
type Reached = (reqwest::Client, String);

/// Callers at work, one for each site.
pub(super) struct Calls {
    answered: watch::Sender<Vec<AnsweredCall>>,
    sites: Arc<Mutex<BTreeMap<u8, Reached>>>,
    finish: watch::Sender<bool>,
    callers: JoinSet<()>,
}

impl Calls {
    /// Each site calls the next one from now on.
    pub(super) fn begin(sites: &Sites) -> Self {
        let mut calls = Self {
            answered: watch::Sender::new(Vec::new()),
            sites: Arc::default(),
            finish: watch::Sender::new(false),
            callers: JoinSet::new(),
        };
        calls.follow(sites);
        let last = sites.numbers().last().expect("there are sites");
        for from in sites.numbers() {
            let to = from % last + 1;
            let (answered, finish) = (calls.answered.clone(), calls.finish.subscribe());
            let caller =
                Caller { from, to, did: sites.did(to), sites: calls.sites.clone(), answered, finish };
            calls.callers.spawn(caller.work());
        }
        calls
    }

    /// The sites are where they are now.
    pub(super) fn follow(&self, sites: &Sites) {
        let reached = sites.numbers().map(|number| {
            let site = sites.site(number);
            (number, (site.http.clone(), site.url.clone()))
        });
        *self.sites.lock().unwrap() = reached.collect();
    }

    /// Waits until these sites have each completed so many further calls.
    pub(super) async fn complete(&self, more: usize, of: &[u8]) {
        let mut answered = self.answered.subscribe();
        let begun = answered.borrow().len();
        let all_have = |answered: &Vec<AnsweredCall>| {
            let new = || answered[begun..].iter().filter(|call| call.state == "completed");
            of.iter().all(|from| new().filter(|call| call.from == *from).count() >= more)
        };
        let done = tokio::time::timeout(PATIENCE, answered.wait_for(all_have)).await;
        done.unwrap_or_else(|_| panic!("sites {of:?} do not complete {more} further calls")).unwrap();
    }

    /// Ends the calls and compares everything: a call that was answered as completed ran once and is one task
    /// of the called site, and no other ran twice.
    pub(super) async fn audit(mut self, sites: &Sites) {
        self.finish.send_replace(true);
        let all = async {
            while let Some(ended) = self.callers.join_next().await {
                ended.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("every call is answered");
        let answered = self.answered.borrow().clone();
        let completed: Vec<_> = answered.iter().filter(|call| call.state == "completed").collect();
        for number in sites.numbers() {
            let (runs, tasks) = (counted(sites.ledger(number)), counted(texts_of_tasks(sites, number).await));
            let twice: Vec<_> = runs.iter().chain(&tasks).filter(|(_, count)| **count > 1).collect();
            assert!(twice.is_empty(), "site {number} did these twice: {twice:?}");
            let lost = completed.iter().filter(|call| call.to == number);
            let lost: Vec<_> = lost
                .filter(|call| !runs.contains_key(&call.text) || !tasks.contains_key(&call.text))
                .collect();
            assert!(lost.is_empty(), "site {number} does not have what was answered as completed: {lost:?}");
        }
        println!(
            "calls: {} answered, {} completed, {} failed; 0 lost, 0 run twice",
            answered.len(),
            completed.len(),
            answered.len() - completed.len()
        );
    }
}

/// How often each text occurs.
fn counted(texts: Vec<String>) -> HashMap<String, usize> {
    let mut counts = HashMap::new();
    for text in texts {
        *counts.entry(text).or_default() += 1;
    }
    counts
}

/// What the clerk of a site was asked, by its tasks.
async fn texts_of_tasks(sites: &Sites, number: u8) -> Vec<String> {
    let (site, mut texts) = (sites.site(number), Vec::new());
    for id in list(site).await {
        let task = site.get(&format!("/api/tasks/{id}")).await;
        if task["agent"] == CLERK {
            let text = task["history"][0]["parts"][0]["text"].as_str();
            texts.push(text.unwrap_or_else(|| panic!("no message: {task}")).to_owned());
        }
    }
    texts
}

/// One site that calls another.
struct Caller {
    from: u8,
    to: u8,
    did: String,
    sites: Arc<Mutex<BTreeMap<u8, Reached>>>,
    answered: watch::Sender<Vec<AnsweredCall>>,
    finish: watch::Receiver<bool>,
}

impl Caller {
    async fn work(self) {
        let mut pace = tokio::time::interval(PACE);
        while !*self.finish.borrow() {
            let (id, begun) = (unique(), Instant::now());
            let call = loop {
                pace.tick().await;
                if let Some(call) = self.call(&id).await {
                    break call;
                }
            };
            if call.state != "completed" || begun.elapsed() > SLOW {
                let (AnsweredCall { from, to, state, why, .. }, took) = (&call, begun.elapsed());
                println!("a call of site {from} to site {to} {state} after {took:.1?} {why}");
            }
            self.answered.send_modify(|all| all.push(call));
        }
    }

    /// Calls the clerk with the id as its message; nothing when no whole answer came.
    async fn call(&self, id: &str) -> Option<AnsweredCall> {
        let (http, url) = self.sites.lock().unwrap()[&self.from].clone();
        let asked = json!({"agent": CLERK, "site": self.did});
        let opened = http.post(format!("{url}/api/mesh/open")).json(&asked).send().await.ok()?;
        let opened: Value = opened.json().await.ok()?;
        let agent = opened["agent"].as_str()?;
        let message = json!({"messageId": id, "role": "ROLE_USER", "parts": [{"text": id}]});
        let body =
            json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": {"message": message}});
        let request = http.post(format!("{url}/a2a/{agent}")).header("a2a-version", "1.0").json(&body);
        let answer: Value = request.send().await.ok()?.json().await.ok()?;
        answer["result"]["task"]["id"].as_str()?;
        let (state, why) = (state(&answer), status_text(&answer));
        Some(AnsweredCall { from: self.from, to: self.to, text: id.into(), state, why })
    }
}
