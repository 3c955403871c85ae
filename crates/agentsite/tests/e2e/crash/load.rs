//! Clients that send all the time, write down every acknowledgement, and send again what was not
//! acknowledged.
//!
//! Promises: a message keeps its id until it is acknowledged; an acknowledgement is written down the moment
//! it is read. A client that finds the site gone waits for the next one.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::audit;
use super::dice::Dice;
use crate::site::{PATIENCE, TestSite, http, unique};

/// Refusals that pass: the site is about to stop, or its database does not answer.
const PASSING: [&str; 2] = ["SITE_STOPPING", "STORE_UNAVAILABLE"];

/// How often a client at a balanced address tries again, at most.
const RETRY: Duration = Duration::from_millis(50);

/// A message to be sent.
#[derive(Debug, Clone)]
pub(crate) struct Send {
    message: String,
    agent: &'static str,
    text: String,
    return_immediately: bool,
}

impl Send {
    /// A message with an id of its own.
    pub(crate) fn new(agent: &'static str, text: &str, return_immediately: bool) -> Self {
        Self { message: unique(), agent, text: text.to_owned(), return_immediately }
    }

    fn random(dice: &mut Dice) -> Self {
        let agent = ["echo", "cat", "slow"][dice.below(3)];
        let text = format!("{agent}-{}", dice.below(1 << 40));
        Self::new(agent, &text, dice.one_in(3))
    }
}

/// What the site acknowledged.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledged {
    pub(crate) message: String,
    pub(crate) agent: &'static str,
    pub(crate) text: String,
    pub(crate) task: String,
    /// The state that was shown.
    pub(crate) state: String,
}

/// The site as clients see it: its number and, while it is open to them, its address.
type Door = (usize, Option<String>);

/// What all clients share.
#[derive(Debug, Default)]
struct Journal {
    lines: Mutex<Vec<Acknowledged>>,
    count: watch::Sender<usize>,
    retried: AtomicUsize,
    repeated: AtomicUsize,
    /// When the last acknowledgement came, and the longest wait for one.
    pauses: Mutex<(Option<Instant>, Duration)>,
}

/// What a client does when a message was not acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Again {
    /// It waits for the next site: this one was killed.
    NextSite,
    /// It tries the same address: others serve it.
    SameAddress,
}

/// Clients at work.
#[derive(Debug)]
pub(crate) struct Load {
    journal: Arc<Journal>,
    door: watch::Sender<Door>,
    finish: watch::Sender<bool>,
    clients: JoinSet<()>,
}

impl Load {
    /// Clients that wait for the door to open.
    pub(crate) fn begin(dice: &mut Dice, clients: usize) -> Self {
        Self::of_clients(dice, clients, &http(), Again::NextSite)
    }

    /// Clients of an address that several processes serve; they send as `http` does, and again until they
    /// are answered.
    pub(crate) fn begin_balanced(dice: &mut Dice, clients: usize, http: &reqwest::Client) -> Self {
        Self::of_clients(dice, clients, http, Again::SameAddress)
    }

    fn of_clients(dice: &mut Dice, clients: usize, http: &reqwest::Client, again: Again) -> Self {
        let (journal, door) = (Arc::new(Journal::default()), watch::Sender::new((0, None)));
        let finish = watch::Sender::new(false);
        let mut set = JoinSet::new();
        for _ in 0..clients {
            let (journal, door, finish) = (journal.clone(), door.subscribe(), finish.subscribe());
            set.spawn(Client { journal, door, finish, dice: dice.split(), http: http.clone(), again }.work());
        }
        Self { journal, door, finish, clients: set }
    }

    /// Tells the clients where the site is.
    pub(crate) fn open(&self, url: &str) {
        self.door.send_modify(|door| *door = (door.0 + 1, Some(url.to_owned())));
    }

    /// Tells the clients that the site is gone.
    pub(crate) fn close(&self) {
        self.door.send_modify(|door| door.1 = None);
    }

    /// Waits for so many further acknowledgements.
    pub(crate) async fn wait_for(&self, more: usize) {
        let mut count = self.journal.count.subscribe();
        let goal = *count.borrow() + more;
        let reached = tokio::time::timeout(PATIENCE, count.wait_for(|count| *count >= goal)).await;
        reached.expect("the site answers").unwrap();
    }

    /// Sends one message besides, and writes its acknowledgement down; gives the task.
    pub(crate) async fn send(&self, site: &TestSite, send: Send) -> String {
        self.try_send(site, &send).await.expect("the site answers")
    }

    /// The same; nothing when the site cannot take it for the moment.
    pub(crate) async fn try_send(&self, site: &TestSite, send: &Send) -> Option<String> {
        let acknowledged = deliver(&site.http, &site.url, send).await?;
        let task = acknowledged.task.clone();
        self.journal.write(acknowledged);
        Some(task)
    }

