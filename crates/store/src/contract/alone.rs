//! The case about stores that belong to one process: the verbs of processes do nothing and cost nothing.
//! It runs on the store in a file and on the one in memory that is not shared.

use std::time::Duration;

use agentsite_protocol::TaskState;

use super::Fresh;
use super::samples::{Life, task_id};
use crate::ProcessInfo;

const TTL: Duration = Duration::from_secs(1);

pub async fn a_store_of_one_process_knows_no_processes(mut fresh: Fresh) {
    let store = fresh.store();
    let info = ProcessInfo { name: "one".into(), version: "1.0".into() };
    assert_eq!(store.join(info, TTL).await.unwrap(), None);
    let mut life = Life::new(1);
    store.commit(life.open()).await.unwrap();
    assert_eq!(store.renew(TTL, Some("report".into())).await.unwrap(), []);
    assert_eq!(store.processes().await.unwrap(), []);
    assert!(store.acquire("upkeep").await.unwrap());
    store.release("upkeep").await.unwrap();
    assert_eq!(store.orphans(None, 10).await.unwrap(), []);
    assert_eq!(store.adopt(vec![task_id(1)]).await.unwrap(), []);
    store.leave().await.unwrap();
    let store = fresh.reread().await;
    store.commit(life.go(TaskState::Completed, 2, 1)).await.unwrap();
}
