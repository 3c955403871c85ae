//! Identity: the key of a site as libp2p's key, and peers as sites.
//!
//! Promises: one site is one peer and the other way round. The id of an Ed25519 peer contains its key, so a
//! peer with another kind of key is not a site and is refused.

use agentsite_mesh::SiteId;
use agentsite_protocol::SigningKey;
use libp2p::PeerId;
use libp2p::identity::{Keypair, PublicKey, ed25519};

/// How the id of an Ed25519 peer begins: an identity multihash of 36 bytes, whose content is a key of type 1
/// with 32 bytes.
const PREFIX: [u8; 6] = [0x00, 0x24, 0x08, 0x01, 0x12, 0x20];

/// The key of a site as libp2p uses it; none when it is not Ed25519.
pub(crate) fn keypair(key: &SigningKey) -> Option<Keypair> {
    Keypair::ed25519_from_bytes(key.to_ed25519_seed()?).ok()
}

/// The site that a peer is; none when its key is of another kind.
pub(crate) fn site_of(peer: &PeerId) -> Option<SiteId> {
    let bytes = peer.to_bytes();
    let key = bytes.strip_prefix(&PREFIX)?;
    Some(SiteId::from_bytes(key.try_into().ok()?))
}

/// The peer that a site is; none when the bytes of its id are not a key.
pub(crate) fn peer_of(site: &SiteId) -> Option<PeerId> {
    // Ours refuses weak keys, too.
    site.key().ok()?;
    let key = ed25519::PublicKey::try_from_bytes(site.as_bytes()).ok()?;
    Some(PublicKey::from(key).to_peer_id())
}

#[cfg(test)]
mod tests {
    use super::*;
    use agentsite_mesh::story::Site;

    #[test]
    fn a_site_is_a_peer_and_the_other_way_round() {
        let site = Site::new(7);
        let peer = peer_of(&site.id).unwrap();
        assert_eq!(keypair(&site.key).unwrap().public().to_peer_id(), peer);
        assert_eq!(site_of(&peer), Some(site.id));
        assert!(peer.to_string().starts_with("12D3KooW"), "{peer}");
    }

    #[test]
    fn a_peer_with_another_kind_of_key_is_no_site() {
        assert_eq!(site_of(&PeerId::random()), None);
        assert_eq!(peer_of(&SiteId::from_bytes([0; 32])), None);
    }
}
