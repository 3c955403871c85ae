//! What is promised about the configuration, as facts.
//!
//! Nothing here reads the real environment or leaves files behind.

use std::collections::{BTreeMap, BTreeSet};

use super::keys::Catalogue;
use super::layers::Origin;
use super::*;

fn variables(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

fn sources(text: &str, pairs: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Sources {
    Sources {
        file: Some((FILE.into(), text.to_owned())),
        variables: variables(pairs),
        flags: flags.iter().map(|(key, value)| (*key, (*value).to_owned())).collect(),
    }
}

fn join(text: &str, pairs: &[(&str, &str)], flags: &[(&'static str, &str)]) -> Loaded {
    sources(text, pairs, flags).join().unwrap()
}

fn error(text: &str, pairs: &[(&str, &str)]) -> String {
    let loaded = sources(text, pairs, &[]).join().and_then(|loaded| loaded.check(text));
    loaded.unwrap_err().to_string()
}

#[test]
fn nothing_at_all_is_a_working_site() {
    let loaded = Sources::default().join().unwrap();
    assert_eq!(loaded.config, Config::default());
    assert!(loaded.origins.is_empty() && loaded.warnings.is_empty());
    loaded.check("").unwrap();
}

#[test]
fn every_key_that_a_flag_of_serve_sets_names_the_flag() {
    for (path, value, flag) in [
        ("tls_cert", "c", "--tls-cert"),
        ("tls_key", "k", "--tls-key"),
        ("public_url", "https://a.example", "--public-url"),
        ("tls_terminated_by_proxy", "true", "--tls-terminated-by-proxy"),
        ("anonymous", "none", "--anonymous"),
        ("demos", "false", "--no-demos"),
        ("conformance", "1.0", "--conformance"),
        ("mesh.enabled", "true", "--mesh"),
        ("telemetry.otlp_endpoint", "http://127.0.0.1:4318", "--otlp-endpoint"),
    ] {
        let loaded = join("", &[], &[(path, value)]);
        assert_eq!(loaded.origins[path], Origin::Flag(flag.into()), "{path}");
    }
}

#[test]
fn flags_win_over_variables_and_variables_over_the_file() {
    let file = "listen = \"127.0.0.1:1\"\ndata = \"d\"\n[site]\nname = \"from file\"\n";
    let environment = [("AGENTSITE_LISTEN", "127.0.0.1:2"), ("AGENTSITE_SITE_NAME", "from environment")];
    let loaded = join(file, &environment, &[("listen", "127.0.0.1:3")]);
    assert_eq!(loaded.config.listen.port(), 3);
    assert_eq!(loaded.config.site.name, "from environment");
    assert_eq!(loaded.config.data, PathBuf::from("d"));
    assert_eq!(loaded.origins["listen"], Origin::Flag("--listen".into()));
    assert_eq!(loaded.origins["site.name"], Origin::Variable("AGENTSITE_SITE_NAME".into()));
    assert_eq!(loaded.origins["data"], Origin::File(2));
}

#[test]
fn an_address_may_say_localhost_and_nonsense_is_told_how_to_write_it() {
    assert_eq!(join("listen = \"localhost:7\"", &[], &[]).config.listen, "127.0.0.1:7".parse().unwrap());
    assert!(error("listen = \"4747\"", &[]).contains("write it with its port"));
    assert_eq!(join("", &[("AGENTSITE_LISTEN", "")], &[]).config, Config::default());
}

#[test]
fn every_kind_of_value_can_come_from_a_variable() {
    let loaded = join(
        "",
        &[
            ("AGENTSITE_DEMOS", "false"),
            ("AGENTSITE_LIMITS_CONNECTIONS", "7"),
            ("AGENTSITE_LIMITS_BODY", "2MiB"),
            ("AGENTSITE_RETENTION_AGE", "7d"),
            ("AGENTSITE_TRUSTED_PROXIES", "10.0.0.1, 10.1.0.0/16"),
            ("AGENTSITE_ANONYMOUS", "none"),
            ("AGENTSITE_MODELS_MY_GPU_BASE_URL", "http://gpu:8000/v1"),
            ("AGENTSITE_MODELS_MY_GPU_API", "openai"),
        ],
        &[],
    );
    let config = loaded.config;
    assert!(!config.demos);
    assert_eq!(config.limits.connections, 7);
    assert_eq!(config.limits.body.to_string(), "2MiB");
    assert_eq!(config.retention.age.to_string(), "7d");
    assert_eq!(config.trusted_proxies.len(), 2);
    assert_eq!(config.anonymous, agentsite_gateway::AnonymousAccess::None);
    assert_eq!(config.models["my-gpu"].base_url.as_deref(), Some("http://gpu:8000/v1"));
}

#[test]
fn wrong_values_are_told_where_they_stand() {
    assert!(
        error("listen = \"127.0.0.1:1\"\n[limits]\nbdy = \"1MiB\"\n", &[])
            .starts_with("agentsite.toml:3:1: unknown field `bdy`")
    );
    assert!(error("[limits]\nbody = \"1MB\"\n", &[]).starts_with("agentsite.toml:2:8: invalid size `1MB`"));
    assert!(error("listen = 5", &[]).starts_with("agentsite.toml:1:10: "));
    assert!(error("listen = ", &[]).starts_with("agentsite.toml:1:"));
    assert!(
        error("", &[("AGENTSITE_LIMITS_BODY", "big")])
            .starts_with("AGENTSITE_LIMITS_BODY: invalid size `big`")
    );
    assert!(
        error("", &[("AGENTSITE_DEMOS", "perhaps")]).starts_with("AGENTSITE_DEMOS: `perhaps` is neither")
    );
}

#[test]
fn values_that_do_not_go_together_are_told_where_they_stand() {
    assert!(
        error("\ntls_cert = \"c.pem\"\n", &[]).starts_with("agentsite.toml:2:1: tls_cert: set tls_key too")
    );
    assert!(error("", &[("AGENTSITE_TLS_KEY", "k.pem")]).starts_with("AGENTSITE_TLS_KEY: set tls_cert too"));
    assert!(
        error("[models.a]\nbase_url = \"gpu:8000\"", &[])
            .starts_with("agentsite.toml:2:1: models.a.base_url: ")
    );
    assert!(error("public_url = \"example.org\"", &[]).starts_with("agentsite.toml:1:1: public_url: "));
}

#[test]
fn an_unknown_variable_is_a_warning_and_those_of_tests_are_not() {
    let loaded =
        join("", &[("AGENTSITE_LISTNE", "x"), ("AGENTSITE_TEST_SEED", "1"), ("AGENTSITE_TOKEN", "t")], &[]);
    assert_eq!(loaded.warnings.len(), 1);
    assert!(loaded.warnings[0].contains("AGENTSITE_LISTNE"));
}

#[test]
fn a_key_that_was_renamed_is_read_by_its_former_name_with_a_warning() {
    let flag = [("tls_terminated_by_proxy", "false")];
    let variable = [("AGENTSITE_TLS_ELSEWHERE", "true")];
    let file = join("tls_elsewhere = true\n", &[], &[]);
    let environment = join("", &variable, &[]);
    for (loaded, origin) in [(&file, "file, line 1"), (&environment, "environment AGENTSITE_TLS_ELSEWHERE")] {
        assert!(loaded.config.tls_terminated_by_proxy);
        assert_eq!(loaded.origins["tls_terminated_by_proxy"].to_string(), origin);
        assert!(loaded.warnings[0].contains("is now called"), "{:?}", loaded.warnings);
    }
    let all = join("tls_elsewhere = true\n", &variable, &flag);
    assert!(!all.config.tls_terminated_by_proxy, "the layers are joined under one name");
    let present = join("tls_terminated_by_proxy = true\n", &[], &[]);
    assert!(present.config.tls_terminated_by_proxy && present.warnings.is_empty());
    let both = error("tls_elsewhere = true\ntls_terminated_by_proxy = true\n", &[]);
    assert!(both.contains("duplicate field"), "{both}");
}

#[test]
fn relative_paths_in_the_file_are_relative_to_the_file() {
    let mut sources = sources("data = \"d\"\nagents = \"/abs\"\n", &[("AGENTSITE_TLS_CERT", "c.pem")], &[]);
    sources.file = sources.file.map(|(_, text)| ("etc/site/agentsite.toml".into(), text));
    let config = sources.join().unwrap().config;
    assert_eq!(config.data, PathBuf::from("etc/site/d"));
    assert_eq!(config.agents, PathBuf::from("/abs"));
    assert_eq!(config.tls_cert, Some(PathBuf::from("c.pem")));
}

#[test]
fn every_key_has_its_own_variable_and_a_meaning() {
    let keys = Catalogue::read().keys;
    let names: BTreeSet<String> = keys.iter().map(keys::Key::variable).collect();
    assert_eq!(names.len(), keys.len());
    assert!(names.contains("AGENTSITE_LISTEN") && names.contains("AGENTSITE_TELEMETRY_OTLP_ENDPOINT"));
    let silent: Vec<&str> =
        keys.iter().filter(|key| key.meaning.is_empty()).map(|key| key.path.as_str()).collect();
    assert!(silent.is_empty(), "{silent:?}");
}

#[test]
fn every_plain_key_can_be_set_to_its_own_default_by_its_variable() {
    let shown = docs::shown(&Sources::default().join().unwrap());
    for key in Catalogue::read().keys.iter().filter(|key| !key.is_named()) {
        let value = shown.iter().find(|one| one.key == key.path).map(|one| &one.value).unwrap();
        if !value.is_null() {
            let loaded = join("", &[(&key.variable(), &docs::written(value))], &[]);
            assert_eq!(loaded.config, Config::default(), "{}", key.path);
        }
    }
}

#[test]
fn the_reference_page_holds_every_key() {
    let page = docs::page();
    assert!(page.contains("| `listen` | text | `127.0.0.1:4747` | `AGENTSITE_LISTEN` | `--listen` | "));
    assert!(page.contains("## `[models.NAME]`"));
    assert!(page.contains("`AGENTSITE_MODELS_NAME_KEY_ENV`"));
    assert!(page.contains("| `anonymous` | none \\| public \\| admin | `public` |"));
    for key in Catalogue::read().keys {
        assert!(page.contains(&key.variable()), "{}", key.path);
    }
}

#[test]
fn shown_values_name_their_origin_and_mask_passwords() {
    let loaded = join("[telemetry]\notlp_endpoint = \"http://me:secret@sink:4318/v1\"\n", &[], &[]);
    let shown = docs::shown(&loaded);
    let endpoint = shown.iter().find(|one| one.key == "telemetry.otlp_endpoint").unwrap();
    assert_eq!(endpoint.value, "http://***@sink:4318/v1");
    assert_eq!(endpoint.origin, "file, line 2");
    assert_eq!(shown.iter().find(|one| one.key == "demos").unwrap().origin, "default");
}

#[test]
fn a_file_that_was_named_must_exist_and_the_usual_one_need_not() {
    let folder = tempfile::tempdir().unwrap();
    let missing = folder.path().join("none.toml");
    let named = Reader::new(Some(&missing), BTreeMap::new(), Vec::new());
    assert!(matches!(named.load(), Err(ConfigError::Read { .. })));
    assert!(named.judge("").is_ok(), "a text is judged whether the file is there or not");
    let usual = Reader::new(None, BTreeMap::new(), Vec::new());
    assert!(!usual.file().exists() && usual.text().unwrap().is_none());
}

#[test]
fn the_schema_refuses_unknown_keys() {
    assert_eq!(schema()["additionalProperties"], false);
}
