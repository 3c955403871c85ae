//! Gossip: how gossipsub is set up to spread records.
//!
//! Promises: every message is signed by the site that published it and is passed on only after our verdict.
//! There is one topic; others are not kept, however many a peer names. A peer whose messages are rejected
//! twice within a minute is not listened to. Messages are at most [`MAX_TRANSMISSION`] bytes.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::Duration;

use agentsite_mesh::limits::MAX_MESSAGE;
use libp2p::gossipsub::{
    self, ConfigBuilder, IdentTopic, IdentityTransform, MaxCountSubscriptionFilter, Message,
    MessageAuthenticity, MessageId, PeerScoreParams, PeerScoreThresholds, TopicScoreParams, ValidationMode,
    WhitelistSubscriptionFilter,
};
use libp2p::identity::Keypair;
use sha2::{Digest as _, Sha256};

use crate::settings::P2pSettings;

/// Largest transmission: a message, and the topic, author, key and signature around it.
const MAX_TRANSMISSION: usize = MAX_MESSAGE + (2 << 10);
/// Topics a peer may name at once: ours, and a few of a later version.
const MAX_TOPICS: usize = 4;
/// Subscriptions in one transmission.
const MAX_SUBSCRIPTIONS: usize = 16;
/// Transmissions that wait for one peer; a slow one loses them and some score.
const QUEUE: usize = 512;
/// How long a message is known by its id. Longer than its way through any network.
const DUPLICATES: Duration = Duration::from_secs(120);
/// From this size on, neighbours are asked not to send what came from another already. A lease has 258 bytes
/// and the request 40.
const IDONTWANT: usize = 512;

/// Gossipsub as it is used here.
pub(crate) type Gossip =
    gossipsub::Behaviour<IdentityTransform, MaxCountSubscriptionFilter<WhitelistSubscriptionFilter>>;

/// The topic of a network.
pub(crate) fn topic(network: &str) -> IdentTopic {
    IdentTopic::new(format!("/agentsite/records/1/{network}"))
}

/// The id of a message is that of its content: two sites that publish the same records send one message.
fn id(message: &Message) -> MessageId {
    MessageId::from(Sha256::digest(&message.data).to_vec())
}

/// Sets gossipsub up, subscribed to the topic of the network.
pub(crate) fn build(keypair: &Keypair, settings: &P2pSettings) -> Result<Gossip, String> {
    let topic = topic(&settings.network);
    let filter = MaxCountSubscriptionFilter {
        filter: WhitelistSubscriptionFilter(HashSet::from([topic.hash()])),
        max_subscribed_topics: MAX_TOPICS,
        max_subscriptions_per_request: MAX_SUBSCRIPTIONS,
    };
    // A mesh of four: each message arrives some four times at most, and one lost neighbour is not noticed.
    let config = ConfigBuilder::default()
        .validation_mode(ValidationMode::Strict)
        .validate_messages()
        .message_id_fn(id)
        .mesh_n(4)
        .mesh_n_low(3)
        .mesh_n_high(6)
        .mesh_outbound_min(2)
        .gossip_lazy(4)
        .flood_publish(false)
        .heartbeat_initial_delay(Duration::from_millis(100))
        .heartbeat_interval(Duration::from_millis(700))
        .duplicate_cache_time(DUPLICATES)
        .max_transmit_size(MAX_TRANSMISSION)
        .max_publish_messages(64)
        .max_control_messages_sent(256)
        .connection_handler_queue_len(QUEUE)
        .idontwant_message_size_threshold(IDONTWANT)
        .build()
        .map_err(|error| error.to_string())?;
    let authenticity = MessageAuthenticity::Signed(keypair.clone());
    let mut gossip =
        Gossip::new_with_subscription_filter(authenticity, config, filter).map_err(str::to_owned)?;
    gossip.with_peer_score(scores(&topic, settings), thresholds())?;
    gossip.subscribe(&topic).map_err(|error| error.to_string())?;
    Ok(gossip)
}

/// Below −10 a peer gets no hints, below −20 nothing that is published here, and below −40 it is not listened
/// to: that is two rejected messages.
fn thresholds() -> PeerScoreThresholds {
    PeerScoreThresholds {
        gossip_threshold: -10.0,
        publish_threshold: -20.0,
        graylist_threshold: -40.0,
        accept_px_threshold: 10.0,
        opportunistic_graft_threshold: 1.0,
    }
}

fn scores(topic: &IdentTopic, settings: &P2pSettings) -> PeerScoreParams {
    let minutes = |count: u64| gossipsub::score_parameter_decay(Duration::from_secs(60 * count));
    let records = TopicScoreParams {
        topic_weight: 1.0,
        // An hour in the mesh is worth 3.6, half of a useful message each second.
        time_in_mesh_weight: 0.001,
        time_in_mesh_quantum: Duration::from_secs(1),
        time_in_mesh_cap: 3_600.0,
        first_message_deliveries_weight: 0.1,
        first_message_deliveries_decay: minutes(10),
        first_message_deliveries_cap: 50.0,
        // A quiet network has no deliveries to count, so that there are few is not held against a peer.
        mesh_message_deliveries_weight: 0.0,
        mesh_failure_penalty_weight: 0.0,
        // One rejected message is −12, two are −48.
        invalid_message_deliveries_weight: -12.0,
        invalid_message_deliveries_decay: minutes(10),
        ..TopicScoreParams::default()
    };
    PeerScoreParams {
        topics: HashMap::from([(topic.hash(), records)]),
        topic_score_cap: 10.0,
        app_specific_weight: 1.0,
        // Sites of one private network may share an address; on the open internet five may.
        ip_colocation_factor_weight: if settings.allow_private_addresses { 0.0 } else { -5.0 },
        ip_colocation_factor_threshold: 5.0,
        // Only sites on this machine come from here.
        ip_colocation_factor_whitelist: HashSet::from([
            IpAddr::V4(Ipv4Addr::LOCALHOST),
            IpAddr::V6(Ipv6Addr::LOCALHOST),
        ]),
        behaviour_penalty_weight: -10.0,
        behaviour_penalty_threshold: 2.0,
        behaviour_penalty_decay: minutes(5),
        retain_score: Duration::from_secs(60 * 60),
        ..PeerScoreParams::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gossip_is_set_up_with_what_the_parts_accept() {
        let keypair = Keypair::ed25519_from_bytes([1; 32]).unwrap();
        let gossip = build(&keypair, &P2pSettings::default()).unwrap();
        assert_eq!(gossip.topics().count(), 1);
        thresholds().validate().unwrap();
        for allow_private_addresses in [false, true] {
            let settings = P2pSettings { allow_private_addresses, ..P2pSettings::default() };
            scores(&topic("x"), &settings).validate().unwrap();
        }
    }
}
