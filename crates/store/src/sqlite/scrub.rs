//! Removes what deleted content leaves behind: words in the indexes, and copies in the write-ahead log.
//!
//! Promises: SQLite overwrites deleted rows (`secure_delete`), but an index of words only marks them until
//! its parts are merged; here they are merged in short steps, between which other changes get their turn.
//! Emptying the log is the writer's. It does not reach backups.

use rusqlite::{Connection, params};

/// The indexes of words.
const INDEXES: [&str; 2] = ["title_words", "turn_words"];

/// Pages of an index that one step writes: a few milliseconds of the writer's time.
const STEP: i64 = 500;

/// Does one step; gives whether more are needed. The first step decides what is merged.
pub(super) fn step(db: &Connection, begins: bool) -> rusqlite::Result<bool> {
    let mut more = false;
    for index in INDEXES {
        let before = db.total_changes();
        let sql = format!("INSERT INTO {index} ({index}, rank) VALUES ('merge', ?1)");
        db.prepare_cached(&sql)?.execute(params![if begins { -STEP } else { STEP }])?;
        // The command itself counts as one change.
        more |= db.total_changes() - before >= 2;
    }
    Ok(more)
}
