//! Credentials: the site's key in the handshake of QUIC, and how the key of the other side is judged.
//!
//! Promises: TLS 1.3 with ring, both sides authenticated by a raw Ed25519 key. Any such key is accepted here:
//! who it is, and whether it is welcome, is decided above.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use agentsite_mesh::SiteId;
use agentsite_protocol::SigningKey;
use libp2p::PeerId;
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls13_signature_with_raw_key};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{CertificateError, DigitallySignedStruct, DistinguishedName, Error, SignatureScheme};

use crate::identity;
use crate::transport::MAX_STREAMS;

/// The name of the protocol in the handshake: a peer that uses another ends it.
const ALPN: &[u8] = b"agentsite-mesh/1";
/// What precedes the 32 bytes of an Ed25519 key in its public form (RFC 8410).
const PUBLIC_PREFIX: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0x00];
/// What precedes the 32 bytes of its seed in the private form.
const PRIVATE_PREFIX: [u8; 16] =
    [0x30, 0x2e, 0x02, 0x01, 0x00, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x04, 0x22, 0x04, 0x20];
/// After how much silence a connection has failed; packets that keep it alive are sent more often.
const IDLE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10));
/// What a peer may send before it is read: of one stream, and of all.
const WINDOWS: (u32, u32) = (1 << 20, 4 << 20);

/// How this site proves itself in the handshake.
pub(super) struct Credentials {
    pub(super) client: quinn::ClientConfig,
    pub(super) server: quinn::ServerConfig,
}

impl Credentials {
    pub(super) fn new(key: &SigningKey) -> io::Result<Self> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let certified = Arc::new(certified(key)?);
        let verifier = Arc::new(RawKeys(provider.clone()));
        let mut client = rustls::ClientConfig::builder_with_provider(provider.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .dangerous()
            .with_custom_certificate_verifier(verifier.clone())
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(certified.clone())));
        let mut server = rustls::ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(io::Error::other)?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(certified)));
        client.alpn_protocols = vec![ALPN.into()];
        server.alpn_protocols = vec![ALPN.into()];
        // Each connection proves the keys anew.
        client.resumption = rustls::client::Resumption::disabled();
        server.send_tls13_tickets = 0;
        let transport = Arc::new(transport_config()?);
        let client = QuicClientConfig::try_from(client).map_err(io::Error::other)?;
        let server = QuicServerConfig::try_from(server).map_err(io::Error::other)?;
        let mut client = quinn::ClientConfig::new(Arc::new(client));
        let mut server = quinn::ServerConfig::with_crypto(Arc::new(server));
        client.transport_config(transport.clone());
        server.transport_config(transport);
        Ok(Self { client, server })
    }
}

fn transport_config() -> io::Result<quinn::TransportConfig> {
    let (idle, keep_alive) = IDLE;
    let (of_stream, of_all) = WINDOWS;
    let streams = u32::try_from(MAX_STREAMS).map_err(io::Error::other)?;
    let mut config = quinn::TransportConfig::default();
    config
        .max_concurrent_bidi_streams(streams.into())
        .max_concurrent_uni_streams(0_u32.into())
        .datagram_receive_buffer_size(None)
        .max_idle_timeout(Some(idle.try_into().map_err(io::Error::other)?))
        .keep_alive_interval(Some(keep_alive))
        .stream_receive_window(of_stream.into())
        .receive_window(of_all.into())
        .send_window(u64::from(of_all));
    Ok(config)
}

fn certified(key: &SigningKey) -> io::Result<CertifiedKey> {
    let unfit = || io::Error::other("the key of the site is not Ed25519");
    let seed = key.to_ed25519_seed().ok_or_else(unfit)?;
    let site = SiteId::of(&key.public()).map_err(|_| unfit())?;
    let private = PrivatePkcs8KeyDer::from([&PRIVATE_PREFIX[..], &seed].concat());
    let public = CertificateDer::from([&PUBLIC_PREFIX[..], site.as_bytes()].concat());
    let signer = rustls::crypto::ring::sign::any_eddsa_type(&private).map_err(io::Error::other)?;
    Ok(CertifiedKey::new(vec![public], signer))
}

/// The site whose key is in this form.
fn site_in(public: &[u8]) -> Option<SiteId> {
    let key = public.strip_prefix(&PUBLIC_PREFIX)?;
    Some(SiteId::from_bytes(key.try_into().ok()?))
}

/// Who proved to be at the other end of a connection.
pub(super) fn peer_of(connection: &quinn::Connection) -> io::Result<PeerId> {
    let unproven = || io::Error::other("the peer did not prove an Ed25519 key");
    let keys =
        connection.peer_identity().and_then(|keys| keys.downcast::<Vec<CertificateDer<'static>>>().ok());
    let site = keys.and_then(|keys| keys.first().and_then(|key| site_in(key)));
    site.and_then(|site| identity::peer_of(&site)).ok_or_else(unproven)
}

/// Accepts raw Ed25519 keys.
#[derive(Debug)]
struct RawKeys(Arc<CryptoProvider>);

impl RawKeys {
    fn check(public: &CertificateDer<'_>) -> Result<(), Error> {
        let bad = Error::InvalidCertificate(CertificateError::BadEncoding);
        site_in(public).and_then(|site| identity::peer_of(&site)).map(drop).ok_or(bad)
    }

    fn verify(
        &self,
        message: &[u8],
        public: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let key = SubjectPublicKeyInfoDer::from(public.as_ref());
        verify_tls13_signature_with_raw_key(message, &key, signed, &self.0.signature_verification_algorithms)
    }

    fn no_tls12() -> Result<HandshakeSignatureValid, Error> {
        Err(Error::General("TLS 1.2 is not used here".into()))
    }
}

impl ServerCertVerifier for RawKeys {
    fn verify_server_cert(
        &self,
        public: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        Self::check(public).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        public: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, public, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}

impl ClientCertVerifier for RawKeys {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        public: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Self::check(public).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        Self::no_tls12()
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        public: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify(message, public, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        vec![SignatureScheme::ED25519]
    }

    fn requires_raw_public_keys(&self) -> bool {
        true
    }
}
