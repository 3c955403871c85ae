//! Cases about lists: tasks with filters and cursors, open tasks, the journal.
//!
//! They tell what a page may show while others go on writing.

use agentsite_protocol::{AgentName, JournalLine, JournalSubject, TaskHead, TaskState};

use super::Fresh;
use super::samples::{Life, SAMPLE, at, line, task_id};
use crate::{Change, JournalQuery, SharedStore, TaskCursor, TaskFilter};

/// Numbers of the tasks on one page.
async fn listed(store: &SharedStore, filter: TaskFilter) -> Vec<u64> {
    let page = store.tasks(filter.clone(), None, 100).await.unwrap();
    assert!(page.next.is_none());
    assert_eq!(store.count_tasks(filter).await.unwrap(), page.items.len() as u64);
    numbers(&page.items)
}

fn numbers(heads: &[TaskHead]) -> Vec<u64> {
    heads.iter().map(|head| u64::from_be_bytes(head.id.as_bytes()[..8].try_into().unwrap())).collect()
}

async fn commit_all(store: &SharedStore, changes: impl IntoIterator<Item = Change>) {
    for change in changes {
        store.commit(change).await.unwrap();
    }
}

pub async fn tasks_are_listed_by_last_change(mut fresh: Fresh) {
    let store = fresh.store();
    let (mut one, mut two, mut three, mut four) = (Life::new(1), Life::new(2), Life::new(3), Life::new(4));
    commit_all(&store, [one.open(), two.open(), three.whole(TaskState::Completed, 50), four.open()]).await;
    commit_all(&store, [one.go(TaskState::Working, 60, 1), two.go(TaskState::Failed, 50, 1)]).await;
    let store = fresh.reread().await;
    // Two and three changed at the same moment: the later id comes first.
    assert_eq!(listed(&store, TaskFilter::default()).await, [1, 3, 2, 4]);
    let page = store.tasks(TaskFilter::default(), None, 100).await.unwrap();
    assert_eq!(page.items, [one.head, three.head, two.head, four.head]);
}

pub async fn every_filter_narrows_the_list(mut fresh: Fresh) {
    let store = fresh.store();
    commit_all(
        &store,
        [
            Life::new(1).owner("key:a").open(),
            Life::new(2).owner("key:a").agent("calc").whole(TaskState::Completed, 20),
            Life::new(3).context("talk").whole(TaskState::Failed, 30),
            Life::new(4).context("talk").owner("key:a").open(),
            Life::new(5).parent(3).whole(TaskState::Completed, 50),
            Life::new(6).parent(3).agent("calc").open(),
        ],
    )
    .await;
    let store = fresh.reread().await;
    let all = TaskFilter::default;
    let owner = Some("key:a".parse().unwrap());
    let agent = Some("calc".parse().unwrap());
    let context = Some("talk".parse().unwrap());
    let parent = Some(task_id(3));
    for (filter, expected) in [
        (all(), vec![5, 3, 2, 6, 4, 1]),
        (TaskFilter { owner: owner.clone(), ..all() }, vec![2, 4, 1]),
        (TaskFilter { agent: agent.clone(), ..all() }, vec![2, 6]),
        (TaskFilter { context: context.clone(), ..all() }, vec![3, 4]),
        (TaskFilter { parent, ..all() }, vec![5, 6]),
        (TaskFilter { states: vec![TaskState::Completed], ..all() }, vec![5, 2]),
        (TaskFilter { states: vec![TaskState::Submitted, TaskState::Failed], ..all() }, vec![3, 6, 4, 1]),
        (TaskFilter { updated_since: Some(at(30)), ..all() }, vec![5, 3]),
        (TaskFilter { owner: owner.clone(), agent: agent.clone(), ..all() }, vec![2]),
        (TaskFilter { owner, context, ..all() }, vec![4]),
        (TaskFilter { parent, agent, states: vec![TaskState::Submitted], ..all() }, vec![6]),
        (TaskFilter { context: Some("other".parse().unwrap()), ..all() }, vec![]),
    ] {
        assert_eq!(listed(&store, filter.clone()).await, expected, "{filter:?}");
    }
}

