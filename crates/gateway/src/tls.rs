//! TLS: certificate and key as the server needs them.
//!
//! Promises: what cannot serve is refused at start with a sentence that says which file is wrong. It does not
//! renew certificates: restart the site with the new ones.

use std::sync::Arc;

use rustls::ServerConfig;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::settings::TlsSettings;

/// Why certificate and key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// No certificate in the file.
    #[error(
        "--tls-cert holds no certificate in PEM form: name the file with the chain, the site's own certificate first"
    )]
    NoCertificate,
    /// A certificate that cannot be read.
    #[error("--tls-cert cannot be read: {0}")]
    BadCertificate(rustls_pki_types::pem::Error),
    /// No key in the file.
    #[error("--tls-key holds no private key in PEM form: name the file with the key ({0})")]
    BadKey(rustls_pki_types::pem::Error),
    /// Certificate and key do not serve together.
    #[error("certificate and key cannot be used together: {0}; check that --tls-key belongs to --tls-cert")]
    Mismatch(rustls::Error),
}

/// Prepares TLS with HTTP/2 and HTTP/1.1.
pub(crate) fn acceptor(settings: &TlsSettings) -> Result<TlsAcceptor, TlsError> {
    let read: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&settings.cert_pem).collect();
    let chain = read.map_err(TlsError::BadCertificate)?;
    if chain.is_empty() {
        return Err(TlsError::NoCertificate);
    }
    let key = PrivateKeyDer::from_pem_slice(&settings.key_pem).map_err(TlsError::BadKey)?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(TlsError::Mismatch)?
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .map_err(TlsError::Mismatch)?;
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(name: &str) -> rcgen::CertifiedKey<rcgen::KeyPair> {
        rcgen::generate_simple_self_signed(vec![name.to_owned()]).unwrap()
    }

    fn sentence(cert_pem: &str, key_pem: &str) -> String {
        let settings = TlsSettings { cert_pem: cert_pem.into(), key_pem: key_pem.into() };
        acceptor(&settings).err().map(|error| error.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_cannot_serve_is_told_by_file() {
        let (one, two) = (made("localhost"), made("localhost"));
        let (cert, key) = (one.cert.pem(), one.signing_key.serialize_pem());
        assert_eq!(sentence(&cert, &key), "");
        assert!(sentence("", &key).contains("--tls-cert"));
        assert!(sentence("nonsense", &key).contains("--tls-cert"));
        assert!(sentence(&cert, "nonsense").contains("--tls-key"));
        assert!(sentence(&cert, &two.signing_key.serialize_pem()).contains("--tls-key belongs"));
    }
}
