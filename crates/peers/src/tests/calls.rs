//! Calls between sites: streams, proofs, and what they open.
//!
//! What HTTP faces make of them is tested in `gateway`.

use agentsite_protocol::{Principal, SiteToken, Visibility};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

use super::*;
use crate::{PeersError, link_host};

#[tokio::test(start_paused = true)]
async fn a_request_through_a_link_reaches_the_other_site_with_its_proof() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    here.add(&there).await;
    let url: Url = format!("http://{}/a2a/calc?x=1", link_host(&there.id)).parse().unwrap();
    let asking = here.egress.get(url).send();
    let answering = async {
        let mut arrived = there.peers.next_stream().await;
        assert_eq!(arrived.site, here.id.to_string());
        let mut request = Vec::new();
        while !request.ends_with(b"\r\n\r\n") {
            request.push(arrived.stream.read_u8().await.unwrap());
        }
        let answer = b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nconnection: close\r\n\r\nhello";
        arrived.stream.write_all(answer).await.unwrap();
        arrived.stream.flush().await.unwrap();
        String::from_utf8(request).unwrap()
    };
    let (answer, request) = tokio::join!(asking, answering);
    assert_eq!(&answer.unwrap().bytes().await.unwrap()[..], b"hello");
    assert!(request.starts_with("GET /a2a/calc?x=1 HTTP/1.1\r\n"), "{request}");
    assert!(request.contains(&format!("host: {}", link_host(&there.id))), "{request}");
    let token = request.lines().find_map(|line| line.strip_prefix("authorization: Bearer ")).unwrap();
    let caller = there.peers.caller_by_token(token).await.unwrap();
    assert_eq!(caller.owner(), &Principal::peer(&here.id.to_string()).unwrap());
    assert!(matches!(there.peers.caller_by_token(token).await, Err(PeersError::Token(_))), "it counts once");
}

#[tokio::test(start_paused = true)]
async fn proofs_that_are_forged_late_or_for_others_are_refused() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    let (now, to) = (world.clock.now(), there.id.to_string());
    let key = here.agents.key();
    let good = SiteToken::sign(&key, &to, &[1; 16], now);
    let for_others = SiteToken::sign(&key, &here.id.to_string(), &[2; 16], now);
    let late = SiteToken::sign(&key, &to, &[3; 16], now.minus(Duration::from_secs(600)));
    let mut forged = good.clone();
    forged.replace_range(forged.len() - 10..forged.len() - 6, "AAAA");
    for token in [for_others, late, forged, "eyJ.x.y".into(), String::new()] {
        assert!(matches!(there.peers.caller_by_token(&token).await, Err(PeersError::Token(_))), "{token}");
    }
    assert!(there.peers.caller_by_token(&good).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_stranger_reaches_public_agents_and_an_added_or_named_site_more() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    let (calc, team): (AgentName, AgentName) = ("calc".parse().unwrap(), "team".parse().unwrap());
    let did = there.id.to_string();
    let stranger = here.peers.caller_on_stream(&did, None).unwrap();
    assert!(stranger.may_call(&calc, Visibility::Public) && !stranger.may_call(&team, Visibility::Peers));
    here.agents.open_to.lock().unwrap().push((did.clone(), team.clone()));
    let named = here.peers.caller_on_stream(&did, None).unwrap();
    assert!(named.may_call(&team, Visibility::Peers) && !named.may_call(&calc, Visibility::Peers));
    here.add(&there).await;
    let added = here.peers.caller_on_stream(&did, None).unwrap();
    assert!(added.may_call(&calc, Visibility::Peers) && !added.may_call(&calc, Visibility::Private));
}

#[tokio::test(start_paused = true)]
async fn a_user_of_another_site_is_told_apart_where_that_site_names_it() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    let (did, to) = (there.id.to_string(), here.id.to_string());
    let user = there.agents.pseudonym("key:k1", &to);
    let token = SiteToken::sign_for(Some(user), &there.agents.key(), &to, &[1; 16], world.clock.now());
    let on_stream = here.peers.caller_on_stream(&did, Some(&token)).unwrap();
    let by_token = here.peers.caller_by_token(&token).await.unwrap();
    assert_eq!(on_stream.owner(), &Principal::peer_user(&did, &user).unwrap());
    assert_eq!((by_token.owner(), by_token.owner().peer_did()), (on_stream.owner(), Some(did.as_str())));
    let of_others = here.peers.caller_on_stream(&to, Some(&token)).unwrap();
    assert_eq!(of_others.owner(), &Principal::peer(&to).unwrap(), "a token of another site names no user");
}

#[tokio::test(start_paused = true)]
async fn agents_are_named_with_their_site() {
    let world = World::new();
    let (here, there) = (world.site(1).await, world.site(2).await);
    there.agents.put("calc", Visibility::Public, "Adds numbers");
    here.add(&there).await;
    here.lists(&["calc"]).await;
    let id = here.listed().await[0].id.clone();
    let calc: AgentName = "calc".parse().unwrap();
    for word in ["Site 2", "site 2", &there.id.to_string(), &there.id.to_string()[..24]] {
        assert_eq!(here.peers.agent(&calc, word).await.unwrap(), id, "{word}");
    }
    assert!(matches!(here.peers.agent(&calc, "Site 9").await, Err(PeersError::NotFound(_))));
}

#[tokio::test(start_paused = true)]
async fn a_site_that_is_not_in_the_mesh_calls_nobody_and_answers_nobody() {
    let egress = Egress::default();
    let host = link_host(&agentsite_mesh::story::Site::new(1).id);
    let refused = egress.get(format!("http://{host}/").parse().unwrap()).send().await.unwrap_err();
    assert!(refused.to_string().contains("[mesh] enabled"), "{refused}");
}
