//! TLS with the site's own certificate, and certificates that cannot be used.
//!
//! Promises that are tested: the address says https, a client that trusts the certificate gets its answer,
//! plain HTTP on the same port does no harm, and a certificate without its key is named.

use rcgen::{CertifiedKey, generate_simple_self_signed};

use crate::site::{PATIENCE, TestSite, answer, http};

fn with_certificate(site: &TestSite, key_of_another: bool) -> String {
    let make = || generate_simple_self_signed(["localhost".to_owned(), "127.0.0.1".to_owned()]).unwrap();
    let CertifiedKey { cert, signing_key } = make();
    let key = if key_of_another { make().signing_key } else { signing_key };
    site.write("cert.pem", &cert.pem());
    site.write("key.pem", &key.serialize_pem());
    cert.pem()
}

#[tokio::test]
async fn a_site_speaks_tls_with_a_certificate_of_its_own() {
    let mut site = TestSite::new().flag("--tls-cert=cert.pem").flag("--tls-key=key.pem");
    let certificate = with_certificate(&site, false);
    site.start();
    assert!(site.url.starts_with("https://"), "{}", site.url);
    let root = reqwest::Certificate::from_pem(certificate.as_bytes()).unwrap();
    site.http =
        reqwest::Client::builder().no_proxy().tls_certs_only([root]).timeout(PATIENCE).build().unwrap();
    assert_eq!(answer(&site.send("echo", "in private").await), "in private");

    let card = site.get("/a2a/echo/.well-known/agent-card.json").await;
    let address = card["supportedInterfaces"][0]["url"].as_str().unwrap();
    assert!(address.starts_with("https://"), "the card names the encrypted address: {address}");

    assert!(
        http().get(format!("{}/healthz", site.url)).send().await.is_err(),
        "an unknown certificate is refused"
    );
    let plain = site.url.replace("https://", "http://");
    assert!(http().get(format!("{plain}/healthz")).send().await.is_err(), "no plain HTTP on this port");
    assert_eq!(answer(&site.send("echo", "still here").await), "still here");
}

#[tokio::test]
async fn a_key_that_does_not_fit_is_told() {
    let site = TestSite::new();
    with_certificate(&site, true);
    let flags = ["serve", "--listen", "127.0.0.1:0", "--tls-cert", "cert.pem", "--tls-key"];
    let said = site.run(&[&flags[..], &["key.pem"]].concat());
    assert_eq!(said.code(), 1, "{said:?}");
    assert!(said.err().contains("key"), "{said:?}");
    let said = site.run(&[&flags[..], &["nowhere.pem"]].concat());
    assert_eq!(said.code(), 1, "{said:?}");
    assert!(said.err().contains("nowhere.pem"), "{said:?}");
}
