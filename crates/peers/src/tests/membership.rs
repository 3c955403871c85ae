//! Peers that are added, banned, invited and moved to another network or key.
//!
//! What a real network does is tested with the binary.

use agentsite_mesh::story::Site as Keys;
use agentsite_protocol::{Caller, KeyId, Visibility};

use super::*;
use crate::PeersError;

#[tokio::test(start_paused = true)]
async fn only_admins_manage_peers() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    let stranger =
        Caller::peer(agentsite_protocol::Principal::peer(&there.id.to_string()).unwrap(), true, []);
    let key = Caller::key(&"k1".parse::<KeyId>().unwrap(), [agentsite_protocol::Scope::Call]);
    for caller in [stranger, key] {
        let refused = [
            here.peers.add(&caller, &there.address()).await.err(),
            here.peers.ban(&caller, &there.id.to_string()).await.err(),
            here.peers.allow(&caller, &there.id.to_string()).await.err(),
            here.peers.join(&caller, "agentsite://join/x").await.err(),
            here.peers.invite(&caller).await.err(),
            here.peers.view(&caller).await.err(),
        ];
        assert!(refused.iter().all(|error| matches!(error, Some(PeersError::Forbidden))), "{refused:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_banned_site_loses_connection_agents_and_calls_until_it_is_allowed_also_after_a_restart() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    here.peers.ban(&Caller::admin(), "Site 2").await.unwrap();
    here.lists(&[]).await;
    assert!(matches!(here.peers.caller_on_stream(&there.id.to_string(), None), Err(PeersError::Banned(_))));
    let here = here.crash(&world, 1).await;
    // Whether dialing fails or the connection ends at once is the overlay's matter.
    let _ = there.peers.add(&Caller::admin(), &here.address()).await;
    until("the connection ends", || async { here.view().await.peers.iter().all(|peer| !peer.connected) })
        .await;
    assert_eq!(here.names().await, Vec::<String>::new());
    here.peers.allow(&Caller::admin(), &there.id.to_string()).await.unwrap();
    here.lists(&["calc"]).await;
    assert!(here.peers.caller_on_stream(&there.id.to_string(), None).is_ok());
}

#[tokio::test(start_paused = true)]
async fn an_added_peer_is_dialed_again_when_it_returns() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    here.add(&there).await;
    let connected = || async { here.view().await.peers.iter().any(|peer| peer.connected && peer.added) };
    until("both are connected", connected).await;
    world.transport.open.cut(here.id, there.id);
    until("they are not", || async { !connected().await }).await;
    world.transport.open.heal(here.id, there.id);
    until("they are again", connected).await;
}

#[tokio::test(start_paused = true)]
async fn a_site_joins_a_private_network_by_an_invite() {
    let world = World::new();
    let settings = MeshSettings { network: Some("team".into()), ..MeshSettings::default() };
    let host = Node::start_private(&world, 1, settings, "sixteen letters!").await;
    host.agents.put("calc", Visibility::Public, "Adds numbers");
    let guest = world.site(2).await;
    assert!(guest.peers.add(&Caller::admin(), &host.address()).await.is_err(), "another network");
    let link = host.peers.invite(&Caller::admin()).await.unwrap().link();
    guest.peers.join(&Caller::admin(), &link).await.unwrap();
    guest.lists(&["calc"]).await;
    assert_eq!(guest.view().await.network.as_deref(), Some("team"));
    let guest = guest.crash(&world, 2).await;
    assert!(guest.view().await.private, "the network is kept");
    let other = host
        .peers
        .join(&Caller::admin(), &world.site(3).await.peers.invite(&Caller::admin()).await.unwrap().link())
        .await;
    assert!(other.unwrap_err().to_string().contains("network_key_file"), "the operator set the network");
}

#[tokio::test(start_paused = true)]
async fn a_site_with_a_new_key_is_another_site_and_its_old_agents_go() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    let new = Keys::new(77);
    *there.agents.key.lock().unwrap() = new.key.clone();
    until("it runs under its new name", || async { there.view().await.site == new.id.to_string() }).await;
    there.add(&here).await;
    until("its agent has the new owner", || async {
        let listed = here.listed().await;
        listed.len() == 1 && listed[0].owner.peer_did() == Some(new.id.to_string().as_str())
    })
    .await;
}

#[tokio::test(start_paused = true)]
async fn agents_travel_through_sites_in_between() {
    let world = World::new();
    let sites = [world.site(1).await, world.site(2).await, world.site(3).await, world.site(4).await];
    for pair in sites.windows(2) {
        pair[0].add(&pair[1]).await;
    }
    sites[0].agents.put("calc", Visibility::Public, "Adds numbers");
    sites[3].agents.put("echo", Visibility::Public, "Repeats");
    for site in &sites[1..3] {
        site.lists(&["calc", "echo"]).await;
    }
    sites[0].lists(&["echo"]).await;
    sites[3].lists(&["calc"]).await;
    sites[0].agents.remove("calc");
    sites[3].lists(&[]).await;
}