pub async fn pages_join_without_gap_or_repeat(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=50 {
        // Five changes in each millisecond, open and ended mixed.
        let state = if number % 3 == 0 { TaskState::Working } else { TaskState::Completed };
        store.commit(Life::new(number).whole(state, number as i64 / 5)).await.unwrap();
    }
    let store = fresh.reread().await;
    let whole = listed(&store, TaskFilter::default()).await;
    assert_eq!(whole.len(), 50);
    for limit in [1, 7, 49, 50] {
        let (mut joined, mut after): (Vec<u64>, Option<TaskCursor>) = (Vec::new(), None);
        loop {
            let page = store.tasks(TaskFilter::default(), after, limit).await.unwrap();
            assert!(page.items.len() <= limit);
            joined.extend(numbers(&page.items));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        assert_eq!(joined, whole, "pages of {limit}");
    }
}

pub async fn a_page_stays_right_while_rows_change(mut fresh: Fresh) {
    let store = fresh.store();
    let mut lives: Vec<Life> = (1..=6).map(Life::new).collect();
    for life in &mut lives {
        store.commit(life.open()).await.unwrap();
    }
    let first = store.tasks(TaskFilter::default(), None, 2).await.unwrap();
    assert_eq!(numbers(&first.items), [6, 5]);
    // Four moves to the front and a new one comes; the rest of the list neither repeats nor loses a task.
    store.commit(lives[3].go(TaskState::Completed, 100, 1)).await.unwrap();
    store.commit(Life::new(7).whole(TaskState::Completed, 200)).await.unwrap();
    let store = fresh.reread().await;
    let second = store.tasks(TaskFilter::default(), first.next, 10).await.unwrap();
    assert_eq!(numbers(&second.items), [3, 2, 1]);
    assert!(second.next.is_none());
}

pub async fn open_tasks_come_oldest_first(mut fresh: Fresh) {
    let store = fresh.store();
    let (mut one, mut two, mut three) = (Life::new(1), Life::new(2), Life::new(3));
    commit_all(&store, [three.open(), one.open(), two.open(), Life::new(4).whole(TaskState::Rejected, 9)])
        .await;
    commit_all(&store, [one.go(TaskState::InputRequired, 90, 2), two.go(TaskState::Canceled, 91, 1)]).await;
    let store = fresh.reread().await;
    assert_eq!(store.open_tasks().await.unwrap(), [one.head, three.head]);
}

pub async fn the_journal_is_read_backwards(mut fresh: Fresh) {
    let store = fresh.store();
    for number in 1..=5 {
        store.commit(line(number, &format!("line {number}"))).await.unwrap();
    }
    let store = fresh.reread().await;
    let newest = store.journal(JournalQuery { limit: 2, ..JournalQuery::default() }).await.unwrap();
    let seqs: Vec<u64> = newest.iter().map(|stored| stored.seq).collect();
    assert_eq!(seqs, [5, 4]);
    assert_eq!(newest[0].line, line(5, "line 5").journal[0]);
    let older =
        store.journal(JournalQuery { before: Some(4), limit: 10, ..JournalQuery::default() }).await.unwrap();
    let seqs: Vec<u64> = older.iter().map(|stored| stored.seq).collect();
    assert_eq!(seqs, [3, 2, 1]);
}

pub async fn the_journal_is_filtered(mut fresh: Fresh) {
    let store = fresh.store();
    let told = |when: i64, actor: &str, agent: Option<&str>, task: Option<u64>, text: &str| {
        let agent = agent.map(|name| name.parse().unwrap());
        let mut line = JournalLine::new(SAMPLE, at(when), actor, text);
        (line.agent, line.task) = (agent, task.map(task_id));
        Change::new(line)
    };
    commit_all(
        &store,
        [
            told(1, "site", None, None, "The site has started"),
            told(2, "local", Some("echo"), Some(1), "local asked echo"),
            told(3, "local", Some("calc"), Some(2), "local asked calc: 100% of 7_0"),
            told(4, "echo", Some("echo"), Some(1), "ECHO has answered"),
        ],
    )
    .await;
    let store = fresh.reread().await;
    let seqs = async |query: JournalQuery| {
        let lines = store.journal(JournalQuery { limit: 10, ..query }).await.unwrap();
        lines.into_iter().map(|stored| stored.seq).collect::<Vec<_>>()
    };
    let all = JournalQuery::default;
    assert_eq!(seqs(JournalQuery { agent: Some("echo".parse().unwrap()), ..all() }).await, [4, 2]);
    assert_eq!(seqs(JournalQuery { task: Some(task_id(2)), ..all() }).await, [3]);
    assert_eq!(seqs(JournalQuery { text: Some("echo".into()), ..all() }).await, [4, 2]);
    assert_eq!(seqs(JournalQuery { text: Some("0% OF 7_".into()), ..all() }).await, [3]);
    for (kind, found) in [("sample.line", 4), ("sample", 4), ("sam", 0), ("sample.line.more", 0)] {
        assert_eq!(seqs(JournalQuery { kind: Some(kind.into()), ..all() }).await.len(), found, "{kind}");
    }
    assert_eq!(seqs(JournalQuery { task: Some(task_id(1)), before: Some(4), ..all() }).await, [2]);
    assert_eq!(seqs(JournalQuery { text: Some("nobody".into()), ..all() }).await, [0; 0]);
    assert_eq!(seqs(JournalQuery { after: Some(2), ..all() }).await, [4, 3]);
    assert_eq!(seqs(JournalQuery { actor: Some("local".into()), ..all() }).await, [3, 2]);
    assert_eq!(seqs(JournalQuery { about_task: Some(false), ..all() }).await, [1]);
    assert_eq!(seqs(JournalQuery { about_task: Some(true), after: Some(3), ..all() }).await, [4]);
    assert_eq!(seqs(JournalQuery { since: Some(at(2)), until: Some(at(4)), ..all() }).await, [3, 2]);
}

pub async fn lines_come_back_with_their_kinds_and_subjects(mut fresh: Fresh) {
    let store = fresh.store();
    let echo: AgentName = "echo".parse().unwrap();
    let said = |text: &str| JournalLine::new(SAMPLE, at(1), "local", text);
    let lines = [
        said("about the site"),
        said("about an agent").about_agent(echo.clone()),
        said("about a task").about_task(task_id(1), Some(echo.clone())),
        said("about an agent and something else").about_agent(echo).about(JournalSubject::Delivery(7)),
        said("about what a later version knows").about(JournalSubject::Other("escrow:12".into())),
        JournalLine { kind: None, ..said("of a version without kinds") },
    ];
    commit_all(&store, lines.clone().map(Change::new)).await;
    let store = fresh.reread().await;
    for (subject, found) in [
        ("site", vec!["of a version without kinds", "about the site"]),
        ("agent:echo", vec!["about an agent"]),
        ("delivery:7", vec!["about an agent and something else"]),
        ("escrow:12", vec!["about what a later version knows"]),
        ("key:none", vec![]),
    ] {
        let query = JournalQuery {
            subject: Some(JournalSubject::read(subject)),
            limit: 9,
            ..JournalQuery::default()
        };
        let lines = store.journal(query).await.unwrap();
        assert_eq!(
            lines.iter().map(|stored| stored.line.text.as_str()).collect::<Vec<_>>(),
            found,
            "{subject}"
        );
    }
    let query =
        JournalQuery { subject: Some(JournalSubject::Task(task_id(1))), limit: 9, ..JournalQuery::default() };
    assert_eq!(store.journal(query).await.unwrap()[0].line.text, "about a task");
    let mut read = store.journal(JournalQuery { limit: 10, ..JournalQuery::default() }).await.unwrap();
    read.reverse();
    assert_eq!(read.into_iter().map(|stored| stored.line).collect::<Vec<_>>(), lines);
}
