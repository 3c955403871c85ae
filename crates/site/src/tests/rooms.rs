//! Rooms of a site whose workers run: agents answer by themselves, and what is private stays so.
//!
//! What rooms do is told in the stories of `rooms`.

use agentsite_protocol::room::{Envelope, MemberId, MemberRole, ReplyMode, RoomSettings};
use agentsite_protocol::{RoomId, Scope};

use super::*;
use crate::{NewRoom, RoomError};

fn key(name: &str) -> Caller {
    Caller::key(&name.parse().unwrap(), [Scope::Call])
}

fn member(name: &str) -> MemberId {
    name.parse().unwrap()
}

#[tokio::test]
async fn an_agent_of_the_site_answers_in_a_room_by_itself() {
    let story = Story::begin().await;
    story.agent("echo", echo());
    story.site.start().await.unwrap();
    let settings = RoomSettings {
        reply_mode: ReplyMode::Default,
        default_agent: Some(member("agent:echo")),
        ..RoomSettings::default()
    };
    let members = vec![(member("agent:echo"), MemberRole::Member)];
    let new = NewRoom { title: "Plans".into(), settings, goal: None, members };
    let rooms = story.site.rooms();
    let room: RoomId = rooms.create(&key("ann"), new).await.unwrap().id.parse().unwrap();
    let said = Envelope::discuss("m1".parse().unwrap(), room, member("key:ann"), story.clock.now(), "hello");
    let posted = rooms.post(&key("ann"), said).await.unwrap();
    let mut watch = rooms.follow(&key("ann"), room, posted.seq).await.unwrap();
    let answer = watch.next().await.unwrap().events.remove(0);
    assert_eq!(answer.envelope.sender_id, member("agent:echo"));
    assert_eq!(answer.envelope.plain_text(), "hello");
    assert_eq!(answer.envelope.reply_to, Some("m1".parse().unwrap()));
    assert!(
        matches!(rooms.get(&Caller::local(), room).await, Err(RoomError::NoSuchRoom(_))),
        "not even admins"
    );
}

#[tokio::test]
async fn an_agent_that_the_caller_may_not_call_cannot_be_invited() {
    let story = Story::begin().await;
    let members = vec![(member("agent:none"), MemberRole::Member)];
    let new = NewRoom { title: "Plans".into(), members, ..NewRoom::default() };
    let refused = story.site.rooms().create(&key("ann"), new).await;
    assert!(matches!(refused, Err(RoomError::Task(_))), "{refused:?}");
}
