//! Properties of the machine for any sequence of messages and pauses: events are dense and replay gives the
//! same room, a refusal changes nothing, a room that has not ended names a deadline, and a room that its
//! members leave alone ends.

use std::time::Duration;

use proptest::prelude::*;

use super::machine::{Scene, member};
use crate::room::*;
use crate::{JsonMap, Part};

const MEMBERS: [&str; 5] = ["key:ann", "agent:a", "agent:b", "agent:c", "key:new"];
const TASKS: [&str; 3] = ["t1", "t2", "t3"];

/// Most steps until a room that is left alone has ended: every open thing once, twice each speaker for the
/// floor, and the room itself.
const MAX_STEPS: usize = 200;

#[derive(Debug, Clone)]
struct Action {
    from: usize,
    to: usize,
    task: usize,
    what: usize,
    flag: bool,
    seconds: u64,
}

fn actions() -> impl Strategy<Value = Vec<Action>> {
    let action = (0..MEMBERS.len(), 0..MEMBERS.len(), 0..TASKS.len(), 0..24_usize, any::<bool>(), 0..200_u64);
    prop::collection::vec(
        action.prop_map(|(from, to, task, what, flag, seconds)| Action {
            from,
            to,
            task,
            what,
            flag,
            seconds,
        }),
        0..60,
    )
}

fn settings() -> impl Strategy<Value = RoomSettings> {
    (0..3_u8, 1..3_u16, prop::option::of(1..20_u32), any::<bool>(), any::<bool>()).prop_map(
        |(floor, quorum, turn_cap, approval, ends)| RoomSettings {
            floor: [FloorPolicy::Free, FloorPolicy::RoundRobin, FloorPolicy::Moderator][usize::from(floor)],
            moderator: Some(member("agent:a")),
            quorum,
            turn_cap,
            approvers: if approval { vec![member("key:ann"), member("agent:b")] } else { Vec::new() },
            deadline: ends.then(|| super::machine::at(2_000)),
            loop_limit: 5,
            agent_depth: 5,
            ..RoomSettings::default()
        },
    )
}

fn fill(envelope: &mut Envelope, action: &Action) {
    let (other, task) = (member(MEMBERS[action.to]), TASKS[action.task]);
    let extra = JsonMap::new();
    match envelope.kind {
        MessageType::Discuss => {
            envelope.content = vec![Part::text(format!("{} of {}", action.seconds, action.task))];
            envelope.to = if action.flag { vec![other] } else { Vec::new() };
        }
        MessageType::Assign => {
            let mode = if action.flag { AssignMode::Blocking } else { AssignMode::Detached };
            let accept_by =
                action.seconds.is_multiple_of(3).then(|| envelope.ts.plus(Duration::from_secs(5)));
            let task_desc = "work".to_owned();
            let block =
                AssignBlock { task_desc, mode, assignees: vec![other], accept_by, ..AssignBlock::default() };
            envelope.assign = Some(block);
        }
        MessageType::Pause => {
            let on_timeout = if action.flag { TimeoutAction::Resume } else { TimeoutAction::Abort };
            let triggers = TASKS.iter().map(|task| task.parse().unwrap()).collect();
            envelope.pause =
                Some(PauseBlock { triggers, on_timeout, need: TriggerNeed::Any, ..PauseBlock::default() });
        }
        MessageType::Vote => {
            let (proposal_id, options) = ("p".parse().unwrap(), vec!["x".into(), "y".into()]);
            envelope.vote = Some(VoteBlock { proposal_id, options, quorum: None, closes_at: None, extra });
        }
        MessageType::Ballot => {
            let option = if action.flag { "x" } else { "y" }.into();
            envelope.ballot = Some(BallotBlock { proposal_id: "p".parse().unwrap(), option, extra });
        }
        MessageType::Conclude => {
            let (answer, force) = ("end".to_owned(), action.flag);
            envelope.conclude = Some(ConcludeBlock { answer, force, ..ConcludeBlock::default() });
        }
        MessageType::Invite => {
            let (kind, role) = (MemberKind::Agent, MemberRole::Member);
            envelope.invite = Some(InviteBlock { member: other, kind, role, deadline: None, extra });
        }
        MessageType::Remove => envelope.remove = Some(RemoveBlock { member: other, extra }),
        MessageType::Role => {
            let role = MemberRole::ALL[action.task];
            envelope.role = Some(RoleBlock { member: other, role, extra });
        }
        _ => {}
    }
    let about_task = matches!(
        envelope.kind,
        MessageType::Assign
            | MessageType::Progress
            | MessageType::Result
            | MessageType::Fail
            | MessageType::Cancel
    );
    let answers = matches!(envelope.kind, MessageType::Accept | MessageType::Decline) && action.flag;
    if about_task || answers {
        envelope.task_id = Some(task.parse().unwrap());
    }
}

