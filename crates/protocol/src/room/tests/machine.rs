//! Each transition T1 to T13 by example, the guards, and what roles may do.
//!
//! Nothing here waits or reads a clock.

use std::time::Duration;

use crate::room::*;
use crate::{MessageId, Part, RoomId, Timestamp};

pub(super) fn room_id() -> RoomId {
    RoomId::from_bytes([5; 16])
}

pub(super) fn member(name: &str) -> MemberId {
    name.parse().unwrap()
}

pub(super) fn at(seconds: u64) -> Timestamp {
    Timestamp::from_millis(1_700_000_000_000).plus(Duration::from_secs(seconds))
}

/// A room, its clock and a count for ids.
pub(super) struct Scene {
    pub(super) room: Room,
    pub(super) log: Vec<RoomEvent>,
    pub(super) now: Timestamp,
    count: u32,
}

impl Scene {
    pub(super) fn new(settings: RoomSettings) -> Self {
        let envelope =
            Envelope::new("open".parse().unwrap(), room_id(), member("key:ann"), MessageType::Created, at(0));
        let event = Room::create(envelope, MemberKind::Person, "Plans", settings, at(0)).unwrap();
        Self { room: Room::open(&event).unwrap(), log: vec![event], now: at(0), count: 0 }
    }

    /// A room in which agents take turns, with three agents and the person who made it.
    pub(super) fn team(settings: RoomSettings) -> Self {
        let mut scene = Self::new(RoomSettings { floor: FloorPolicy::RoundRobin, ..settings });
        for agent in ["agent:a", "agent:b", "agent:c"] {
            scene.join(agent, MemberKind::Agent, MemberRole::Member);
        }
        scene
    }

    pub(super) fn envelope(&mut self, from: &str, kind: MessageType) -> Envelope {
        self.count += 1;
        let id: MessageId = format!("m{}", self.count).parse().unwrap();
        Envelope::new(id, room_id(), member(from), kind, self.now)
    }

    pub(super) fn post(&mut self, envelope: Envelope) -> Result<RoomEvent, RoomRefusal> {
        self.take(envelope.into())
    }

    pub(super) fn take(&mut self, posting: Posting) -> Result<RoomEvent, RoomRefusal> {
        let event = self.room.decide(posting, self.now)?;
        self.room.apply(&event).unwrap();
        assert_eq!(self.room.state(), event.state, "the event names the state after it");
        self.log.push(event.clone());
        Ok(event)
    }

    fn join(&mut self, who: &str, kind: MemberKind, role: MemberRole) {
        let envelope = self.envelope(who, MessageType::Join);
        let admission = Some(RoomAdmission { kind, role });
        self.take(Posting { envelope, cost: None, admission }).unwrap();
    }

    fn say(&mut self, from: &str, text: &str, to: &[&str]) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, MessageType::Discuss);
        envelope.content = vec![Part::text(text)];
        envelope.to = to.iter().map(|name| member(name)).collect();
        self.post(envelope)
    }

    fn assign(
        &mut self,
        from: &str,
        task: &str,
        to: &[&str],
        mode: AssignMode,
    ) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, MessageType::Assign);
        envelope.task_id = Some(task.parse().unwrap());
        let assignees = to.iter().map(|name| member(name)).collect();
        envelope.assign =
            Some(AssignBlock { task_desc: "do it".into(), mode, assignees, ..AssignBlock::default() });
        self.post(envelope)
    }

    fn answer(&mut self, from: &str, task: &str, kind: MessageType) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, kind);
        envelope.task_id = Some(task.parse().unwrap());
        self.post(envelope)
    }

    fn pause(&mut self, from: &str, triggers: &[&str], need: TriggerNeed) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, MessageType::Pause);
        let triggers = triggers.iter().map(|task| task.parse().unwrap()).collect();
        envelope.pause =
            Some(PauseBlock { triggers, need, timeout_ms: Some(60_000), ..PauseBlock::default() });
        self.post(envelope)
    }

    fn conclude(&mut self, from: &str, answer: &str) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, MessageType::Conclude);
        envelope.conclude = Some(ConcludeBlock { answer: answer.into(), ..ConcludeBlock::default() });
        self.post(envelope)
    }

    fn vote(&mut self, from: &str, proposal: &str) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, MessageType::Vote);
        envelope.vote = Some(VoteBlock {
            proposal_id: proposal.parse().unwrap(),
            options: vec!["tea".into(), "coffee".into()],
            quorum: Some(2),
            closes_at: None,
            extra: crate::JsonMap::new(),
        });
        self.post(envelope)
    }

    fn ballot(&mut self, from: &str, proposal: &str, option: &str) -> Result<RoomEvent, RoomRefusal> {
        let mut envelope = self.envelope(from, MessageType::Ballot);
        let proposal_id = proposal.parse().unwrap();
        envelope.ballot =
            Some(BallotBlock { proposal_id, option: option.into(), extra: crate::JsonMap::new() });
        self.post(envelope)
    }

    fn simple(&mut self, from: &str, kind: MessageType) -> Result<RoomEvent, RoomRefusal> {
        let envelope = self.envelope(from, kind);
        self.post(envelope)
    }

    fn wait(&mut self, seconds: u64) -> Vec<RoomEvent> {
        self.now = self.now.plus(Duration::from_secs(seconds));
        let events = self.room.tick(self.now);
        for event in &events {
            self.room.apply(event).unwrap();
        }
        self.log.extend(events.clone());
        events
    }

    fn holder(&self) -> Option<&str> {
        self.room.floor.holder.as_ref().map(MemberId::as_str)
    }

    fn is(&self, state: RoomState) {
        assert_eq!(self.room.state(), state);
    }
}

