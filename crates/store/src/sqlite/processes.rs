//! Processes of a file: one process has it, so nobody joins and nothing is checked.
//!
//! Promises: costs nothing; no table, no read and no write. The lock of the file keeps others away.

use std::future::ready;
use std::time::Duration;

use agentsite_protocol::{TaskHead, TaskId};

use super::SqliteStore;
use crate::process::{check_lease, check_report};
use crate::{ProcessId, ProcessInfo, ProcessReads, ProcessView, Reply};

impl ProcessReads for SqliteStore {
    fn join(&self, info: ProcessInfo, _: Duration) -> Reply<'_, Option<ProcessId>> {
        Box::pin(ready(info.check().map(|()| None)))
    }

    fn renew(&self, _: Duration, report: Option<String>) -> Reply<'_, Vec<ProcessView>> {
        Box::pin(ready(check_report(report.as_deref()).map(|()| Vec::new())))
    }

    fn leave(&self) -> Reply<'_, ()> {
        Box::pin(ready(Ok(())))
    }

    fn processes(&self) -> Reply<'_, Vec<ProcessView>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn acquire(&self, lease: &str) -> Reply<'_, bool> {
        Box::pin(ready(check_lease(lease).map(|()| true)))
    }

    fn release(&self, lease: &str) -> Reply<'_, ()> {
        Box::pin(ready(check_lease(lease)))
    }

    fn orphans(&self, _: Option<TaskId>, _: usize) -> Reply<'_, Vec<TaskHead>> {
        Box::pin(ready(Ok(Vec::new())))
    }

    fn adopt(&self, _: Vec<TaskId>) -> Reply<'_, Vec<TaskHead>> {
        Box::pin(ready(Ok(Vec::new())))
    }
}