    /// Where clients of another kind write down what they were told.
    pub(crate) fn journal(&self) -> Notes {
        Notes(self.journal.clone())
    }

    /// The longest time in which nothing was acknowledged.
    pub(crate) fn longest_pause(&self) -> Duration {
        self.journal.pauses.lock().unwrap().1
    }

    /// Lets the clients deliver what they still have, and ends them.
    pub(crate) async fn finish(&mut self) {
        self.finish.send_replace(true);
        let all = async {
            while let Some(ended) = self.clients.join_next().await {
                ended.unwrap();
            }
        };
        tokio::time::timeout(PATIENCE, all).await.expect("every client delivers its last message");
    }

    /// Everything that was acknowledged so far.
    pub(crate) fn acknowledged(&self) -> Vec<Acknowledged> {
        self.journal.lines.lock().unwrap().clone()
    }

    /// What happened, as text.
    pub(crate) fn counts(&self) -> String {
        let count = |counter: &AtomicUsize| counter.load(Ordering::Relaxed);
        let (retried, repeated) = (count(&self.journal.retried), count(&self.journal.repeated));
        let acknowledged = self.journal.lines.lock().unwrap().len();
        format!("{acknowledged} acknowledged, {retried} retried, {repeated} repeated")
    }
}

/// The journal of a load, for clients of another kind.
#[derive(Debug, Clone)]
pub(crate) struct Notes(Arc<Journal>);

impl Notes {
    /// Writes down what a client was told.
    pub(crate) fn note(&self, acknowledged: Acknowledged) {
        self.0.write(acknowledged);
    }
}

impl Journal {
    fn write(&self, acknowledged: Acknowledged) {
        self.lines.lock().unwrap().push(acknowledged);
        let (now, mut pauses) = (Instant::now(), self.pauses.lock().unwrap());
        pauses.1 = pauses.1.max(pauses.0.map_or(Duration::ZERO, |last| now - last));
        pauses.0 = Some(now);
        drop(pauses);
        self.count.send_modify(|count| *count += 1);
    }
}

struct Client {
    journal: Arc<Journal>,
    door: watch::Receiver<Door>,
    finish: watch::Receiver<bool>,
    dice: Dice,
    http: reqwest::Client,
    again: Again,
}

impl Client {
    async fn work(mut self) {
        let (http, mut tried) = (self.http.clone(), 0);
        let mut pace = tokio::time::interval(RETRY);
        while !*self.finish.borrow() {
            let send = Send::random(&mut self.dice);
            let acknowledged = loop {
                let Some((number, url)) = self.site_after(tried).await else { return };
                match deliver(&http, &url, &send).await {
                    Some(acknowledged) => break acknowledged,
                    None => {
                        if self.again == Again::NextSite {
                            // This one is gone; the next has another number.
                            tried = number;
                        }
                        pace.tick().await;
                        self.journal.retried.fetch_add(1, Ordering::Relaxed);
                    }
                }
            };
            self.journal.write(acknowledged.clone());
            if self.dice.one_in(8) {
                self.repeat(&http, &send, &acknowledged).await;
            }
        }
    }

    /// The site with a higher number than this, as soon as it is open.
    async fn site_after(&mut self, tried: usize) -> Option<(usize, String)> {
        let door = self.door.wait_for(|(number, url)| *number > tried && url.is_some()).await.ok()?;
        Some((door.0, door.1.clone()?))
    }

    /// Sends what was acknowledged once more: it must be the same task.
    async fn repeat(&self, http: &reqwest::Client, send: &Send, first: &Acknowledged) {
        let Some(url) = self.door.borrow().1.clone() else { return };
        if let Some(again) = deliver(http, &url, send).await {
            assert_eq!(again.task, first.task, "the same message is the same task");
            self.journal.repeated.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Sends a message; `None` when no whole answer came, or the site is about to stop.
pub(crate) async fn deliver(http: &reqwest::Client, url: &str, send: &Send) -> Option<Acknowledged> {
    let message = json!({"messageId": send.message, "role": "ROLE_USER", "parts": [{"text": send.text}]});
    let configuration = json!({"returnImmediately": send.return_immediately});
    let params = json!({"message": message, "configuration": configuration});
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": "SendMessage", "params": params});
    let request = http.post(format!("{url}/a2a/{}", send.agent)).header("a2a-version", "1.0").json(&body);
    let answer: Value = request.send().await.ok()?.json().await.ok()?;
    let task = &answer["result"]["task"];
    let Some(id) = task["id"].as_str() else {
        let reason = answer["error"]["data"][0]["reason"].as_str().unwrap_or_default();
        assert!(PASSING.contains(&reason), "the site refused {send:?}: {answer}");
        return None;
    };
    Some(Acknowledged {
        message: send.message.clone(),
        agent: send.agent,
        text: send.text.clone(),
        task: id.to_owned(),
        state: audit::state(task).to_owned(),
    })
}