#[test]
fn t1_a_room_opens_when_enough_members_have_accepted() {
    let mut scene = Scene::new(RoomSettings { quorum: 2, ..RoomSettings::default() });
    scene.is(RoomState::Forming);
    assert_eq!(scene.say("key:ann", "hello?", &[]), Err(RoomRefusal::Busy(RoomState::Forming)));
    let mut invite = scene.envelope("key:ann", MessageType::Invite);
    invite.invite = Some(InviteBlock {
        member: member("key:bob"),
        kind: MemberKind::Person,
        role: MemberRole::Human,
        deadline: None,
        extra: crate::JsonMap::new(),
    });
    scene.post(invite).unwrap();
    assert_eq!(scene.say("key:bob", "hi", &[]), Err(RoomRefusal::NotMember));
    scene.simple("key:bob", MessageType::Accept).unwrap();
    scene.is(RoomState::Discussion);
    assert_eq!(scene.holder(), Some("key:ann"));
}

#[test]
fn t1_a_room_that_does_not_form_in_time_ends() {
    let mut scene = Scene::new(RoomSettings { quorum: 2, invitation_ms: 10_000, ..RoomSettings::default() });
    scene.wait(11);
    scene.is(RoomState::Aborted);
}

#[test]
fn t2_the_floor_passes_to_the_named_member_or_the_next_one() {
    let mut scene = Scene::team(RoomSettings::default());
    assert_eq!(scene.holder(), Some("key:ann"));
    scene.say("key:ann", "who starts?", &["agent:b"]).unwrap();
    assert_eq!(scene.say("agent:a", "me", &[]), Err(RoomRefusal::NoFloor(member("agent:b"))));
    scene.say("agent:b", "I do", &[]).unwrap();
    assert_eq!(scene.holder(), Some("agent:c"));
    let unknown = scene.say("agent:c", "and you?", &["agent:x"]);
    assert_eq!(unknown, Err(RoomRefusal::UnknownMember(member("agent:x"))), "unknown names are errors");
    let outsider = scene.say("agent:x", "hello", &[]);
    assert_eq!(outsider, Err(RoomRefusal::NotMember));
}

#[test]
fn t2_a_moderator_chooses_the_next_speaker() {
    let settings = RoomSettings { moderator: Some(member("agent:a")), ..RoomSettings::default() };
    let mut scene = Scene::team(settings);
    let rules = RoomSettings { floor: FloorPolicy::Moderator, ..(*scene.room.settings).clone() };
    let mut change = scene.envelope("key:ann", MessageType::RoomState);
    change.room_state = Some(RoomStateBlock { rules: Some(Box::new(rules)), ..RoomStateBlock::default() });
    scene.post(change).unwrap();
    scene.say("key:ann", "begin", &["agent:b"]).unwrap();
    scene.say("agent:b", "done", &["agent:c"]).unwrap();
    assert_eq!(scene.holder(), Some("agent:a"), "only the moderator chooses");
    scene.say("agent:a", "next", &["agent:c"]).unwrap();
    assert_eq!(scene.holder(), Some("agent:c"));
}

