//! The decision who calls, as tables of requests.
//!
//! Each row is a peer, a method and headers, and the credential in one word. No socket is opened here.

use http::Request;

use super::*;

type Headers<'a> = &'a [(&'a str, &'a str)];

fn head(method: &str, headers: Headers<'_>) -> Parts {
    let mut builder = Request::builder().method(method).uri("/a2a/echo");
    for (name, value) in headers {
        builder = builder.header(*name, *value);
    }
    builder.body(()).unwrap().into_parts().0
}

fn connection(peer: &str) -> std::sync::Arc<Connection> {
    Connection::new(0, peer.parse().unwrap(), false)
}

fn door(settings: &GatewaySettings) -> Authenticator {
    Authenticator::new(settings)
}

fn open() -> GatewaySettings {
    GatewaySettings::default()
}

/// The credential in one word.
fn judge(door: &Authenticator, peer: &str, method: &str, headers: Headers<'_>) -> String {
    match door.credential(&connection(peer), &head(method, headers)) {
        Ok(Credential::Secret(secret)) => format!("secret {secret}"),
        Ok(Credential::Session { secret, .. }) => format!("session {secret}"),
        Ok(Credential::Anonymous(address)) => format!("anonymous {address}"),
        Ok(Credential::OpenAdmin) => "open".into(),
        Ok(Credential::Site { did, .. }) => did,
        Err(refusal) => format!("{refusal:?}"),
    }
}

const HERE: (&str, &str) = ("host", "localhost:4747");

