//! Stories of children: what they see, that they come back, and that they end with their keeper.
//!
//! The children are small commands of the system; nothing else is started.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt;
use tokio::io::AsyncWriteExt;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::Health;
use crate::contract::{BEGINNING, VirtualClock, soon};
use crate::sandbox::Bounds;

fn shell(script: &str) -> ChildCommand {
    let command = ["sh", "-c", script].map(str::to_owned).to_vec();
    ChildCommand::new(command, Path::new("."), &Environment::default(), &[], &BTreeMap::new(), plain())
}

fn plain() -> Confined {
    Confined::bounded(Bounds::default())
}

fn log() -> AgentLog {
    AgentLog::new(VirtualClock::at(BEGINNING))
}

#[test]
fn a_child_sees_only_what_is_named() {
    let environment =
        Environment::new([("TZ", "UTC"), ("KEY", "k"), ("OTHER", "o")].map(|(k, v)| (k.into(), v.into())));
    let set = BTreeMap::from([("MODE".to_owned(), "test".to_owned())]);
    let pass = ["KEY".to_owned(), "MISSING".to_owned()];
    let command = vec!["./agent".into(), "-v".into()];
    let command = ChildCommand::new(command, Path::new("/agents/a"), &environment, &pass, &set, plain());
    let names: Vec<&str> = command.variables.keys().map(String::as_str).collect();
    assert_eq!(names, ["HOME", "KEY", "LANG", "LC_ALL", "MODE", "PATH", "TZ"]);
    assert!(!format!("{command:?}").contains("KEY"));
}

/// Serves a child that repeats lines: declares it ready with its first line, and works until its output ends.
fn serve_lines(
    pipes: Pipes,
    bulletin: Arc<Bulletin<String>>,
) -> futures::future::BoxFuture<'static, Option<String>> {
    async move {
        let Pipes { mut stdin, stdout } = pipes;
        let mut lines = Lines::new(stdout, 1024);
        let _ = stdin.write_all(b"hello\n").await;
        loop {
            match lines.next().await {
                Ok(Some(line)) => bulletin.ready(String::from_utf8_lossy(&line).into_owned()),
                Ok(None) => return None,
                Err(error) => return Some(error.to_string()),
            }
        }
    }
    .boxed()
}

#[tokio::test]
async fn a_child_that_ends_is_started_again_and_its_stderr_is_in_the_log() {
    let (bulletin, mut watch) = bulletin::<String>(&log());
    let (log, stop) = (log(), CancellationToken::new());
    // Each life answers one line and ends.
    let command = shell("read line; echo \"$$ $line\"; echo complaint >&2; sleep 0.05; exit 3");
    let keeper = Keeper::new(command, Arc::new(bulletin), log.clone(), stop.clone());
    let running = tokio::spawn(keeper.run(serve_lines));
    let first = soon("it is ready", watch.ready(Duration::from_secs(10))).await.unwrap();
    assert!(first.ends_with(" hello"), "{first}");
    let again = async {
        while watch.now().is_ok_and(|line| line == first) || watch.now().is_err() {
            tokio::task::yield_now().await;
        }
        watch.now().unwrap()
    };
    assert_ne!(soon("another one is ready", again).await, first, "another process");
    let text: Vec<String> = log.tail(10).into_iter().map(|line| line.text).collect();
    assert!(text.iter().any(|line| line == "complaint"), "{text:?}");
    assert!(
        text.iter().any(|line| line.contains("exit status: 3") && line.contains("again in 500ms")),
        "{text:?}"
    );
    stop.cancel();
    soon("the keeper ends", running).await.unwrap();
    assert!(matches!(watch.health(), Health::Down(_)));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_told() {
    let (bulletin, mut watch) = bulletin::<String>(&log());
    let command = ChildCommand::new(
        vec!["./no-such-program".into()],
        Path::new("."),
        &Environment::default(),
        &[],
        &BTreeMap::new(),
        plain(),
    );
    let stop = CancellationToken::new();
    let running =
        tokio::spawn(Keeper::new(command, Arc::new(bulletin), log(), stop.clone()).run(serve_lines));
    let why = soon("it is down", watch.ready(Duration::from_millis(100))).await.unwrap_err();
    assert!(why.contains("there is no file `./no-such-program`"), "{why}");
    stop.cancel();
    soon("the keeper ends", running).await.unwrap();
}

#[tokio::test]
async fn a_child_that_says_too_much_is_started_again() {
    let (bulletin, watch) = bulletin::<String>(&log());
    let (log, stop) = (log(), CancellationToken::new());
    let keeper = Keeper::new(shell("exec cat /dev/zero"), Arc::new(bulletin), log.clone(), stop.clone());
    let running = tokio::spawn(keeper.run(serve_lines));
    let told = async {
        while !log.tail(10).iter().any(|line| line.text.contains("more than 1024 bytes")) {
            tokio::task::yield_now().await;
        }
    };
    soon("the reason is in the log", told).await;
    assert!(watch.now().is_err());
    stop.cancel();
    soon("the keeper ends", running).await.unwrap();
}