#[test]
fn t3_t5_a_blocking_task_holds_the_room_until_every_assignee_is_done() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.assign("agent:a", "t1", &["agent:b", "agent:c"], AssignMode::Blocking).unwrap();
    scene.is(RoomState::Waiting);
    assert_eq!(scene.say("agent:a", "and?", &[]), Err(RoomRefusal::Busy(RoomState::Waiting)));
    let foreign = scene.answer("agent:a", "t1", MessageType::Result);
    assert_eq!(foreign, Err(RoomRefusal::UnknownTask("t1".parse().unwrap())));
    scene.answer("agent:b", "t1", MessageType::Progress).unwrap();
    scene.answer("agent:b", "t1", MessageType::Result).unwrap();
    scene.is(RoomState::Waiting);
    scene.answer("agent:c", "t1", MessageType::Fail).unwrap();
    scene.is(RoomState::Discussion);
    assert_eq!(scene.holder(), Some("agent:a"), "the floor returns to the assigner");
}

#[test]
fn t5_a_lost_assignee_does_not_block_the_room() {
    let mut scene = Scene::team(RoomSettings { task_ms: 30_000, ..RoomSettings::default() });
    scene.assign("key:ann", "t1", &["agent:b"], AssignMode::Blocking).unwrap();
    let due = scene.room.next_deadline().unwrap();
    assert_eq!(due.what, DeadlineKind::Task("t1".parse().unwrap()));
    scene.wait(31);
    scene.is(RoomState::Discussion);
    scene.assign("key:ann", "t2", &["agent:b"], AssignMode::Blocking).unwrap();
    let mut remove = scene.envelope("key:ann", MessageType::Remove);
    remove.remove = Some(RemoveBlock { member: member("agent:b"), extra: crate::JsonMap::new() });
    scene.post(remove).unwrap();
    scene.is(RoomState::Discussion);
}

#[test]
fn t3_an_offer_must_be_accepted_in_time() {
    let mut scene = Scene::team(RoomSettings::default());
    let mut offer = scene.envelope("key:ann", MessageType::Assign);
    offer.assign = Some(AssignBlock {
        task_desc: "look".into(),
        assignees: vec![member("agent:a"), member("agent:b"), member("agent:c")],
        accept_by: Some(at(10)),
        ..AssignBlock::default()
    });
    offer.task_id = Some("t".parse().unwrap());
    scene.post(offer).unwrap();
    scene.is(RoomState::Assigning);
    scene.answer("agent:a", "t", MessageType::Accept).unwrap();
    scene.answer("agent:b", "t", MessageType::Decline).unwrap();
    scene.is(RoomState::Assigning);
    scene.wait(11);
    scene.is(RoomState::Waiting);
    scene.answer("agent:a", "t", MessageType::Result).unwrap();
    scene.is(RoomState::Discussion);
}

#[test]
fn t3_members_cannot_wait_for_each_other_in_a_circle() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    let itself = scene.assign("agent:a", "t0", &["agent:a"], AssignMode::Blocking);
    assert_eq!(itself, Err(RoomRefusal::Cycle(member("agent:a"))));
    scene.assign("agent:a", "t1", &["agent:b"], AssignMode::Blocking).unwrap();
    scene.assign("agent:b", "t2", &["agent:c"], AssignMode::Blocking).unwrap();
    let circle = scene.assign("agent:c", "t3", &["agent:a"], AssignMode::Blocking);
    assert_eq!(circle, Err(RoomRefusal::Cycle(member("agent:a"))));
    scene.answer("agent:c", "t2", MessageType::Result).unwrap();
    scene.is(RoomState::Waiting);
    scene.answer("agent:b", "t1", MessageType::Result).unwrap();
    scene.is(RoomState::Discussion);
}

#[test]
fn t4_a_detached_task_leaves_the_floor_where_it_is() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.assign("agent:a", "t1", &["agent:b"], AssignMode::Detached).unwrap();
    scene.is(RoomState::Discussion);
    assert_eq!(scene.holder(), Some("agent:a"));
    scene.say("agent:a", "I continue", &["agent:c"]).unwrap();
    scene.answer("agent:b", "t1", MessageType::Result).unwrap();
    assert_eq!(scene.holder(), Some("agent:c"), "a result moves no floor");
}

