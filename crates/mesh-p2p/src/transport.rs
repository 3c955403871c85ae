//! Transport: how bytes reach another site, encrypted and with the site proven.
//!
//! Promises: QUIC, or TCP with Noise and Yamux, or a circuit through a relay with the same on top. The name
//! and the key of the network are part of every handshake (the prologue of Noise, a proof in QUIC), so a
//! peer that does not know them cannot finish one: foreign peers are kept out before anything of ours is
//! parsed. An address that [`AddressPolicy`] refuses is not dialed, whichever part of libp2p asks. All
//! bytes are counted. What carries the bytes in place of TCP can be given ([`StreamTransport`]): a
//! simulated network takes that place.

mod guard;
mod quic;

use std::io;
use std::time::Duration;

use agentsite_mesh::LinkStream;
use agentsite_protocol::SigningKey;
use libp2p::core::muxing::StreamMuxerBox;
use libp2p::core::transport::{Boxed, Transport as _, timeout::TransportTimeout};
use libp2p::core::upgrade::Version;
use libp2p::identity::Keypair;
use libp2p::{PeerId, noise, relay, tcp, yamux};
use sha2::{Digest as _, Sha256};

use self::guard::Guarded;
use self::quic::Quic;
use crate::address::AddressPolicy;
use crate::settings::P2pSettings;
use crate::traffic::Traffic;

/// How long the handshakes of a connection may take; a relayed one has twice the way.
const HANDSHAKE: Duration = Duration::from_secs(15);
/// Most streams of one connection, of all protocols and both directions. Gossip, sync, identify, ping and the
/// DHT take ten; the rest are calls.
pub(crate) const MAX_STREAMS: usize = 128;

/// What carries plain bytes between two addresses of the form `/ip4/…/tcp/…`; encryption, proofs of keys and
/// streams are added on top of it.
pub type StreamTransport = Boxed<Box<dyn LinkStream>>;

/// The TCP of the system.
pub(crate) fn tcp() -> StreamTransport {
    let tcp = tcp::tokio::Transport::new(tcp::Config::default().nodelay(true));
    tcp.map(|stream, _| Box::new(stream) as Box<dyn LinkStream>).boxed()
}

/// What a handshake proves besides the keys: that both sides know the name and the key of the network.
pub(crate) fn prologue(settings: &P2pSettings) -> Vec<u8> {
    let key = settings.network_key.as_ref().map(crate::NetworkKey::secret).unwrap_or_default();
    let mut hash = Sha256::new_with_prefix("agentsite network v1");
    for part in [settings.network.as_str(), key] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    hash.finalize().to_vec()
}

/// Builds the transport.
pub(crate) fn build(
    (key, keypair): (&SigningKey, &Keypair),
    settings: &P2pSettings,
    policy: &AddressPolicy,
    (relay, tcp): (relay::client::Transport, StreamTransport),
    traffic: &Traffic,
) -> io::Result<Boxed<(PeerId, StreamMuxerBox)>> {
    let prologue = prologue(settings);
    let quic = Guarded::new(Quic::new(key, &prologue)?, policy.clone());
    let noise = noise::Config::new(keypair).map_err(io::Error::other)?.with_prologue(prologue);
    let mut yamux = yamux::Config::default();
    yamux.set_max_num_streams(MAX_STREAMS);
    let streams = relay
        .or_transport(Guarded::new(tcp, policy.clone()))
        .upgrade(Version::V1)
        .authenticate(noise)
        .multiplex(yamux)
        .map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer)));
    let all = quic.map(|(peer, muxer), _| (peer, StreamMuxerBox::new(muxer))).or_transport(streams);
    let traffic = traffic.clone();
    let counted = TransportTimeout::new(all, HANDSHAKE).map(move |connection, _| {
        let (peer, muxer) = connection.into_inner();
        (peer, traffic.count(peer, muxer))
    });
    Ok(counted.boxed())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NetworkKey;

    #[test]
    fn networks_differ_by_name_and_by_key() {
        let with = |network: &str, key: Option<&str>| {
            let network_key = key.map(NetworkKey::new);
            prologue(&P2pSettings { network: network.into(), network_key, ..P2pSettings::default() })
        };
        assert_eq!(with("a", Some("b")), with("a", Some("b")));
        assert_ne!(with("a", Some("b")), with("ab", Some("")));
        assert_ne!(with("a", None), with("b", None));
        assert_ne!(with("a", Some("b")), with("a", Some("c")));
    }
}
