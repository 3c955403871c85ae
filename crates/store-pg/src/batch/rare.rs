//! Edits that are rare: receivers, keys, settings, entries of the registry, conversations, signed heads.
//!
//! Promises: each is written by its own statements inside the transaction of its batch, after everything that
//! was decided before it; guards were checked under lock. The sums of the accounts follow every edit.

use agentsite_protocol::{Principal, TaskId, Timestamp};
use agentsite_store::engine::{config_place, fixed, setting_place, standing, visibility, words};
use agentsite_store::{
    Conversation, ConversationChange, Edit, KeyChange, KeyRecord, ListingChange, PushChange, SettingChange,
    SignedHead,
};
use tokio_postgres::Error;

use super::Batch;
use super::guards::{receiver_bytes, written};
use super::outbox::take_off;
use super::seen::{SeenRow, account, column};
use super::writes::number;
use crate::text;
use crate::words::terms;

impl Batch<'_> {
    /// Makes a rare edit whose guards have been checked.
    pub(super) async fn rare(&mut self, edit: &Edit) -> Result<(), Error> {
        match edit {
            Edit::Push(change) => self.push(change).await,
            Edit::Key(change) => self.key(change).await,
            Edit::Setting(change) => self.setting(change).await,
            Edit::Conversation(change) => self.conversation(change).await,
            Edit::Forget(task) => {
                let sql = "UPDATE tasks SET expires_at = 0 WHERE id = $1 AND state >= 4 AND NOT kept";
                self.session.execute(sql, &[&task.as_bytes().as_slice()]).await.map(drop)
            }
            Edit::SignedHead(head) => self.signed(head).await,
            Edit::Task(_)
            | Edit::Listing(_)
            | Edit::Notify(_)
            | Edit::Delivery(_)
            | Edit::Record(_)
            | Edit::Room(_)
            | Edit::RoomCursor(_)
            | Edit::Usage(_) => Ok(()),
        }
    }

    async fn push(&mut self, change: &PushChange) -> Result<(), Error> {
        match change {
            PushChange::Put(task, config) => {
                // A task that is gone gets no receivers, because they would never be removed.
                let Some(owner) = self.seen.tasks.get(task).map(|kept| account(&kept.owner)) else {
                    return Ok(());
                };
                let id = text::put(&config.id);
                let place = config_place(task.as_bytes().as_slice(), &config.id);
                let sealed = self.vault.seal(&place, written(config).as_bytes());
                let sql = "INSERT INTO push_configs (task, id, body) VALUES ($1, $2, $3)
                           ON CONFLICT (task, id) DO UPDATE SET body = excluded.body";
                self.session.execute(sql, &[&task.as_bytes().as_slice(), &id, &sealed]).await?;
                let bytes = receiver_bytes(config);
                let all = self.seen.receivers.entry(*task).or_default();
                let before = all.insert(config.id.clone(), bytes);
                self.seen.accounts.take(&owner, before.unwrap_or(0));
                self.seen.accounts.add(&owner, bytes);
            }
            PushChange::Remove(task, id) => {
                let before = self.seen.receivers.get_mut(task).and_then(|all| all.remove(id));
                if let (Some(bytes), Some(kept)) = (before, self.seen.tasks.get(task)) {
                    let owner = account(&kept.owner);
                    self.seen.accounts.take(&owner, bytes);
                }
                let (task, id) = (task.as_bytes().as_slice(), text::put(id));
                let sql = "DELETE FROM push_configs WHERE task = $1 AND id = $2";
                self.session.execute(sql, &[&task, &id]).await?;
                let sql = "DELETE FROM outbox WHERE task = $1 AND lane = $2
                           RETURNING account, octet_length(replace(body, chr(26), ''))::bigint";
                for row in self.session.query(sql, &[&task, &id]).await? {
                    take_off(&mut self.seen, row.get(0), row.get(1));
                }
            }
        }
        Ok(())
    }

    async fn key(&mut self, change: &KeyChange) -> Result<(), Error> {
        match change {
            KeyChange::Put(key) => self.put_key(key).await,
            KeyChange::Used(id, at) => {
                let sql = "UPDATE keys SET last_used_at = $2 WHERE id = $1";
                self.session.execute(sql, &[&id.as_str(), &at.as_millis()]).await.map(drop)
            }
            KeyChange::Remove(id) => {
                self.session.execute("DELETE FROM keys WHERE id = $1", &[&id.as_str()]).await.map(drop)
            }
        }
    }

    async fn put_key(&self, key: &KeyRecord) -> Result<(), Error> {
        let sql = "INSERT INTO keys (id, hash, label, scopes, created_at, expires_at, last_used_at, session, of_key)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
                   ON CONFLICT (id) DO UPDATE SET hash = excluded.hash, label = excluded.label, scopes = excluded.scopes,
                       created_at = excluded.created_at, expires_at = excluded.expires_at,
                       last_used_at = excluded.last_used_at, session = excluded.session, of_key = excluded.of_key";
        let scopes: Vec<String> = key.scopes.iter().map(ToString::to_string).collect();
        self.session
            .execute(
                sql,
                &[
                    &key.id.as_str(),
                    &key.hash.as_slice(),
                    &text::put(&key.label),
                    &scopes.join(" "),
                    &key.created_at.as_millis(),
                    &key.expires_at.map(Timestamp::as_millis),
                    &key.last_used_at.map(Timestamp::as_millis),
                    &key.session,
                    &key.of.as_ref().map(agentsite_protocol::KeyId::as_str),
                ],
            )
            .await
            .map(drop)
    }

    async fn setting(&mut self, change: &SettingChange) -> Result<(), Error> {
        let before = self.seen.settings.remove(&change.name);
        let name = text::put(&change.name);
        let Some(value) = &change.value else {
            self.seen.replace(before.as_ref(), None);
            return self.session.execute("DELETE FROM settings WHERE name = $1", &[&name]).await.map(drop);
        };
        let bytes = fixed::SETTING + (change.name.len() + value.len()) as u64;
        let after = SeenRow { owner: column(change.owner.as_ref()), revision: 0, bytes };
        self.seen.replace(before.as_ref(), Some(&after));
        self.seen.settings.insert(change.name.clone(), after);
        let sealed = self.vault.seal(&setting_place(&change.name), value.as_bytes());
        let owner = change.owner.as_ref().map(Principal::as_str);
        let sql = "INSERT INTO settings (name, value, owner) VALUES ($1, $2, $3)
                   ON CONFLICT (name) DO UPDATE SET value = excluded.value, owner = excluded.owner";
        self.session.execute(sql, &[&name, &sealed, &owner]).await.map(drop)
    }

    pub(super) async fn listing(&mut self, change: &ListingChange, body: &str) -> Result<(), Error> {
        let id = match change {
            ListingChange::Put(new) => new.listing.id.as_str(),
            ListingChange::Remove { id, .. } => id.as_str(),
        };
        let before = self.seen.listings.remove(id);
        let ListingChange::Put(new) = change else {
            self.seen.replace(before.as_ref(), None);
            return self.session.execute("DELETE FROM listings WHERE id = $1", &[&id]).await.map(drop);
        };
        let owner = new.listing.owner.as_str();
        let bytes = fixed::LISTING + body.len() as u64;
        let after = SeenRow { owner: owner.to_owned(), revision: new.revision, bytes };
        self.seen.replace(before.as_ref(), Some(&after));
        self.seen.listings.insert(id.to_owned(), after);
        let sql = "INSERT INTO listings (id, revision, owner, standing, visibility, media_type, updated_at, due, shape, body)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
                   ON CONFLICT (id) DO UPDATE SET revision = excluded.revision, standing = excluded.standing,
                       visibility = excluded.visibility, media_type = excluded.media_type,
                       updated_at = excluded.updated_at, due = excluded.due, shape = excluded.shape, body = excluded.body";
        let small = |number: i64| i16::try_from(number).unwrap_or(i16::MAX);
        self.session
            .execute(
                sql,
                &[
                    &id,
                    &number(new.revision),
                    &owner,
                    &small(standing(new.listing.standing)),
                    &small(visibility(new.listing.visibility)),
                    &text::put(&new.listing.media_type),
                    &new.listing.updated_at.as_millis(),
                    &new.due.map(Timestamp::as_millis),
                    &text::put(&new.shape),
                    &body,
                ],
            )
            .await
            .map(drop)
    }

    async fn signed(&mut self, head: &SignedHead) -> Result<(), Error> {
        let sql = "INSERT INTO journal_heads (seq, at, hash, signature) VALUES ($1, $2, $3, $4)
                   ON CONFLICT (seq) DO UPDATE SET at = excluded.at, hash = excluded.hash, signature = excluded.signature";
        let values: [&(dyn tokio_postgres::types::ToSql + Sync); 4] =
            [&number(head.seq), &head.at.as_millis(), &head.hash.as_slice(), &head.signature];
        self.session.execute(sql, &values).await.map(drop)
    }

    async fn conversation(&mut self, change: &ConversationChange) -> Result<(), Error> {
        match change {
            ConversationChange::Put(new) => self.put_conversation(new).await,
            ConversationChange::Said { conversation, turn, words: said } => {
                self.put_conversation(conversation).await?;
                let bytes = fixed::TURN + said.len() as u64;
                self.seen.accounts.add(conversation.owner.account(), bytes);
                self.seen.turns.insert(turn.task, turn.conversation);
                let sql = "INSERT INTO turns (conversation, parent, task, at, agent, context, message, bytes)
                           VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING row";
                let row = self
                    .session
                    .first(
                        sql,
                        &[
                            &turn.conversation.as_bytes().as_slice(),
                            &turn.parent.as_ref().map(|id| id.as_bytes().as_slice()),
                            &turn.task.as_bytes().as_slice(),
                            &turn.at.as_millis(),
                            &turn.agent.as_str(),
                            &turn.context.as_str(),
                            &turn.message.as_str(),
                            &number(said.len() as u64),
                        ],
                    )
                    .await?;
                // The task may have been there before; one that comes with the turn is kept from its row on.
                let sql = "UPDATE tasks SET kept = true WHERE id = $1 AND NOT kept";
                self.session.execute(sql, &[&turn.task.as_bytes().as_slice()]).await?;
                let row: i64 = row.map_or(0, |row| row.get(0));
                self.index(row, false, conversation.owner.as_str(), said).await
            }
            ConversationChange::Ended { task, words, at } => self.end_turn(*task, words, *at).await,
            ConversationChange::Remove { id, .. } => {
                let sql = "UPDATE conversations SET gone = true, revision = revision + 1, title_words = '' WHERE id = $1";
                if let Some(kept) = self.seen.conversations.get_mut(id) {
                    kept.revision += 1;
                }
                self.session.execute(sql, &[&id.as_bytes().as_slice()]).await.map(drop)
            }
        }
    }

    async fn put_conversation(&mut self, new: &Conversation) -> Result<(), Error> {
        let sql = "INSERT INTO conversations
                       (id, owner, title, title_words, named, pinned, agent, created_at, updated_at, revision, head, turns)
                   VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
                   ON CONFLICT (id) DO UPDATE SET title = excluded.title, title_words = excluded.title_words,
                       named = excluded.named, pinned = excluded.pinned, agent = excluded.agent,
                       updated_at = excluded.updated_at, revision = excluded.revision, head = excluded.head,
                       turns = excluded.turns";
        self.session
            .execute(
                sql,
                &[
                    &new.id.as_bytes().as_slice(),
                    &new.owner.as_str(),
                    &text::put(&new.title),
                    &crate::words::spaced(words(&new.title)),
                    &new.named,
                    &new.pinned,
                    &new.agent.as_str(),
                    &new.created_at.as_millis(),
                    &new.updated_at.as_millis(),
                    &number(new.revision),
                    &new.head.as_ref().map(|head| head.as_bytes().as_slice()),
                    &number(new.turns),
                ],
            )
            .await?;
        let bytes = fixed::CONVERSATION + new.title.len() as u64;
        let after = SeenRow { owner: new.owner.to_string(), revision: new.revision, bytes };
        let before = self.seen.conversations.insert(new.id, after.clone());
        self.seen.replace(before.as_ref(), Some(&after));
        Ok(())
    }

    /// Notes that the task of a turn has ended; one that is gone is left alone.
    async fn end_turn(&mut self, task: TaskId, said: &str, at: Timestamp) -> Result<(), Error> {
        let sql = "UPDATE turns t SET bytes = t.bytes + $2 FROM conversations c
                   WHERE t.task = $1 AND c.id = t.conversation AND NOT c.gone RETURNING t.row, c.owner, c.id";
        let id = task.as_bytes().as_slice();
        let found = self.session.first(sql, &[&id, &number(said.len() as u64)]).await?;
        let Some(found) = found else { return Ok(()) };
        let (row, owner): (i64, String) = (found.get(0), found.get(1));
        let sql = "UPDATE conversations SET revision = revision + 1, updated_at = greatest(updated_at, $2) WHERE id = $1";
        let conversation: &[u8] = found.get(2);
        self.session.execute(sql, &[&conversation, &at.as_millis()]).await?;
        if let Some(of) = self.seen.turns.get(&task).copied()
            && let Some(kept) = self.seen.conversations.get_mut(&of)
        {
            kept.revision += 1;
        }
        self.seen.accounts.add(&account(&owner), said.len() as u64);
        self.index(row, true, &owner, said).await
    }

    /// Makes the words of a question or an answer findable.
    async fn index(&self, turn: i64, answer: bool, owner: &str, said: &str) -> Result<(), Error> {
        let words: Vec<String> = words(said).collect();
        let terms = terms(&words);
        let sql = "INSERT INTO turn_words (turn, answer, owner, words, terms) VALUES ($1, $2, $3, $4, array_to_tsvector($5))
                   ON CONFLICT (turn, answer) DO UPDATE SET words = excluded.words, terms = excluded.terms";
        let spaced = crate::words::spaced(words.into_iter());
        self.session.execute(sql, &[&turn, &answer, &owner, &spaced, &terms]).await.map(drop)
    }
}