#[test]
fn t6_t7_pauses_end_by_all_any_or_some_triggers() {
    for (need, ends_after) in [(TriggerNeed::All, 3), (TriggerNeed::Any, 1), (TriggerNeed::Count(2), 2)] {
        let mut scene = Scene::team(RoomSettings::default());
        scene.say("key:ann", "begin", &["agent:a"]).unwrap();
        for task in ["t1", "t2", "t3"] {
            scene.assign("agent:a", task, &["agent:b"], AssignMode::Detached).unwrap();
        }
        scene.pause("agent:a", &["t1", "t2", "t3", "gone"], need).unwrap();
        scene.is(RoomState::Paused);
        for (place, task) in ["t1", "t2", "t3"].into_iter().enumerate() {
            scene.answer("agent:b", task, MessageType::Result).unwrap();
            let paused = place + 1 < ends_after;
            assert_eq!(scene.room.state() == RoomState::Paused, paused, "{need:?} after {task}");
        }
        assert_eq!(scene.holder(), Some("agent:a"));
    }
}

#[test]
fn t6_a_pause_without_pending_triggers_is_refused_with_a_hint() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    assert_eq!(scene.pause("agent:a", &["t1"], TriggerNeed::All), Err(RoomRefusal::NothingPending));
}

#[test]
fn t7_several_members_pause_and_a_timeout_ends_each() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.assign("key:ann", "t1", &["agent:b"], AssignMode::Detached).unwrap();
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.pause("agent:a", &["t1"], TriggerNeed::All).unwrap();
    scene.pause("agent:c", &["t1"], TriggerNeed::All).unwrap();
    assert_eq!(scene.room.pauses.len(), 2);
    scene.wait(61);
    scene.is(RoomState::Discussion);
    assert!(scene.room.pauses.is_empty());
    assert!(scene.holder().is_some());
}

#[test]
fn t7_a_pause_may_end_the_room() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.assign("key:ann", "t1", &["agent:b"], AssignMode::Detached).unwrap();
    let mut pause = scene.envelope("key:ann", MessageType::Pause);
    pause.pause = Some(PauseBlock {
        triggers: vec!["t1".parse().unwrap()],
        timeout_ms: Some(5_000),
        on_timeout: TimeoutAction::Abort,
        ..PauseBlock::default()
    });
    scene.post(pause).unwrap();
    scene.wait(6);
    scene.is(RoomState::Aborted);
}

#[test]
fn t8_a_vote_closes_with_the_last_ballot_and_names_its_winner() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.vote("key:ann", "p").unwrap();
    scene.is(RoomState::Voting);
    assert_eq!(scene.vote("key:ann", "q"), Err(RoomRefusal::VoteOpen));
    assert_eq!(scene.ballot("agent:a", "p", "beer"), Err(RoomRefusal::NoOption("beer".into())));
    scene.ballot("agent:a", "p", "coffee").unwrap();
    scene.ballot("agent:a", "p", "tea").unwrap();
    scene.ballot("agent:b", "p", "tea").unwrap();
    scene.ballot("agent:c", "p", "coffee").unwrap();
    let last = scene.ballot("key:ann", "p", "tea").unwrap();
    scene.is(RoomState::Discussion);
    let closed = RoomEffect::VoteClosed {
        proposal: "p".parse().unwrap(),
        winner: Some("tea".into()),
        tally: vec![3, 1],
    };
    assert!(last.effects.contains(&closed), "{:?}", last.effects);
}

#[test]
fn t8_a_vote_without_a_quorum_has_no_winner() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.vote("key:ann", "p").unwrap();
    scene.ballot("agent:a", "p", "tea").unwrap();
    let events = scene.wait(3_601);
    let winner = events.iter().flat_map(|event| &event.effects).find_map(|effect| match effect {
        RoomEffect::VoteClosed { winner, .. } => Some(winner.clone()),
        _ => None,
    });
    assert_eq!(winner, Some(None));
}

#[test]
fn t9_a_conclusion_waits_for_tasks_and_for_approvers() {
    let settings = RoomSettings { approvers: vec![member("key:ann")], ..RoomSettings::default() };
    let mut scene = Scene::team(settings);
    scene.assign("key:ann", "t1", &["agent:b"], AssignMode::Blocking).unwrap();
    assert_eq!(scene.conclude("agent:a", "42"), Err(RoomRefusal::OpenTasks(1)));
    scene.answer("agent:b", "t1", MessageType::Result).unwrap();
    scene.say("key:ann", "conclude", &["agent:a"]).unwrap();
    scene.conclude("agent:a", "42").unwrap();
    scene.is(RoomState::Concluding);
    scene.simple("key:ann", MessageType::Decline).unwrap();
    scene.is(RoomState::Discussion);
    scene.conclude("agent:a", "43").unwrap();
    scene.simple("key:ann", MessageType::Accept).unwrap();
    scene.is(RoomState::Concluded);
    assert_eq!(scene.room.conclusion.as_deref(), Some("43"));
    let late = scene.say("agent:a", "but", &[]);
    assert_eq!(late, Err(RoomRefusal::Ended(RoomState::Concluded)));
}

