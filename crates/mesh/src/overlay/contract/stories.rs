//! The stories of the contract: each starts its own sites and stops them.
//!
//! Promises: no story depends on another one. They do not test how fast an overlay is.

use std::future::Future;
use std::time::Duration;

use futures::future::{Either, select};
use futures::{AsyncReadExt as _, AsyncWriteExt as _, StreamExt as _, pin_mut};

use super::{Harness, Node, again_until, within};
use crate::limits::{MAX_LIFETIME, MAX_MESSAGE};
use crate::overlay::{GossipTicket, LinkStream, OverlayError, OverlayEvent, Verdict};
use crate::record::{Candidate, RecordId};
use crate::site_id::SiteId;
use crate::story::at;
use crate::wire::Message;

/// Tells every story.
///
/// # Panics
/// When the overlay does not keep its promise.
pub async fn run(harness: &dyn Harness) {
    both_ends_of_a_connection_know_each_other(harness).await;
    messages_arrive_whole_and_in_order(harness).await;
    gossip_goes_further_only_when_it_was_accepted(harness).await;
    what_came_by_gossip_is_not_published_again(harness).await;
    a_banned_peer_comes_back_only_when_it_is_allowed(harness).await;
    bytes_flow_both_ways_through_a_stream(harness).await;
    a_stream_ends_with_its_connection(harness).await;
    a_wrong_address_is_an_error(harness).await;
    an_overlay_that_stopped_says_so(harness).await;
}

/// Two sites, connected.
async fn two(harness: &dyn Harness, numbers: [u64; 2]) -> [Node; 2] {
    let [mut one, mut other] = [harness.start(numbers[0]).await, harness.start(numbers[1]).await];
    let found = within(harness, "a dial", one.overlay.dial(&other.address)).await.unwrap();
    assert_eq!(found, other.id(), "a dial says who answered");
    one.until_connected(harness, other.id()).await;
    other.until_connected(harness, one.id()).await;
    [one, other]
}

/// Three sites in a line: the ends cannot connect with each other.
async fn line(harness: &dyn Harness, numbers: [u64; 3]) -> [Node; 3] {
    let mut left = harness.start(numbers[0]).await;
    let mut middle = harness.start(numbers[1]).await;
    let mut right = harness.start(numbers[2]).await;
    let until = Some(at(0).plus(100 * 365 * MAX_LIFETIME));
    left.overlay.disconnect(right.id(), until).await;
    right.overlay.disconnect(left.id(), until).await;
    left.overlay.dial(&middle.address).await.unwrap();
    right.overlay.dial(&middle.address).await.unwrap();
    left.until_connected(harness, middle.id()).await;
    right.until_connected(harness, middle.id()).await;
    let mut missing = vec![left.id(), right.id()];
    middle
        .until(harness, "both neighbours", |event| {
            if let OverlayEvent::Connected { peer } = event {
                missing.retain(|site| *site != peer);
            }
            missing.is_empty().then_some(())
        })
        .await;
    [left, middle, right]
}

async fn stop(harness: &dyn Harness, nodes: impl IntoIterator<Item = Node>) {
    for node in nodes {
        within(harness, "a stop", node.overlay.stop()).await;
    }
}

async fn both_ends_of_a_connection_know_each_other(harness: &dyn Harness) {
    let [one, other] = two(harness, [101, 102]).await;
    for (node, peer) in [(&one, other.id()), (&other, one.id())] {
        let peers = node.overlay.peers().await;
        assert_eq!(peers.iter().map(|status| status.site).collect::<Vec<_>>(), [peer]);
        assert!(!peers[0].address.is_empty() && !peers[0].is_relayed);
    }
    let again = within(harness, "a second dial", one.overlay.dial(&other.address)).await.unwrap();
    assert_eq!(again, other.id());
    assert_eq!(one.overlay.peers().await.len(), 1, "a second dial makes no second peer");
    stop(harness, [one, other]).await;
}

async fn messages_arrive_whole_and_in_order(harness: &dyn Harness) {
    let [one, mut other] = two(harness, [111, 112]).await;
    let largest = vec![7; MAX_MESSAGE - 2];
    one.overlay.send(other.id(), Message::Query(largest.clone())).await.unwrap();
    for number in 0..20 {
        one.overlay.send(other.id(), Message::Answer(vec![number])).await.unwrap();
    }
    let mut received = Vec::new();
    other
        .until(harness, "all messages", |event| {
            if let OverlayEvent::Received { peer, message } = event {
                assert_eq!(peer, one.id());
                received.push(message);
            }
            (received.len() == 21).then_some(())
        })
        .await;
    assert!(matches!(&received[0], Message::Query(frame) if *frame == largest));
    for (number, message) in (0..20).zip(&received[1..]) {
        assert!(matches!(message, Message::Answer(frame) if frame == &[number]), "{message:?}");
    }
    let stranger_id = crate::story::Site::new(999_999).id;
    let sent = within(
        harness,
        "a message to an unknown site",
        one.overlay.send(stranger_id, Message::Answer(vec![1])),
    )
    .await;
    assert!(matches!(sent, Ok(()) | Err(OverlayError::Unreachable { .. })), "{sent:?}");
    stop(harness, [one, other]).await;
}

