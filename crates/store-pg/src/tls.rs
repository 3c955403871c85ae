//! TLS for the connections: rustls with the provider that the rest of the site uses.
//!
//! Promises: `verify-full` checks issuer and name, `verify-ca` the issuer, `prefer` and `require` encrypt and
//! check nothing, as libpq means them. Roots are those of the platform, or the file that the URL names. The
//! password is bound to the certificate (SCRAM-SHA-256-PLUS) where the certificate is signed with SHA-256.

use std::future::Future;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use agentsite_store::StoreError;
use ring::digest;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::{CertificateError, ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, ServerName, UnixTime};
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream as RustlsStream;

use crate::settings::{Target, Verify};

/// Makes TLS connections to one server.
#[derive(Clone)]
pub(crate) struct Tls {
    config: Arc<ClientConfig>,
}

impl Tls {
    pub(crate) fn new(target: &Target) -> Result<Self, StoreError> {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .map_err(|error| StoreError::Engine(format!("TLS cannot be set up: {error}")))?;
        let roots = target.roots.as_deref().map(read_roots).transpose()?;
        let issuer_of = |roots: RootCertStore| {
            WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone())
                .build()
                .map_err(|error| StoreError::Engine(format!("the roots of TLS cannot be used: {error}")))
        };
        let config = match (target.verify, roots) {
            (Verify::Nothing, _) => builder
                .dangerous()
                .with_custom_certificate_verifier(Arc::new(Unchecked { provider, issuer: None }))
                .with_no_client_auth(),
            (Verify::Full, Some(roots)) => builder.with_root_certificates(roots).with_no_client_auth(),
            (Verify::Issuer, Some(roots)) => {
                let issuer = Some(issuer_of(roots)?);
                builder
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(Unchecked { provider, issuer }))
                    .with_no_client_auth()
            }
            // Without a root of its own, anybody's certificate would do: then the name must fit, too.
            (Verify::Full | Verify::Issuer, None) => builder
                .with_platform_verifier()
                .map_err(|error| {
                    StoreError::Engine(format!(
                        "the certificates of this machine cannot be read ({error}): name a file with sslrootcert"
                    ))
                })?
                .with_no_client_auth(),
        };
        Ok(Self { config: Arc::new(config) })
    }
}

fn read_roots(path: &std::path::Path) -> Result<RootCertStore, StoreError> {
    let wrong = |why: String| StoreError::Engine(format!("sslrootcert {}: {why}", path.display()));
    let mut roots = RootCertStore::empty();
    let all = CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
    for one in all {
        let one = one.map_err(|error| wrong(error.to_string()))?;
        roots.add(one).map_err(|error| wrong(error.to_string()))?;
    }
    if roots.is_empty() { Err(wrong("holds no certificate".into())) } else { Ok(roots) }
}

/// Checks signatures of the handshake, the issuer when there is one, and never the name.
#[derive(Debug)]
struct Unchecked {
    provider: Arc<CryptoProvider>,
    issuer: Option<Arc<WebPkiServerVerifier>>,
}

impl ServerCertVerifier for Unchecked {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let Some(issuer) = &self.issuer else { return Ok(ServerCertVerified::assertion()) };
        match issuer.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(rustls::Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            checked => checked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Stream<S>;
    type TlsConnect = Handshake;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<Handshake> {
        // A socket of this machine has no name, and never shakes hands.
        let name = ServerName::try_from(domain.to_owned()).ok();
        Ok(Handshake { config: self.config.clone(), name })
    }
}

/// One handshake to come.
pub(crate) struct Handshake {
    config: Arc<ClientConfig>,
    name: Option<ServerName<'static>>,
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for Handshake {
    type Stream = Stream<S>;
    type Error = io::Error;
    type Future = Pin<Box<dyn Future<Output = io::Result<Stream<S>>> + Send>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.name.ok_or_else(|| io::Error::other("the server has no name to check"))?;
            let stream = TlsConnector::from(self.config).connect(name, stream).await?;
            Ok(Stream(Box::new(stream)))
        })
    }
}

/// An encrypted connection.
pub(crate) struct Stream<S>(Box<RustlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Stream<S> {
    fn channel_binding(&self) -> ChannelBinding {
        let (_, session) = self.0.get_ref();
        match session.peer_certificates().and_then(|all| all.first()) {
            Some(certificate) if is_signed_with_sha256(certificate) => {
                let hash = digest::digest(&digest::SHA256, certificate);
                ChannelBinding::tls_server_end_point(hash.as_ref().to_vec())
            }
            _ => ChannelBinding::none(),
        }
    }
}

/// Whether the certificate is signed with SHA-256 (RFC 5929, section 4.1, names the hash by the signature);
/// for others the binding is left out.
fn is_signed_with_sha256(certificate: &[u8]) -> bool {
    // The identifiers of sha256WithRSAEncryption and ecdsa-with-SHA256; each occurs in a certificate of its
    // kind, and in no other part of one.
    const RSA: &[u8] = &[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b];
    const ECDSA: &[u8] = &[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02];
    [RSA, ECDSA].iter().any(|one| certificate.windows(one.len()).any(|part| part == *one))
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Stream<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(cx, buf)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Stream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(cx, buf)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(cx)
    }
}