/// Runs the actions; each either gives an event or changes nothing.
fn run(settings: RoomSettings, actions: &[Action]) -> Result<Scene, TestCaseError> {
    let mut scene = Scene::new(settings);
    for agent in ["agent:a", "agent:b"] {
        let envelope = scene.envelope(agent, MessageType::Join);
        let admission = Some(RoomAdmission { kind: MemberKind::Agent, role: MemberRole::Member });
        scene.take(Posting { envelope, cost: None, admission }).unwrap();
    }
    for action in actions {
        let before = scene.room.clone();
        if action.what == 23 {
            scene.now = scene.now.plus(Duration::from_secs(action.seconds));
            for event in scene.room.tick(scene.now) {
                scene.room.apply(&event).unwrap();
                scene.log.push(event);
            }
        } else {
            let kind = MessageType::KNOWN[action.what].clone();
            let mut envelope = scene.envelope(MEMBERS[action.from], kind);
            fill(&mut envelope, action);
            if scene.post(envelope).is_err() {
                prop_assert_eq!(&scene.room, &before, "a refusal changes nothing");
            }
        }
        let ended = scene.room.state().is_ended();
        prop_assert_eq!(scene.room.next_deadline().is_none(), ended, "in {}", scene.room.state());
        if !ended {
            prop_assert!(
                scene.room.members.values().any(|member| member.role == MemberRole::Owner),
                "a room has an owner"
            );
        }
    }
    Ok(scene)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

    #[test]
    fn every_room_ends_or_waits_on_a_named_deadline(settings in settings(), actions in actions()) {
        let mut scene = run(settings, &actions)?;
        let mut steps = 0;
        while let Some(due) = scene.room.next_deadline() {
            steps += 1;
            prop_assert!(steps <= MAX_STEPS, "left alone, the room waits for ever on {due:?}");
            scene.now = scene.now.max(due.at);
            let events = scene.room.tick(scene.now);
            prop_assert!(!events.is_empty(), "nothing happens at {due:?}");
            for event in events {
                scene.room.apply(&event).unwrap();
                scene.log.push(event);
            }
        }
        prop_assert!(scene.room.state().is_ended());
    }

    #[test]
    fn events_are_dense_and_replay_gives_the_same_room(settings in settings(), actions in actions()) {
        let scene = run(settings, &actions)?;
        prop_assert!(scene.log.iter().zip(1..).all(|(event, seq)| event.seq == seq));
        let mut chain = ChainHash::start(scene.room.id);
        let mut read = Vec::new();
        for event in &scene.log {
            let bytes = event.canonical().unwrap();
            chain = chain.next(&bytes);
            read.push(RoomEvent::read(&bytes).unwrap());
        }
        prop_assert_eq!(&read, &scene.log, "events survive their stored form");
        prop_assert_eq!(&Room::replay(&read).unwrap().unwrap(), &scene.room);
        prop_assert_eq!(Room::from_snapshot(&scene.room.snapshot()).unwrap(), scene.room);
    }

    #[test]
    fn the_owner_can_always_move_a_room(settings in settings(), actions in actions()) {
        let mut scene = run(settings, &actions)?;
        let owner = scene.room.members.iter().find(|(_, member)| member.role == MemberRole::Owner);
        let Some((owner, _)) = owner.map(|(id, member)| (id.clone(), member.clone())) else { return Ok(()) };
        let kind = if scene.room.state().is_ended() { MessageType::Reopen } else { MessageType::Abort };
        let envelope = scene.envelope(owner.as_str(), kind);
        scene.post(envelope).unwrap();
    }
}
