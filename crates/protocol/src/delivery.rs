//! Signed deliveries: how a receiver verifies that a request came from a site and was not changed.
//!
//! Promises: HTTP Message Signatures (RFC 9421) with Ed25519 over the method, the address, the media type,
//! the digest of the body (RFC 9530) and the delivery's id; `created` and `expires` bound replay, `keyid`
//! names the key in the site's JSON Web Key Set. Pure: the same request at the same moment gives the same
//! signature. It sends nothing. See docs/decisions/0007-signed-deliveries.md.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use crate::Timestamp;
use crate::key::{Algorithm, SigningKey};

/// The label of our signature among those that a request may carry.
const LABEL: &str = "site";

/// The purpose of the signature, so that one made for something else is never accepted.
const TAG: &str = "a2a-push";

/// What is covered, in this order.
const COVERED: &str = r#"("@method" "@target-uri" "content-type" "content-digest" "idempotency-key")"#;

/// What a signature covers of a request by POST.
#[derive(Debug, Clone, Copy)]
pub struct Delivery<'a> {
    /// The whole address, without a fragment.
    pub url: &'a str,
    /// The media type of the body.
    pub content_type: &'a str,
    /// The body.
    pub body: &'a [u8],
    /// The delivery's id: the same each time it is tried. Letters, digits and hyphens.
    pub id: &'a str,
}

/// The headers that prove a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeliveryProof {
    /// `Content-Digest`.
    pub content_digest: String,
    /// `Idempotency-Key`.
    pub idempotency_key: String,
    /// `Signature-Input`.
    pub signature_input: String,
    /// `Signature`.
    pub signature: String,
}

impl Delivery<'_> {
    /// Signs the request as made now and good for so long.
    #[must_use]
    pub fn sign(&self, key: &SigningKey, now: Timestamp, good_for: Duration) -> DeliveryProof {
        let digest = STANDARD.encode(Sha256::digest(self.body));
        let content_digest = format!("sha-256=:{digest}:");
        let idempotency_key = format!("\"{}\"", self.id);
        let (created, expires) = (seconds(now), seconds(now.plus(good_for)));
        let algorithm = match key.algorithm() {
            Algorithm::EdDsa => "ed25519",
            Algorithm::Es256 => "ecdsa-p256-sha256",
        };
        let params = format!(
            r#"{COVERED};created={created};expires={expires};keyid="{}";alg="{algorithm}";tag="{TAG}""#,
            key.public().did_key()
        );
        let base = self.base(&content_digest, &idempotency_key, &params);
        let signature = format!("{LABEL}=:{}:", STANDARD.encode(key.sign(base.as_bytes())));
        DeliveryProof {
            content_digest,
            idempotency_key,
            signature_input: format!("{LABEL}={params}"),
            signature,
        }
    }

    /// The text that is signed, as section 2.5 of RFC 9421 has it.
    fn base(&self, content_digest: &str, idempotency_key: &str, params: &str) -> String {
        let lines = [
            ("@method", "POST"),
            ("@target-uri", self.url),
            ("content-type", self.content_type),
            ("content-digest", content_digest),
            ("idempotency-key", idempotency_key),
            ("@signature-params", params),
        ];
        lines.map(|(name, value)| format!("\"{name}\": {value}")).join("\n")
    }
}

fn seconds(at: Timestamp) -> i64 {
    at.as_millis().div_euclid(1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUEST: Delivery<'_> = Delivery {
        url: "https://example.org/hook?x=1",
        content_type: "application/a2a+json",
        body: b"{\"task\":{}}",
        id: "0123-ab",
    };

    fn key(algorithm: Algorithm) -> SigningKey {
        SigningKey::from_seed(algorithm, &[7; 32]).unwrap()
    }

    /// Verifies as a receiver would: from the headers and the request alone.
    fn holds(request: &Delivery<'_>, proof: &DeliveryProof, key: &SigningKey) -> bool {
        let params = proof.signature_input.strip_prefix("site=").unwrap();
        let digest = format!("sha-256=:{}:", STANDARD.encode(Sha256::digest(request.body)));
        let base = request.base(&digest, &format!("\"{}\"", request.id), params);
        let signature = proof.signature.strip_prefix("site=:").unwrap().strip_suffix(':').unwrap();
        key.public().verifies(base.as_bytes(), &STANDARD.decode(signature).unwrap())
    }

    #[test]
    fn the_headers_are_those_of_the_rfcs() {
        let key = key(Algorithm::EdDsa);
        let proof = REQUEST.sign(&key, Timestamp::from_millis(1_700_000_000_999), Duration::from_secs(300));
        assert_eq!(
            proof.signature_input,
            format!(
                "site=(\"@method\" \"@target-uri\" \"content-type\" \"content-digest\" \"idempotency-key\");created=1700000000;expires=1700000300;keyid=\"{}\";alg=\"ed25519\";tag=\"a2a-push\"",
                key.public().did_key()
            )
        );
        assert_eq!(proof.idempotency_key, "\"0123-ab\"");
        assert_eq!(proof.content_digest, "sha-256=:R6AaLRNSrbh3Pu6JFz6QuqVgKKw9tZL8qL7HrmHCQns=:");
    }

    #[test]
    fn whatever_is_changed_breaks_the_signature() {
        for algorithm in [Algorithm::EdDsa, Algorithm::Es256] {
            let key = key(algorithm);
            let proof = REQUEST.sign(&key, Timestamp::from_millis(5), Duration::from_secs(300));
            assert!(holds(&REQUEST, &proof, &key));
            for other in [
                Delivery { url: "https://example.org/hook?x=2", ..REQUEST },
                Delivery { content_type: "application/json", ..REQUEST },
                Delivery { body: b"{\"task\":{ }}", ..REQUEST },
                Delivery { id: "0123-ac", ..REQUEST },
            ] {
                assert!(!holds(&other, &proof, &key), "{other:?}");
            }
            let late = DeliveryProof {
                signature_input: proof.signature_input.replace("created=0", "created=9"),
                ..proof.clone()
            };
            assert!(!holds(&REQUEST, &late, &key));
        }
    }
}