async fn gossip_goes_further_only_when_it_was_accepted(harness: &dyn Harness) {
    let [left, mut middle, mut right] = line(harness, [121, 122, 123]).await;
    let mut number = 0;
    let publish = |number: u64| {
        let record = left.site.lease(number, at(0));
        let overlay = left.overlay.clone();
        async move { overlay.publish(record, None).await.unwrap() }
    };
    // Ignored in the middle: it does not reach the right.
    let ignored = again_until(
        harness,
        "gossip at the neighbour",
        &mut middle,
        || {
            number += 1;
            publish(number)
        },
        gossiped,
    )
    .await;
    assert_eq!(ignored.0, left.id());
    middle.overlay.judge(ignored.1, Verdict::Ignore).await;
    // Accepted in the middle: what reaches the right comes from there, and is what was accepted.
    let mut accepted = Vec::new();
    for _ in 0..300 {
        number += 1;
        publish(number).await;
        let (_, ticket, ids) = middle.until(harness, "gossip at the neighbour", gossiped).await;
        accepted.extend(ids);
        middle.overlay.judge(ticket, Verdict::Accept).await;
        let pause = harness.sleep(Duration::from_millis(200));
        if let Some((from, _, ids)) = next_gossip(&mut right, pause).await {
            assert_eq!(from, middle.id(), "it came from the neighbour");
            assert!(ids.iter().all(|id| accepted.contains(id)), "only what was accepted");
            return stop(harness, [left, middle, right]).await;
        }
    }
    panic!("gossip that was accepted did not reach the other end");
}

async fn what_came_by_gossip_is_not_published_again(harness: &dyn Harness) {
    let [left, mut middle, mut right] = line(harness, [131, 132, 133]).await;
    let mut number = 0;
    let (from, _, ids) = again_until(
        harness,
        "gossip at the neighbour",
        &mut middle,
        || {
            number += 1;
            let record = left.site.lease(number, at(0));
            let overlay = left.overlay.clone();
            async move { overlay.publish(record, None).await.unwrap() }
        },
        gossiped,
    )
    .await;
    let known = left.site.lease(number, at(0));
    assert!(ids.contains(&known.id()) || number > 1);
    let heard: Vec<_> = (1..=number).map(|number| left.site.lease(number, at(0))).collect();
    let heard = heard.into_iter().find(|record| ids.contains(&record.id())).unwrap();
    // The middle has it by gossip, and says what the catalogue says: hand it on.
    middle.overlay.publish(heard.clone(), Some(from)).await.unwrap();
    let mut own = 0;
    let arrived = again_until(
        harness,
        "a record of the middle",
        &mut right,
        || {
            own += 1;
            let record = middle.site.lease(own, at(0));
            let overlay = middle.overlay.clone();
            async move { overlay.publish(record, None).await.unwrap() }
        },
        gossiped,
    )
    .await;
    assert!(!arrived.2.contains(&heard.id()), "what came by gossip waits for its verdict");
    stop(harness, [left, middle, right]).await;
}

async fn a_banned_peer_comes_back_only_when_it_is_allowed(harness: &dyn Harness) {
    let [mut one, mut other] = two(harness, [141, 142]).await;
    let until = at(0).plus(100 * 365 * MAX_LIFETIME);
    one.overlay.disconnect(other.id(), Some(until)).await;
    one.until_gone(harness, other.id()).await;
    other.until_gone(harness, one.id()).await;
    let refused = within(harness, "a refusal", one.overlay.dial(&other.address)).await;
    assert!(matches!(refused, Err(OverlayError::Banned(site)) if site == other.id()), "{refused:?}");
    // A transport may find out only after the handshake that it is refused; then the connection ends at once.
    let _ = within(harness, "a refusal", other.overlay.dial(&one.address)).await;
    assert!(one.overlay.peers().await.is_empty(), "a banned peer is not connected");
    one.overlay.allow(other.id()).await;
    let address = one.address.clone();
    again_until(
        harness,
        "a connection after the ban",
        &mut one,
        || {
            let (overlay, address) = (other.overlay.clone(), address.clone());
            async move { drop(overlay.dial(&address).await) }
        },
        |event| matches!(event, OverlayEvent::Connected { .. }).then_some(()),
    )
    .await;
    stop(harness, [one, other]).await;
}