#[test]
fn t10_caps_refuse_and_then_end_the_room() {
    let mut scene = Scene::team(RoomSettings { turn_cap: Some(2), ..RoomSettings::default() });
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.say("agent:a", "first", &["agent:b"]).unwrap();
    scene.say("agent:b", "second", &["agent:c"]).unwrap();
    assert_eq!(scene.say("agent:c", "third", &[]), Err(RoomRefusal::Exhausted("turns")));
    assert_eq!(scene.room.next_deadline().unwrap().what, DeadlineKind::Exhausted);
    let mut other = scene.room.clone();
    scene.conclude("agent:c", "what we have").unwrap();
    scene.is(RoomState::Concluded);
    for event in other.tick(at(200)) {
        other.apply(&event).unwrap();
    }
    assert_eq!(other.state(), RoomState::Aborted);
}

#[test]
fn t10_a_budget_and_a_deadline_end_what_they_limit() {
    let budget = RoomBudget { tokens: Some(100), ..RoomBudget::default() };
    let mut scene = Scene::team(RoomSettings { budget: Some(budget), ..RoomSettings::default() });
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    let envelope = scene.envelope("agent:a", MessageType::Discuss);
    let mut envelope = Envelope { content: vec![Part::text("costly")], ..envelope };
    envelope.to = vec![member("agent:b")];
    let cost = Some(RoomBudget { tokens: Some(120), ..RoomBudget::default() });
    scene.take(Posting { envelope, cost, admission: None }).unwrap();
    assert_eq!(scene.say("agent:b", "more", &[]), Err(RoomRefusal::Exhausted("tokens")));
    let mut scene = Scene::team(RoomSettings { deadline: Some(at(100)), ..RoomSettings::default() });
    scene.wait(101);
    scene.is(RoomState::Aborted);
    let member_aborts = Scene::team(RoomSettings::default()).simple("agent:a", MessageType::Abort);
    assert_eq!(member_aborts, Err(RoomRefusal::NotAllowed(MemberRole::Member, RoomVerb::Abort)));
}

#[test]
fn t11_a_person_interrupts_and_the_agent_gets_the_floor_back() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    let agent = scene.simple("agent:b", MessageType::Interrupt);
    assert_eq!(agent, Err(RoomRefusal::NotAllowed(MemberRole::Member, RoomVerb::Interrupt)));
    scene.simple("key:ann", MessageType::Interrupt).unwrap();
    assert_eq!(scene.holder(), Some("key:ann"));
    assert_eq!(scene.say("agent:a", "but", &[]), Err(RoomRefusal::NoFloor(member("key:ann"))));
    scene.say("key:ann", "shorter, please", &[]).unwrap();
    assert_eq!(scene.holder(), Some("agent:a"));
}

#[test]
fn t12_a_concluded_room_continues_and_a_closed_one_only_by_its_owner() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.conclude("key:ann", "done").unwrap();
    scene.simple("agent:b", MessageType::Reopen).unwrap();
    scene.is(RoomState::Discussion);
    assert_eq!(scene.holder(), Some("agent:b"));
    let mut close = scene.envelope("key:ann", MessageType::Close);
    close.close = Some(CloseBlock { summary: "tea".into(), ..CloseBlock::default() });
    scene.post(close).unwrap();
    scene.is(RoomState::Archived);
    assert_eq!(scene.room.conclusion.as_deref(), Some("tea"));
    let refused = scene.simple("agent:b", MessageType::Reopen);
    assert_eq!(refused, Err(RoomRefusal::NotAllowed(MemberRole::Member, RoomVerb::Restore)));
    scene.simple("key:ann", MessageType::Reopen).unwrap();
    scene.is(RoomState::Discussion);
}

#[test]
fn t13_a_silent_floor_is_offered_again_then_passed_on_then_free() {
    let mut scene = Scene::team(RoomSettings { silence_ms: 10_000, ..RoomSettings::default() });
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.wait(10);
    assert_eq!((scene.holder(), scene.room.floor.reoffered), (Some("agent:a"), true));
    scene.wait(10);
    assert_eq!(scene.holder(), Some("agent:b"));
    for _ in 0..20 {
        scene.wait(10);
    }
    assert_eq!(scene.holder(), None, "everybody may speak once all were silent");
    scene.say("agent:c", "I am here", &[]).unwrap();
    assert!(scene.holder().is_some());
}

