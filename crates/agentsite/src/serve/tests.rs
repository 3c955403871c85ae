//! What the configuration becomes, as facts.
//!
//! Nothing here listens or writes; whole sites are tested with the real binary.

use crate::config::change::waiting_for_restart;
use crate::config::{Config, Loaded, Sources};

use super::parts;

fn config(text: &str) -> Config {
    toml::from_str(text).unwrap()
}

#[test]
fn a_site_that_listens_everywhere_is_reached_at_loopback() {
    let bound = "0.0.0.0:5000".parse().unwrap();
    assert_eq!(parts::local_url(&config(""), bound), "http://127.0.0.1:5000");
    let bound = "[::]:5000".parse().unwrap();
    assert_eq!(parts::local_url(&config(""), bound), "http://[::1]:5000");
}

#[test]
fn with_tls_the_public_name_is_used_because_the_certificate_bears_it() {
    let bound = "0.0.0.0:443".parse().unwrap();
    let tls = "tls_cert = \"c\"\ntls_key = \"k\"\n";
    assert_eq!(parts::local_url(&config(tls), bound), "https://127.0.0.1:443");
    let named = format!("{tls}public_url = \"https://a.example/\"\n");
    assert_eq!(parts::local_url(&config(&named), bound), "https://a.example");
    let proxied = "public_url = \"https://a.example\"\n";
    assert_eq!(parts::local_url(&config(proxied), "127.0.0.1:80".parse().unwrap()), "http://127.0.0.1:80");
}

#[test]
fn the_settings_follow_the_configuration() {
    let config = config(
        "anonymous = \"none\"\ntrusted_proxies = [\"10.0.0.0/8\"]\n[limits]\nbody = \"2MiB\"\nkey_rate = 9\n[retention]\ntasks = 5\n",
    );
    let gateway = parts::gateway_settings(&config).unwrap();
    assert_eq!((gateway.limits.body, gateway.rates.key.per_second), (2 << 20, 9));
    assert_eq!(gateway.trusted_proxies.len(), 1);
    let loaded = Loaded { config, origins: Default::default(), file: None, warnings: Vec::new() };
    let site = parts::site_settings(&loaded, &agentsite_site::World::system().clock).unwrap();
    assert_eq!((site.retention.tasks, site.max_message.0), (5, 2 << 20));
}

#[test]
fn a_port_in_use_that_was_not_chosen_gives_way_to_another() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap();
    let load = |text: &str| {
        Sources { file: Some(("f".into(), text.to_owned())), ..Sources::default() }.join().unwrap()
    };
    let chosen = load(&format!("listen = \"{listen}\"\n"));
    assert_eq!(parts::listen(&chosen), listen, "the gateway says that it is in use");
    let mut usual = load("");
    usual.config.listen = listen;
    let other = parts::listen(&usual);
    assert!(other.ip() == listen.ip() && other.port() != listen.port(), "{other}");
}

#[test]
fn a_certificate_that_cannot_be_read_is_told_by_its_key() {
    let config = config("tls_cert = \"/nowhere/c.pem\"\ntls_key = \"/nowhere/k.pem\"\n");
    assert!(parts::gateway_settings(&config).unwrap_err().to_string().starts_with("tls_cert: cannot read"));
}

#[test]
fn a_reload_tells_which_keys_need_a_restart() {
    let load = |text: &str| {
        Sources { file: Some(("f".into(), text.to_owned())), ..Sources::default() }.join().unwrap()
    };
    let before = load("[telemetry]\nlog = \"info\"\n[models.a]\n");
    let after = load("data = \"other\"\n[telemetry]\nlog = \"debug\"\n");
    let keys = waiting_for_restart(&before, &after);
    assert!(
        keys.contains(&"data".to_owned()) && keys.iter().any(|key| key.starts_with("models.a")),
        "{keys:?}"
    );
    assert!(!keys.contains(&"telemetry.log".to_owned()));
}
