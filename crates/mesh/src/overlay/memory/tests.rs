//! Tests of the network in memory: the contract, and what only this network can do.
//!
//! They run without a timer: nothing takes time here.

use super::*;
use crate::overlay::contract::{Harness, Node, run};
use crate::story::{Site, at};
use futures::executor::block_on;

#[derive(Debug)]
struct Still;

impl Clock for Still {
    fn now(&self) -> Timestamp {
        at(0)
    }
}

struct InMemory(MemoryNetwork);

#[async_trait]
impl Harness for InMemory {
    async fn start(&self, number: u64) -> Node {
        let site = Site::new(number);
        let (overlay, events) = self.0.join(site.id);
        Node { address: MemoryNetwork::address(site.id), site, overlay, events }
    }

    fn dead_address(&self) -> String {
        MemoryNetwork::address(Site::new(999_998).id)
    }

    /// Nothing takes time in this network: what has not happened when nothing is left to do never will.
    async fn sleep(&self, duration: Duration) {
        if duration == crate::overlay::contract::PATIENCE {
            std::future::pending::<()>().await;
        }
    }
}

#[test]
fn the_network_in_memory_keeps_the_contract() {
    block_on(run(&InMemory(MemoryNetwork::new(Arc::new(Still)))));
}

#[test]
fn a_silent_link_takes_messages_in_one_direction_and_nobody_notices() {
    let network = MemoryNetwork::new(Arc::new(Still));
    let (one, other) = (Site::new(1).id, Site::new(2).id);
    let ((left, mut at_left), (right, mut at_right)) = (network.join(one), network.join(other));
    network.connect(one, other);
    network.silence(one, other);
    block_on(async {
        left.send(other, Message::Answer(vec![1])).await.unwrap();
        right.send(one, Message::Answer(vec![2])).await.unwrap();
        assert!(matches!(at_left.next().await, Some(OverlayEvent::Connected { .. })));
        assert!(matches!(at_left.next().await, Some(OverlayEvent::Received { .. })));
        assert!(matches!(at_right.next().await, Some(OverlayEvent::Connected { .. })));
        network.heal(one, other);
        left.send(other, Message::Answer(vec![3])).await.unwrap();
        let next = at_right.next().await;
        assert!(
            matches!(&next, Some(OverlayEvent::Received { message: Message::Answer(frame), .. }) if frame == &[3]),
            "{next:?}"
        );
        assert_eq!(left.peers().await[0].bytes, (3, 6), "what vanished was sent");
    });
}

#[test]
fn a_cut_ends_a_connection_until_it_is_healed() {
    let network = MemoryNetwork::new(Arc::new(Still));
    let (one, other) = (Site::new(1).id, Site::new(2).id);
    let ((left, _events), _right) = (network.join(one), network.join(other));
    network.connect(one, other);
    network.cut(one, other);
    block_on(async {
        assert!(left.dial(&MemoryNetwork::address(other)).await.is_err());
        network.heal(one, other);
        assert_eq!(left.dial(&MemoryNetwork::address(other)).await.unwrap(), other);
    });
}

#[test]
fn lost_messages_are_about_as_many_as_the_weather_says() {
    let weather = Weather { loss_percent: 30, seed: 7, ..Weather::default() };
    let network = MemoryNetwork::with_weather(Arc::new(Still), weather);
    let (one, other) = (Site::new(1).id, Site::new(2).id);
    let ((left, _events), (right, _at_right)) = (network.join(one), network.join(other));
    network.connect(one, other);
    block_on(async {
        for _ in 0..1_000 {
            left.send(other, Message::Answer(vec![])).await.unwrap();
        }
        let arrived = right.peers().await[0].bytes.0 / 2;
        assert!((600..800).contains(&arrived), "{arrived} of 1,000");
    });
}