/// Gossip: the neighbour, the ticket and the records.
type Gossiped = (SiteId, GossipTicket, Vec<RecordId>);

fn gossiped(event: OverlayEvent) -> Option<Gossiped> {
    match event {
        OverlayEvent::Gossip { peer, message: Message::Push(batch), ticket } => {
            Some((peer, ticket, batch.records.iter().map(Candidate::id).collect()))
        }
        _ => None,
    }
}

/// The next gossip of a node, if it comes before the pause is over.
async fn next_gossip(node: &mut Node, pause: impl Future<Output = ()>) -> Option<Gossiped> {
    pin_mut!(pause);
    loop {
        match select(node.events.next(), &mut pause).await {
            Either::Left((event, _)) => {
                if let Some(found) = gossiped(event?) {
                    return Some(found);
                }
            }
            Either::Right(_) => return None,
        }
    }
}

fn stream(event: OverlayEvent) -> Option<(SiteId, Box<dyn LinkStream>)> {
    match event {
        OverlayEvent::Stream { peer, stream } => Some((peer, stream)),
        _ => None,
    }
}

async fn bytes_flow_both_ways_through_a_stream(harness: &dyn Harness) {
    let [one, mut other] = two(harness, [151, 152]).await;
    let mut near = within(harness, "a stream", one.overlay.open(other.id())).await.unwrap();
    near.write_all(b"ping").await.unwrap();
    near.flush().await.unwrap();
    let (peer, mut far) = other.until(harness, "a stream", stream).await;
    assert_eq!(peer, one.id());
    let large: Vec<u8> = (0..1_000_000_u32).map(|byte| byte.to_le_bytes()[0]).collect();
    let exchange = async {
        let mut four = [0; 4];
        far.read_exact(&mut four).await.unwrap();
        assert_eq!(&four, b"ping");
        let answer = async {
            far.write_all(&large).await.unwrap();
            far.close().await.unwrap();
        };
        let mut received = Vec::new();
        let (_, read) = futures::join!(answer, near.read_to_end(&mut received));
        read.unwrap();
        assert!(received == large, "a megabyte came back whole");
        near.close().await.unwrap();
        assert_eq!(far.read(&mut four).await.unwrap(), 0, "closed at both ends");
    };
    within(harness, "an exchange", exchange).await;
    drop((near, far));
    stop(harness, [one, other]).await;
}

async fn a_stream_ends_with_its_connection(harness: &dyn Harness) {
    let [one, mut other] = two(harness, [161, 162]).await;
    let mut near = within(harness, "a stream", one.overlay.open(other.id())).await.unwrap();
    near.write_all(b"x").await.unwrap();
    near.flush().await.unwrap();
    let (_, mut far) = other.until(harness, "a stream", stream).await;
    one.overlay.disconnect(other.id(), None).await;
    let mut byte = [0; 8];
    let end = async { while !matches!(far.read(&mut byte).await, Ok(0) | Err(_)) {} };
    within(harness, "the end of a stream", end).await;
    stop(harness, [one, other]).await;
}

async fn a_wrong_address_is_an_error(harness: &dyn Harness) {
    let node = harness.start(171).await;
    let nonsense = within(harness, "an answer", node.overlay.dial("no address at all")).await;
    assert!(matches!(nonsense, Err(OverlayError::BadAddress(_))), "{nonsense:?}");
    let dead = within(harness, "an answer", node.overlay.dial(&harness.dead_address())).await;
    assert!(matches!(dead, Err(OverlayError::Unreachable { .. })), "{dead:?}");
    let stranger_id = crate::story::Site::new(999_999).id;
    let opened = within(harness, "an answer", node.overlay.open(stranger_id)).await;
    assert!(matches!(opened.err(), Some(OverlayError::Unreachable { .. })));
    stop(harness, [node]).await;
}

async fn an_overlay_that_stopped_says_so(harness: &dyn Harness) {
    let [mut one, mut other] = two(harness, [181, 182]).await;
    within(harness, "a stop", one.overlay.stop()).await;
    within(harness, "a second stop", one.overlay.stop()).await;
    other.until_gone(harness, one.id()).await;
    let end = async { while one.events.next().await.is_some() {} };
    within(harness, "the end of the events", end).await;
    let sent = one.overlay.send(other.id(), Message::Answer(vec![1])).await;
    assert!(matches!(sent, Err(OverlayError::Stopped(_))), "{sent:?}");
    let dialed = one.overlay.dial(&other.address).await;
    assert!(matches!(dialed, Err(OverlayError::Stopped(_))), "{dialed:?}");
    assert!(one.overlay.peers().await.is_empty());
    stop(harness, [other]).await;
}
