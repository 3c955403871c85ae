//! Proof: that both ends of a QUIC connection belong to the same network.
//!
//! Each side derives two values from the secrets of the TLS session and the prologue of the network, and
//! sends its own over the first stream; the dialing side begins. Promises: a value is good for one
//! connection only, and who does not know the prologue cannot make it. Nothing else of the peer is read
//! before.

use std::io;

use libp2p::PeerId;

use super::credentials::peer_of;
use super::muxer::Muxer;

/// Bytes of a proof.
const PROOF: usize = 32;
/// What the proofs are derived for: that of the dialing side and that of the other.
const LABELS: [&[u8]; 2] = [b"EXPORTER-agentsite-dialer", b"EXPORTER-agentsite-listener"];
/// What a peer of another network reads as the reason of the end.
const OTHER_NETWORK: &[u8] = b"another network";

fn proof(connection: &quinn::Connection, label: &[u8], prologue: &[u8]) -> io::Result<[u8; PROOF]> {
    let mut proof = [0; PROOF];
    let failed = |_| io::Error::other("no proof can be derived from the session");
    connection.export_keying_material(&mut proof, label, prologue).map_err(failed)?;
    Ok(proof)
}

async fn read_proof(receive: &mut quinn::RecvStream) -> io::Result<[u8; PROOF]> {
    let mut proof = [0; PROOF];
    receive.read_exact(&mut proof).await.map_err(io::Error::other)?;
    Ok(proof)
}

fn check(connection: &quinn::Connection, found: [u8; PROOF], expected: [u8; PROOF]) -> io::Result<()> {
    // A value is used once, so the time that a comparison takes tells nothing of use.
    if found == expected {
        return Ok(());
    }
    connection.close(1_u32.into(), OTHER_NETWORK);
    Err(io::Error::new(io::ErrorKind::PermissionDenied, "the peer belongs to another network"))
}

/// Finishes a connection that this side dialed.
pub(super) async fn connect(connecting: quinn::Connecting, prologue: &[u8]) -> io::Result<(PeerId, Muxer)> {
    let connection = connecting.await?;
    let peer = peer_of(&connection)?;
    let [own, other] = LABELS;
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&proof(&connection, own, prologue)?).await?;
    send.finish().map_err(io::Error::other)?;
    let found = read_proof(&mut receive).await?;
    check(&connection, found, proof(&connection, other, prologue)?)?;
    Ok((peer, Muxer::new(connection)))
}

/// Finishes a connection that the other side dialed.
pub(super) async fn accept(incoming: quinn::Incoming, prologue: &[u8]) -> io::Result<(PeerId, Muxer)> {
    let connection = incoming.accept()?.await?;
    let peer = peer_of(&connection)?;
    let [other, own] = LABELS;
    let (mut send, mut receive) = connection.accept_bi().await?;
    let found = read_proof(&mut receive).await?;
    check(&connection, found, proof(&connection, other, prologue)?)?;
    send.write_all(&proof(&connection, own, prologue)?).await?;
    send.finish().map_err(io::Error::other)?;
    Ok((peer, Muxer::new(connection)))
}