#[test]
fn an_address_is_no_credential_and_foreign_pages_are_refused() {
    let cases: &[(&str, &str, Headers<'_>, &str)] = &[
        ("127.0.0.1", "POST", &[HERE], "anonymous 127.0.0.1"),
        ("::1", "POST", &[("host", "[::1]:4747")], "anonymous ::1"),
        ("::ffff:127.0.0.1", "GET", &[("host", "127.0.0.1")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "GET", &[("host", "LOCALHOST.:4747")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("origin", "http://localhost:4747")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("sec-fetch-site", "same-origin")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "GET", &[HERE, ("sec-fetch-site", "cross-site")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("sec-fetch-site", "cross-site")], "ForeignOrigin"),
        ("127.0.0.1", "POST", &[HERE, ("origin", "http://localhost:3000")], "ForeignOrigin"),
        ("127.0.0.1", "GET", &[HERE, ("origin", "https://evil.example")], "ForeignOrigin"),
        ("127.0.0.1", "POST", &[HERE, ("origin", "null")], "ForeignOrigin"),
        ("127.0.0.1", "POST", &[("host", "evil.example:4747")], "ForeignHost"),
        ("127.0.0.1", "POST", &[("host", "localhost.evil.example")], "ForeignHost"),
        ("127.0.0.1", "POST", &[("host", "localhost:80:x")], "ForeignHost"),
        ("127.0.0.1", "POST", &[("host", "[::1]evil")], "ForeignHost"),
        ("127.0.0.1", "POST", &[("host", "evil.example"), ("origin", "http://evil.example")], "ForeignHost"),
        ("127.0.0.1", "POST", &[], "ForeignHost"),
        ("127.0.0.1", "POST", &[HERE, ("x-forwarded-for", "127.0.0.1")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("x-forwarded-server", "p")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("forwarded", "for=127.0.0.1")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("x-real-ip", "127.0.0.1")], "anonymous 127.0.0.1"),
        ("127.0.0.1", "POST", &[HERE, ("via", "1.1 proxy")], "anonymous 127.0.0.1"),
        ("192.0.2.9", "POST", &[HERE], "anonymous 192.0.2.9"),
        ("192.0.2.9", "POST", &[HERE, ("origin", "https://evil.example")], "ForeignOrigin"),
    ];
    let door = door(&open());
    for (peer, method, headers, expected) in cases {
        assert_eq!(judge(&door, peer, method, headers), *expected, "{peer} {method} {headers:?}");
    }
}

#[test]
fn a_credential_counts_wherever_it_comes_from() {
    let door = door(&open());
    let foreign = ("origin", "https://elsewhere.example");
    let cases: &[(Headers<'_>, &str)] = &[
        (&[HERE, ("authorization", "Bearer ask_1")], "secret ask_1"),
        (&[HERE, ("authorization", "bearer  ask_1 "), foreign], "secret ask_1"),
        (&[("host", "x"), ("x-api-key", "ask_2")], "secret ask_2"),
        (&[HERE, ("authorization", "Basic dXNlcg==")], "BadCredential"),
        (&[HERE, ("authorization", "Bearer")], "BadCredential"),
        (&[HERE, ("authorization", "Bearer "), ("x-api-key", "k")], "secret "),
    ];
    for (headers, expected) in cases {
        assert_eq!(judge(&door, "127.0.0.1", "POST", headers), *expected, "{headers:?}");
    }
}

#[test]
fn a_session_acts_only_from_its_own_pages() {
    let door = door(&open());
    let cookie = ("cookie", "theme=dark; agentsite_session=s1; x=y");
    let cases: &[(&str, Headers<'_>, &str)] = &[
        ("GET", &[HERE, cookie], "session s1"),
        ("POST", &[HERE, cookie], "ForeignOrigin"),
        ("POST", &[HERE, cookie, ("origin", "http://localhost:4747")], "session s1"),
        ("DELETE", &[HERE, cookie, ("sec-fetch-site", "same-origin")], "session s1"),
        ("POST", &[HERE, cookie, ("sec-fetch-site", "same-site")], "ForeignOrigin"),
        (
            "POST",
            &[HERE, cookie, ("origin", "http://localhost:1"), ("sec-fetch-site", "same-origin")],
            "ForeignOrigin",
        ),
    ];
    for (method, headers, expected) in cases {
        assert_eq!(judge(&door, "127.0.0.1", method, headers), *expected, "{method} {headers:?}");
    }
}

#[test]
fn strangers_get_what_the_operator_gave_them() {
    let none = door(&GatewaySettings { anonymous: AnonymousAccess::None, ..open() });
    assert_eq!(judge(&none, "192.0.2.9", "GET", &[HERE]), "NoCredential");
    assert_eq!(judge(&none, "127.0.0.1", "GET", &[HERE]), "NoCredential");
    let admin = door(&GatewaySettings { anonymous: AnonymousAccess::Admin, ..open() });
    assert_eq!(judge(&admin, "127.0.0.1", "GET", &[HERE]), "open");
    assert_eq!(judge(&admin, "127.0.0.1", "GET", &[HERE, ("via", "p")]), "anonymous 127.0.0.1");
    assert_eq!(judge(&admin, "127.0.0.1", "GET", &[("host", "evil.example")]), "ForeignHost");
}

#[test]
fn the_public_name_is_for_strangers_even_from_this_machine() {
    let public_url = Some("https://agents.example.org/".into());
    let door = door(&GatewaySettings { public_url, ..open() });
    let named = ("host", "agents.example.org");
    assert_eq!(judge(&door, "127.0.0.1", "POST", &[named]), "anonymous 127.0.0.1");
    let own = ("origin", "https://agents.example.org");
    assert_eq!(judge(&door, "127.0.0.1", "POST", &[named, own]), "anonymous 127.0.0.1");
    assert_eq!(judge(&door, "127.0.0.1", "POST", &[named, ("origin", "https://x.example")]), "ForeignOrigin");
    let listen = "127.0.0.1:4747".parse().unwrap();
    assert_eq!(
        door.base(&connection("127.0.0.1"), &head("GET", &[HERE]), listen),
        "https://agents.example.org"
    );
}

#[test]
fn forwarded_headers_count_only_from_trusted_proxies() {
    let trusted_proxies = vec!["10.0.0.0/8".parse().unwrap()];
    let door = door(&GatewaySettings { trusted_proxies, ..open() });
    let hops = |value: &'static str| [HERE, ("x-forwarded-for", value)];
    let cases = [
        ("10.0.0.1", "203.0.113.5", "anonymous 203.0.113.5"),
        ("10.0.0.1", "198.51.100.1, 203.0.113.5, 10.0.0.2", "anonymous 203.0.113.5"),
        ("10.0.0.1", "127.0.0.1", "anonymous 127.0.0.1"),
        ("10.0.0.1", "garbage", "anonymous 10.0.0.1"),
        ("192.0.2.9", "203.0.113.5", "anonymous 192.0.2.9"),
    ];
    for (peer, value, expected) in cases {
        assert_eq!(judge(&door, peer, "GET", &hops(value)), expected, "{peer} {value}");
    }
    let listen = "10.0.0.9:80".parse().unwrap();
    let forwarded = head("GET", &[HERE, ("x-forwarded-proto", "https"), ("x-forwarded-host", "a.example")]);
    assert_eq!(door.base(&connection("10.0.0.1"), &forwarded, listen), "https://a.example");
    assert_eq!(door.base(&connection("192.0.2.9"), &forwarded, listen), "http://localhost:4747");
    let hostile = head("GET", &[("host", "a\"><script>")]);
    assert_eq!(door.base(&connection("192.0.2.9"), &hostile, listen), "http://10.0.0.9:80");
}

#[test]
fn programs_may_send_a_placeholder_where_no_key_is_needed() {
    let door = door(&open());
    let cases: &[(&str, &str, &str)] = &[
        ("127.0.0.1", "sk-anything", "Anonymous"),
        ("127.0.0.1", "ask_1_wrong", "Secret"),
        ("127.0.0.1", "eyJhbGciOiJub25lIn0.e30.x", "Secret"),
        ("192.0.2.9", "sk-anything", "Anonymous"),
    ];
    for (peer, word, expected) in cases {
        let request = http::Request::post("/v1/models").header("host", "localhost");
        let request = request.header("authorization", format!("Bearer {word}")).body(()).unwrap();
        let (parts, ()) = request.into_parts();
        let credential = door.credential_of_program(&connection(peer), &parts).unwrap();
        assert!(format!("{credential:?}").starts_with(expected), "{peer} {word}: {credential:?}");
    }
}
