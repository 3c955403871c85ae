//! The contract: what every store must do, as named cases that run on each implementation.
//!
//! A case takes a [`Fresh`] store and knows nothing of how it is made. Between writing and reading it calls
//! [`Fresh::reread`]; an implementation that can be closed and opened again does so there, and must still
//! know everything. Only what all stores share is here; what belongs to one (files, crashes) is tested beside
//! it.

pub mod alone;
pub mod conversations;
pub mod expiry;
pub mod feed;
pub mod history;
pub mod keeping;
pub mod listings;
pub mod lists;
pub mod outbox;
pub mod processes;
pub mod push;
pub mod records;
pub mod rooms;
pub mod samples;
pub mod storage;
pub mod tasks;

use std::any::Any;
use std::time::Duration;

use futures::future::BoxFuture;

use crate::{SharedStore, Store};

type Another = Box<dyn Fn() -> BoxFuture<'static, SharedStore> + Send>;

type Pass = Box<dyn Fn(Duration) -> BoxFuture<'static, ()> + Send>;

type Again = Box<dyn Fn(SharedStore) -> BoxFuture<'static, SharedStore> + Send>;

/// An empty store for one case, with whatever must live as long.
#[expect(missing_debug_implementations, reason = "it holds closures; a failing case prints its own words")]
pub struct Fresh {
    store: SharedStore,
    again: Option<Again>,
    another: Option<Another>,
    pass: Option<Pass>,
    _kept: Box<dyn Any + Send>,
}

impl Fresh {
    /// A store that is not opened again.
    pub fn of(store: impl Store) -> Self {
        Self {
            store: std::sync::Arc::new(store),
            again: None,
            another: None,
            pass: None,
            _kept: Box::new(()),
        }
    }

    /// Keeps something, such as a folder, as long as the store.
    pub fn keeping(mut self, kept: impl Any + Send) -> Self {
        self._kept = Box::new(kept);
        self
    }

    /// Closes the store and opens it again this way at each [`Self::reread`].
    pub fn opening_again(mut self, again: Again) -> Self {
        self.again = Some(again);
        self
    }

    /// Several processes may share the store: `another` opens it as a further process does, `pass` moves the
    /// clock by which leases count.
    pub fn sharing(mut self, another: Another, pass: Pass) -> Self {
        (self.another, self.pass) = (Some(another), Some(pass));
        self
    }

    /// The store as another process opens it.
    pub async fn another(&self) -> SharedStore {
        self.another.as_ref().expect("only shared stores run these cases")().await
    }

    /// Lets time pass by the clock of the store.
    pub async fn pass(&self, time: Duration) {
        self.pass.as_ref().expect("only shared stores run these cases")(time).await;
    }

    /// The store as it is.
    pub fn store(&self) -> SharedStore {
        self.store.clone()
    }

    /// The store as somebody finds it who comes later.
    pub async fn reread(&mut self) -> SharedStore {
        if let Some(again) = &self.again {
            self.store = again(self.store.clone()).await;
        }
        self.store.clone()
    }
}