#[test]
fn an_agent_that_repeats_itself_is_refused() {
    let mut scene = Scene::team(RoomSettings::default());
    let long = "The best way to reach the harbour from here is the tram that leaves every ten minutes";
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.say("agent:a", long, &["agent:a"]).unwrap();
    assert_eq!(scene.say("agent:a", &long.to_uppercase(), &["agent:a"]), Err(RoomRefusal::Repeated));
    scene.say("agent:a", "The walk along the river takes an hour and is beautiful", &["agent:a"]).unwrap();
    scene.say("key:ann", "ok", &["agent:a"]).unwrap();
    scene.say("key:ann", "ok", &["agent:a"]).unwrap();
}

#[test]
fn two_agents_that_only_answer_each_other_are_stopped() {
    let settings = RoomSettings { loop_limit: 4, agent_depth: 100, ..RoomSettings::default() };
    let mut scene = Scene::team(settings);
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    for (turn, (from, to)) in
        [("agent:a", "agent:b"), ("agent:b", "agent:a")].into_iter().cycle().take(4).enumerate()
    {
        scene.say(from, &format!("thought number {turn} of many"), &[to]).unwrap();
    }
    assert_eq!(scene.say("agent:a", "yet another idea", &["agent:b"]), Err(RoomRefusal::Loop(4)));
    scene.say("key:ann", "continue", &["agent:a"]).unwrap();
    scene.say("agent:a", "a fresh start", &["agent:b"]).unwrap();
}

#[test]
fn agents_address_agents_only_so_deep() {
    let mut scene = Scene::team(RoomSettings { agent_depth: 2, ..RoomSettings::default() });
    scene.say("key:ann", "begin", &["agent:a"]).unwrap();
    scene.say("agent:a", "what do you think?", &["agent:b"]).unwrap();
    scene.say("agent:b", "ask the third one", &["agent:c"]).unwrap();
    assert_eq!(scene.say("agent:c", "back to you", &["agent:a"]), Err(RoomRefusal::Depth(2)));
    scene.say("agent:c", "I answer all", &["key:ann"]).unwrap();
}

#[test]
fn roles_may_do_exactly_this() {
    let table: Vec<String> = RoomVerb::ALL
        .iter()
        .map(|verb| {
            let may: Vec<&str> =
                MemberRole::ALL.iter().filter(|role| role.may(*verb)).map(|role| role.word()).collect();
            format!("{}: {}", verb.phrase(), may.join(" "))
        })
        .collect();
    crate::golden::check("room-roles.txt", &(table.join("\n") + "\n"));
}

#[test]
fn an_observer_reads_and_the_last_owner_stays() {
    let mut scene = Scene::team(RoomSettings::default());
    scene.join("key:eve", MemberKind::Person, MemberRole::Observer);
    let refused = scene.say("key:eve", "hello", &[]);
    assert_eq!(refused, Err(RoomRefusal::NotAllowed(MemberRole::Observer, RoomVerb::Send)));
    let mut role = scene.envelope("key:ann", MessageType::Role);
    let extra = crate::JsonMap::new();
    role.role = Some(RoleBlock { member: member("key:ann"), role: MemberRole::Member, extra });
    assert_eq!(scene.post(role), Err(RoomRefusal::LastOwner));
    scene.simple("key:ann", MessageType::Leave).unwrap();
    assert_eq!(scene.room.member(&member("agent:a")).unwrap().role, MemberRole::Owner, "the oldest inherits");
    for agent in ["agent:a", "agent:b", "agent:c"] {
        scene.simple(agent, MessageType::Leave).unwrap();
    }
    scene.is(RoomState::Archived);
}

#[test]
fn a_type_of_a_later_version_is_delivered_without_a_transition() {
    let mut scene = Scene::team(RoomSettings::default());
    let before = scene.room.state();
    let event = scene.simple("key:ann", MessageType::Other("applaud".into())).unwrap();
    assert_eq!((event.state, event.envelope.kind.word()), (before, "applaud"));
    let forged = scene.simple("key:ann", MessageType::Gap);
    assert_eq!(forged, Err(BadEnvelope::OfSite("gap".into()).into()));
}
