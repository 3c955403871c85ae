//! TLS to a real server: each mode gives what its name says, and a refusal says what to do.
//!
//! Certificates are made here; the server has one for 127.0.0.1 and for no other name.

use std::path::Path;

use agentsite_store::Store as _;
use agentsite_store::contract::samples::opening;
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use super::server::{Own, connect};
use super::*;

/// Writes an issuer's certificate and one that it gave to a server, and the server's key.
fn write_certificates(folder: &Path, name: &str, expired: bool) {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    std::fs::write(folder.join(format!("{name}-ca.pem")), params.self_signed(&key).unwrap().pem()).unwrap();
    let issuer = Issuer::new(params, key);
    let mut params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    if expired {
        params.not_after = rcgen::date_time_ymd(2020, 1, 1);
    }
    let key = KeyPair::generate().unwrap();
    std::fs::write(folder.join(format!("{name}.pem")), params.signed_by(&key, &issuer).unwrap().pem())
        .unwrap();
    let file = folder.join(format!("{name}.key"));
    std::fs::write(&file, key.serialize_pem()).unwrap();
    std::fs::set_permissions(file, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
}

/// A server with the certificate `name` of the two that are made.
fn server(name: &str) -> Own {
    Own::start(|folder| {
        write_certificates(folder, "right", false);
        write_certificates(folder, "old", true);
        let file = |ending: &str| folder.join(format!("{name}.{ending}")).display().to_string();
        vec![
            "ssl=on".into(),
            format!("ssl_cert_file={}", file("pem")),
            format!("ssl_key_file={}", file("key")),
        ]
    })
}

fn url(server: &Own, host: &str, rest: &str) -> String {
    format!("postgres://postgres@{host}:{}/postgres?{rest}", server.port)
}

fn root(server: &Own, name: &str) -> String {
    format!("sslrootcert={}", server.file(&format!("{name}-ca.pem")).display())
}

/// Opens the store, writes to it, and says how many of its connections are encrypted, of how many.
async fn encrypted(server: &Own, url: &str, number: u64) -> (i64, i64) {
    let store = PgStore::open(PgSettings::new(url, key())).await.unwrap_or_else(|error| panic!("{error}"));
    store.commit(opening(number)).await.unwrap();
    let sql =
        "SELECT count(*) FILTER (WHERE ssl), count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid)
               WHERE application_name = 'agentsite'";
    let row = connect(&server.socket()).await.query_one(sql, &[]).await.unwrap();
    agentsite_store::Upkeep::close(&store).await.unwrap();
    (row.get(0), row.get(1))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_mode_of_tls_gives_what_its_name_says() {
    let server = server("right");
    let right = root(&server, "right");
    for (number, rest) in (1..).zip([
        "sslmode=require".to_owned(),
        "sslmode=prefer".to_owned(),
        format!("sslmode=verify-full&{right}"),
        format!("sslmode=verify-ca&{right}"),
        format!("sslmode=require&{right}"),
    ]) {
        let (with, all) = encrypted(&server, &url(&server, "127.0.0.1", &rest), number).await;
        assert!(with == all && all > 0, "{rest}: {with} of {all}");
    }
    let named = url(&server, "localhost", &format!("sslmode=verify-ca&{right}"));
    assert!(encrypted(&server, &named, 6).await.0 > 0, "only verify-full looks at the name");
    let plain = url(&server, "127.0.0.1", "sslmode=disable");
    assert_eq!(encrypted(&server, &plain, 7).await.0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_certificate_that_does_not_fit_is_refused_with_the_way_out() {
    let server = server("right");
    for (host, rest, words) in [
        ("127.0.0.1", format!("sslmode=verify-full&{}", root(&server, "old")), "name the file of its issuer"),
        ("127.0.0.1", format!("sslmode=verify-ca&{}", root(&server, "old")), "name the file of its issuer"),
        ("127.0.0.1", format!("sslmode=require&{}", root(&server, "old")), "name the file of its issuer"),
        ("127.0.0.1", "sslmode=verify-full".to_owned(), "sslrootcert"),
        ("localhost", format!("sslmode=verify-full&{}", root(&server, "right")), "is for another name"),
        ("127.0.0.1", "sslmode=verify-full&sslrootcert=/nowhere.pem".to_owned(), "/nowhere.pem"),
    ] {
        let error = refused(&url(&server, host, &rest)).await;
        assert!(error.contains(words) && !error.contains("does not answer"), "{rest}: {error}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_expired_certificate_is_named_as_such() {
    let server = server("old");
    let rest = format!("sslmode=verify-full&{}", root(&server, "old"));
    let error = refused(&url(&server, "127.0.0.1", &rest)).await;
    assert!(error.contains("has expired") && error.contains("renew it"), "{error}");
    let believed = url(&server, "127.0.0.1", "sslmode=require");
    assert!(encrypted(&server, &believed, 1).await.0 > 0, "`require` encrypts and checks nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_without_tls_is_told_from_one_that_does_not_answer() {
    let server = Own::start(|_| Vec::new());
    for mode in ["require", "verify-full"] {
        let error = refused(&url(&server, "127.0.0.1", &format!("sslmode={mode}"))).await;
        assert!(error.contains("does not offer TLS") && error.contains("ssl = on"), "{error}");
    }
    assert_eq!(encrypted(&server, &url(&server, "127.0.0.1", "sslmode=prefer"), 1).await.0, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_is_bound_to_the_certificate() {
    let server = server("right");
    let admin = connect(&server.socket()).await;
    admin.batch_execute("CREATE ROLE guarded LOGIN SUPERUSER PASSWORD 'right'").await.unwrap();
    let rest = format!("sslmode=verify-full&channel_binding=require&{}", root(&server, "right"));
    let url = url(&server, "127.0.0.1", &rest);
    assert!(encrypted(&server, &url.replace("postgres@", "guarded:right@"), 1).await.0 > 0);
    let error = refused(&url.replace("postgres@", "guarded:wrong@")).await;
    assert!(error.contains("check user and password"), "{error}");
}