/// Makes one test per case of the contract, each on a store that `$make` makes. What differs between
/// stores of one process and shared ones is in `alone_suite` and `shared_suite`.
#[macro_export]
macro_rules! contract_suite {
    ($make:expr) => {
        $crate::contract_suite! { @cases $make;
            tasks: a_change_is_applied_whole_or_not_at_all, a_stale_change_leaves_nothing,
                a_repeated_message_is_told_from_an_id_used_twice, messages_of_others_are_no_repeats,
                changes_take_effect_in_the_order_of_enqueueing, one_of_eight_writers_wins_each_number,
                events_are_read_from_a_cursor_in_whole_commits, histories_come_whole_until_there_are_enough_events, events_with_gaps_are_refused,
                a_task_keeps_its_owner, a_refused_change_does_not_touch_the_others, a_dropped_durable_undoes_nothing, a_closed_store_refuses_everything;
            lists: tasks_are_listed_by_last_change, every_filter_narrows_the_list,
                pages_join_without_gap_or_repeat, a_page_stays_right_while_rows_change, open_tasks_come_oldest_first,
                the_journal_is_read_backwards, the_journal_is_filtered, lines_come_back_with_their_kinds_and_subjects;
            keeping: keys_are_put_used_and_removed, a_key_is_never_written_with_its_hash, settings_are_written_and_removed,
                usage_adds_up_and_never_overflows, stats_count_what_is_there;
            outbox: a_claimed_row_is_hidden_until_its_lease_ends, rows_are_claimed_in_the_order_they_are_due,
                a_retried_row_comes_again_and_a_dead_one_does_not, a_done_row_is_gone,
                rows_of_a_lane_leave_one_after_the_other, a_dead_row_lets_the_next_one_go, a_deferred_row_counts_no_attempt,
                a_replayed_row_goes_first_again_with_a_new_deadline, the_outbox_is_listed, accounts_take_turns;
            push: receivers_are_kept_by_task, every_receiver_of_the_moment_is_told, a_removed_receiver_is_told_no_more,
                receivers_go_with_their_task, a_task_stays_while_something_must_leave;
            listings: an_entry_is_put_read_and_removed, an_entry_keeps_its_owner, a_change_from_an_old_reading_is_refused,
                a_refused_entry_leaves_nothing_of_its_batch, entries_are_paged_by_id, every_filter_of_entries_narrows_the_list,
                entries_are_looked_at_in_the_order_they_are_due, holders_of_names_are_found_by_shape;
            conversations: a_conversation_is_put_read_and_listed, pinned_ones_come_first_and_pages_join,
                a_conversation_keeps_its_owner_and_a_change_from_an_old_reading_is_refused,
                a_turn_comes_with_its_task_or_not_at_all, a_path_is_read_backwards_with_its_branches,
                the_end_of_a_branch_is_its_newest_way, all_turns_come_in_the_order_they_were_said,
                words_are_found_in_titles_questions_and_answers, nobody_finds_the_words_of_another,
                a_conversation_keeps_its_tasks, a_removed_conversation_goes_with_its_tasks;
            rooms: a_room_is_opened_continued_and_read, of_two_changes_that_meet_one_is_refused,
                one_of_eight_writers_wins_each_event, a_message_of_a_sender_is_kept_once, members_come_go_and_read_on,
                rooms_of_a_member_come_newest_first_in_pages, rooms_come_up_when_their_deadline_has_passed,
                what_was_trimmed_is_gone_and_named, messages_are_found_by_their_words_in_their_room,
                the_feed_names_rooms_with_new_events;
            records: a_record_is_put_read_and_removed, a_record_is_changed_only_from_its_last_revision,
                records_are_listed_by_key_and_owner, a_record_goes_when_its_time_has_come;
            feed: the_feed_says_what_commits_touched, a_reader_that_fell_behind_gets_a_gap, those_who_wait_are_woken_by_a_commit;
            storage: everything_that_is_kept_is_counted_and_taken_off_again, work_of_callers_without_a_key_goes_earlier,
                the_oldest_work_of_callers_without_a_key_makes_room, the_journal_is_cut_to_its_size;
            expiry: lines_about_a_removed_task_stay_without_their_texts, a_task_goes_when_its_own_time_is_over, old_tasks_go_with_their_events_and_keys, tasks_beyond_the_number_go_oldest_first,
                open_tasks_never_expire, a_forgotten_task_goes_when_it_has_ended, expiry_goes_in_portions, old_journal_lines_go_but_places_are_never_reused;
        }
    };
    (@cases $make:expr; $($group:ident: $($case:ident),+ $(,)?;)+) => {
        $($(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $case() {
                let make = $make;
                $crate::contract::$group::$case(make().await).await;
            }
        )+)+
    };
}

/// Makes one test per case about several processes, each on a store that `$make` makes and that can be
/// shared.
#[macro_export]
macro_rules! shared_suite {
    ($make:expr) => {
        $crate::contract_suite! { @cases $make;
            processes: numbers_grow_and_are_never_used_again, a_process_is_shown_with_what_it_has,
                a_process_that_renews_in_time_lives, a_dead_process_writes_nothing, each_death_is_given_once,
                a_process_that_slept_goes_on_when_nobody_declared_it_dead, a_process_that_was_late_itself_declares_none_dead,
                a_released_task_is_free_although_it_is_live, a_process_that_left_writes_nothing_until_it_joins_again,
                a_handle_that_joins_again_leaves_its_old_work, live_tasks_are_held_by_who_writes_them, a_held_task_is_not_changed_by_others,
                a_repeat_is_recognised_before_the_holder, a_handle_that_has_not_joined_holds_nothing, one_of_several_gets_an_orphan,
                orphans_are_paged, a_lease_has_one_holder, leases_go_with_their_process, every_process_follows_the_feed;
        }
    };
}

/// Makes one test per case about stores that belong to one process.
#[macro_export]
macro_rules! alone_suite {
    ($make:expr) => {
        $crate::contract_suite! { @cases $make;
            alone: a_store_of_one_process_knows_no_processes;
        }
    };
}

pub use crate::{alone_suite, contract_suite, shared_suite};
