//! Room: connections that nothing needs end before the limit is reached.
//!
//! A site that is full refuses new ones, and where the seeds of a network are full of idle connections, a new
//! site cannot join at all. Promises: neighbours in gossip and peers with a call are kept. It does not ban:
//! who is disconnected here may return.

use libp2p::PeerId;

use super::Driver;

impl Driver {
    /// Above three quarters of the incoming connections, ends those that stand longest until half are left.
    pub(super) fn make_room(&mut self) {
        let incoming = self.settings.limits.incoming.min(self.settings.limits.connections) as usize;
        if self.peers.len() <= incoming * 3 / 4 {
            return;
        }
        let neighbours: Vec<PeerId> = self.swarm.behaviour().gossip.all_mesh_peers().copied().collect();
        let is_idle = |id: &PeerId| {
            !neighbours.contains(id) && self.peers.get(id).is_some_and(|peer| !peer.is_called())
        };
        let mut idle: Vec<PeerId> = self.peers.keys().filter(|id| is_idle(id)).copied().collect();
        idle.sort_by_key(|id| self.peers.get(id).map(|peer| peer.since));
        idle.truncate(self.peers.len() - incoming / 2);
        for peer in idle {
            // An error means that it is gone already.
            let _ = self.swarm.disconnect_peer_id(peer);
        }
    }
}
