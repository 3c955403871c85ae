//! Every house rule against a small tree that breaks it and one that keeps it.
//!
//! The trees are written into a fresh temporary folder and read back, so the reader is tested along with the
//! rules. Words the rules forbid are written in two halves here.

use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::metadata::{Package, Purpose};

/// A folder that is gone when the test ends.
struct Folder(PathBuf);

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Writes the files into a folder of their own and reads them as a tree.
pub(super) fn tree(files: &[(&str, &str)]) -> Tree {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let name = format!("xtask-tidy-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
    let folder = Folder(std::env::temp_dir().join(name));
    for (path, text) in files {
        let path = folder.0.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    Tree::load(&folder.0, files.iter().map(|(path, _)| *path))
}

pub(super) fn sources(files: &[(&str, &str)]) -> Vec<Source> {
    let (sources, findings) = source::parse_all(&tree(files));
    assert_eq!(findings, []);
    sources
}

pub(super) fn printed(findings: &[Finding]) -> Vec<String> {
    findings.iter().map(ToString::to_string).collect()
}

pub(super) fn assert_one(findings: &[Finding], beginning: &str) {
    let lines = printed(findings);
    assert_eq!(lines.len(), 1, "{lines:#?}");
    assert!(lines[0].starts_with(beginning), "{lines:#?}");
}

fn package(name: &str, names: &[(&str, Purpose)]) -> Package {
    let names = names.iter().map(|(name, purpose)| ((*name).to_owned(), *purpose)).collect();
    Package { name: name.to_owned(), names, ..Package::default() }
}

#[test]
fn an_edge_against_the_direction_is_found_in_its_manifest() {
    let manifest = "[dependencies]\nagentsite-site.workspace = true\n";
    let members = [
        package("agentsite-store", &[("agentsite-site", Purpose::Normal), ("agentsite-host", Purpose::Dev)]),
        package("agentsite-site", &[("agentsite-store", Purpose::Normal)]),
        package("agentsite-host", &[]),
    ];
    let found = direction::check(&members, &tree(&[("crates/store/Cargo.toml", manifest)]));
    assert_one(&found, "crates/store/Cargo.toml:2: store depends on site (");
}

#[test]
fn the_gateway_may_use_the_site_but_not_the_store() {
    let members = [
        package(
            "agentsite-gateway",
            &[("agentsite-site", Purpose::Normal), ("agentsite-store", Purpose::Normal)],
        ),
        package("agentsite-site", &[]),
        package("agentsite-store", &[]),
    ];
    assert_one(
        &direction::check(&members, &Tree::default()),
        "crates/gateway/Cargo.toml:1: gateway depends on store",
    );
}

#[test]
fn protocol_may_not_use_tokio_except_in_its_tests() {
    let normal = [package("agentsite-protocol", &[("tokio", Purpose::Normal)])];
    assert_one(
        &direction::check(&normal, &Tree::default()),
        "crates/protocol/Cargo.toml:1: protocol depends on tokio",
    );
    let dev = [package("agentsite-protocol", &[("tokio", Purpose::Dev)])];
    assert_eq!(direction::check(&dev, &Tree::default()), []);
}

#[test]
fn a_crate_nobody_placed_is_found() {
    let members = [package("agentsite-newcomer", &[])];
    assert_one(
        &direction::check(&members, &Tree::default()),
        "crates/newcomer/Cargo.toml:1: `newcomer` has no place",
    );
}

#[test]
fn a_cycle_is_told_with_the_place_of_each_step() {
    let found = cycles::check(&sources(&[
        ("crates/site/src/lib.rs", "mod rooms;\nmod tasks;\n"),
        ("crates/site/src/rooms.rs", "use crate::tasks::Task;\n"),
        ("crates/site/src/tasks.rs", "mod queue;\n"),
        ("crates/site/src/tasks/queue.rs", "fn f() {\n    super::super::rooms::open();\n}\n"),
    ]));
    let expected = "crates/site/src/rooms.rs:1: modules of site form a cycle: \
                    rooms -> tasks [crates/site/src/rooms.rs:1] -> rooms [crates/site/src/tasks/queue.rs:2] (";
    assert_one(&found, expected);
}

#[test]
fn a_cycle_among_the_children_of_a_module_is_found() {
    let found = cycles::check(&sources(&[
        ("crates/x/src/lib.rs", "mod index;\n"),
        ("crates/x/src/index.rs", "mod near;\nmod scan;\nmod space;\nuse self::space::Space;\n"),
        ("crates/x/src/index/near.rs", "use super::scan::Care;\nuse super::Space;\n"),
        ("crates/x/src/index/scan.rs", "use crate::index::near::Near;\n"),
        ("crates/x/src/index/space.rs", "mod cells;\nuse self::cells::Cells;\nuse super::other;\n"),
        ("crates/x/src/index/space/cells.rs", "use super::Coded;\n"),
    ]));
    assert_one(&found, "crates/x/src/index/near.rs:1: modules of x/index form a cycle: near -> scan [");
}

#[test]
fn a_name_that_a_parent_only_imports_counts_as_the_child_it_comes_from() {
    let found = cycles::check(&sources(&[
        ("crates/x/src/lib.rs", "mod index;\n"),
        (
            "crates/x/src/index.rs",
            "mod cells;\nmod space;\nuse self::space::{Coded, own};\npub use cells::*;\n",
        ),
        ("crates/x/src/index/cells.rs", "pub struct Cells;\nfn f(_: super::Coded) {}\n"),
        ("crates/x/src/index/space.rs", "use crate::index::Cells;\n"),
    ]));
    assert_one(&found, "crates/x/src/index/cells.rs:2: modules of x/index form a cycle: cells -> space [");
}

#[test]
fn a_name_the_root_re_exports_counts_as_its_module() {
    let root =
        "mod a;\nmod b;\nmod c;\npub use crate::b::{Thing as Renamed, self as other};\npub use c::*;\n";
    let through_a_name = cycles::check(&sources(&[
        ("crates/x/src/lib.rs", root),
        ("crates/x/src/a.rs", "use crate::Renamed;\n"),
        ("crates/x/src/b.rs", "use super::a;\n"),
    ]));
    assert_one(&through_a_name, "crates/x/src/a.rs:1: modules of x form a cycle: a -> b [");
    let through_a_glob = cycles::check(&sources(&[
        ("crates/x/src/lib.rs", root),
        ("crates/x/src/a.rs", "fn f(_: crate::Globbed) {}\n"),
        ("crates/x/src/c.rs", "pub struct Globbed;\nfn g() { vec![crate::a::f()]; }\n"),
    ]));
    assert_one(&through_a_glob, "crates/x/src/a.rs:1: modules of x form a cycle: a -> c [");
}

#[test]
fn an_attribute_that_names_a_path_makes_an_edge() {
    let found = cycles::check(&sources(&[
        ("crates/x/src/lib.rs", "mod a;\nmod b;\n"),
        ("crates/x/src/a.rs", "struct A {\n    #[serde(with = \"crate::b::text\")]\n    b: u8,\n}\n"),
        ("crates/x/src/b.rs", "use crate::a::A;\n"),
    ]));
    assert_one(&found, "crates/x/src/a.rs:2: modules of x form a cycle");
}

#[test]
fn tests_siblings_and_other_crates_make_no_cycle() {
    let found = cycles::check(&sources(&[
        ("crates/x/src/lib.rs", "mod a;\nmod b;\npub use a::A;\n"),
        (
            "crates/x/src/a.rs",
            "use crate::b::B;\npub(in crate::a) struct A;\nmod inner { use super::super::b; }\n",
        ),
        (
            "crates/x/src/b.rs",
            "use serde::a;\n#[cfg(test)]\nmod story {\n    use crate::a::A;\n}\n#[cfg(test)]\nmod tests;\n",
        ),
        ("crates/x/src/b/tests.rs", "use crate::a::A;\n"),
    ]));
    assert_eq!(found, []);
}

#[test]
fn a_long_file_is_warned_about_and_then_refused() {
    let of = |lines: usize| {
        let text = format!("//! Header.\n\n{}", "/// Doc.\nconst _: u8 = 0; // why\n\n".repeat(lines));
        size::check(&sources(&[("crates/x/src/a.rs", &text)])[0])
    };
    assert_eq!(of(500), []);
    assert_one(&of(501), "crates/x/src/a.rs:1: warning: file has 501 code lines");
    assert_one(&of(800), "crates/x/src/a.rs:1: file has 800 code lines, the limit is 800");
}

#[test]
fn tests_inside_a_file_do_not_make_it_long() {
    let text = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n", "const _: u8 = 0;\n".repeat(900));
    assert_eq!(size::check(&sources(&[("crates/x/src/a.rs", &text)])[0]), []);
}

#[test]
fn a_test_module_in_its_own_file_is_known_by_who_refers_to_it() {
    let all = sources(&[
        ("crates/x/src/a.rs", "#[cfg(test)]\nmod story;\nmod code;\n"),
        ("crates/x/src/a/story.rs", "fn a() {}\n"),
        ("crates/x/src/a/story/chapter.rs", "fn a() {}\n"),
        ("crates/x/src/a/code.rs", "fn a() {}\n"),
    ]);
    let tests: Vec<bool> = all.iter().map(|source| source.is_test_file).collect();
    assert_eq!(tests, [false, false, true, true]);
}

#[test]
fn a_long_function_is_warned_about_and_then_refused() {
    let of = |lines: usize| {
        let text = format!(
            "impl A {{\n    // Why.\n    fn work() {{\n{}    }}\n}}\n",
            "        step();\n\n".repeat(lines)
        );
        size::check(&sources(&[("crates/x/src/a.rs", &text)])[0])
    };
    assert_eq!(of(58), []);
    assert_one(&of(59), "crates/x/src/a.rs:3: warning: fn work has 61 code lines");
    assert_one(&of(98), "crates/x/src/a.rs:3: fn work has 100 code lines, the limit is 100");
}

#[test]
fn vague_names_are_found_on_files_folders_and_modules() {
    let files = [
        ("crates/x/src/utils.rs", ""),
        ("crates/x/src/types/room.rs", "mod helper {}\n"),
        ("crates/x/src/room/mod.rs", "mod codec {}\n"),
        ("docs/core.md", ""),
    ];
    let paths = printed(&names::check_paths(&tree(&files)));
    assert_eq!(paths.len(), 3, "{paths:#?}");
    assert!(paths[0].starts_with("crates/x/src/room/mod.rs:1: `mod.rs`"), "{paths:#?}");
    assert!(paths[1].starts_with("crates/x/src/types/room.rs:1: `types` is a vague name"), "{paths:#?}");
    assert!(paths[2].starts_with("crates/x/src/utils.rs:1: `utils` is a vague name"), "{paths:#?}");
    let modules: Vec<Finding> = sources(&files).iter().flat_map(names::check_modules).collect();
    assert_one(&modules, "crates/x/src/types/room.rs:1: module `helper` is a vague name");
}

#[test]
fn a_file_without_a_header_is_found() {
    let found = headers::check(&tree(&[
        ("crates/x/src/lib.rs", "//! What.\n//! Promise.\n"),
        ("xtask/src/short.rs", "//! What.\nfn a() {}\n"),
        ("fuzz/targets/rpc.rs", "#![no_main]\n"),
    ]));
    assert_one(&found, "xtask/src/short.rs:1: opens with fewer than 2 lines");
}

#[test]
fn unfinished_work_and_machine_paths_are_found_in_any_text() {
    let notes = concat!(
        "fine\nFIX",
        "ME later\nsee /ro",
        "ot/notes\nhttps://a.example/wo",
        "rk/x mktemp a.XX",
        "XX\n"
    );
    let code = concat!("fn a() { todo", "!() }\n");
    let found =
        words::check_text(&tree(&[("docs/a.md", notes), ("crates/x/src/a.rs", code), ("Cargo.lock", notes)]));
    let lines = printed(&found);
    assert_eq!(lines.len(), 3, "{lines:#?}");
    assert!(lines[0].starts_with("crates/x/src/a.rs:1: "), "{lines:#?}");
    assert!(lines[1].starts_with("docs/a.md:2: "), "{lines:#?}");
    assert!(lines[2].starts_with("docs/a.md:3: "), "{lines:#?}");
}

#[test]
fn a_test_that_sleeps_is_found_unless_it_says_why() {
    let text = "fn back_off() { std::thread::sleep(PAUSE); }\n\
                #[test]\nfn story() {\n    std::thread::sleep(PAUSE);\n\
                // tidy: waits because the process is not ours\n    std::thread::sleep(PAUSE);\n}\n";
    let found = words::check_code(&sources(&[("crates/x/src/a.rs", text)])[0]);
    assert_one(&found, "crates/x/src/a.rs:4: a test that sleeps");
    let imported = sources(&[("crates/x/tests/e2e/a.rs", "use tokio::time::{self, sleep};\n")]);
    assert_one(&words::check_code(&imported[0]), "crates/x/tests/e2e/a.rs:1: a test that sleeps");
}

#[test]
fn a_test_that_can_end_without_testing_is_found_unless_it_says_why() {
    let text = "fn python() -> Option<u8> { return None; }\n\
                #[tokio::test]\nasync fn story() {\n    let Some(python) = python() else { return };\n\
                let quiet = || { return 1; };\n}\n\
                #[test]\n#[ignore]\nfn later() {\n\
                // tidy: skipped because the kernel cannot do this\n    return;\n}\n";
    let lines = printed(&early_returns::check(&sources(&[("crates/x/src/a.rs", text)])[0]));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].starts_with("crates/x/src/a.rs:4: a test that can return early"), "{lines:#?}");
    assert!(lines[1].starts_with("crates/x/src/a.rs:8: a test that is ignored"), "{lines:#?}");
    let said = concat!("fn f() { println!(\"skip", "ped: no python\"); }\n");
    let found = early_returns::check(&sources(&[("crates/x/tests/e2e/a.rs", said)])[0]);
    assert_one(&found, "crates/x/tests/e2e/a.rs:1: a test that skips itself");
}

#[test]
fn unbounded_queues_and_unsafe_code_are_found() {
    let queue = concat!("use tokio::sync::mpsc::unbounded", "_channel;\n");
    assert_one(
        &words::check_code(&sources(&[("crates/x/src/a.rs", queue)])[0]),
        "crates/x/src/a.rs:1: an unbounded",
    );
    let code = "// unsafe is only a word here\nconst A: &str = \"unsafe\";\nfn f() { unsafe { g() } }\n";
    let found = sources(&[("crates/host/src/sandbox.rs", code), ("crates/x/src/a.rs", code)]);
    assert_eq!(words::check_code(&found[0]), []);
    assert_one(&words::check_code(&found[1]), "crates/x/src/a.rs:3: `unsafe`");
}

#[test]
fn http_words_stay_in_the_gateway() {
    let code =
        "use http::StatusCode;\nfn f() { axum::serve(); }\n#[cfg(test)]\nmod tests { use axum::Router; }\n";
    let found = sources(&[("crates/gateway/src/a.rs", code), ("crates/site/src/a.rs", code)]);
    assert_eq!(layers::check(&found[0]), []);
    let lines = printed(&layers::check(&found[1]));
    assert_eq!(lines.len(), 2, "{lines:#?}");
    assert!(lines[0].starts_with("crates/site/src/a.rs:1: `StatusCode` below the gateway"), "{lines:#?}");
    assert!(lines[1].starts_with("crates/site/src/a.rs:2: `axum` below the gateway"), "{lines:#?}");
}

#[test]
fn a_file_that_does_not_parse_is_a_finding_not_a_panic() {
    let (sources, findings) = source::parse_all(&tree(&[("crates/x/src/a.rs", "fn a() {}\nfn fn\n")]));
    assert_eq!(sources.len(), 0);
    assert_one(&findings, "crates/x/src/a.rs:2: does not parse");
}

#[test]
fn binary_and_missing_files_are_left_out_of_the_tree() {
    let tree = tree(&[("a.bin", "a\0b"), ("b.md", "text")]);
    let paths: Vec<&str> = tree.files().iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["b.md"]);
    assert_eq!(Tree::load(&std::env::temp_dir(), ["no/such/file"].into_iter()).files().len(), 0);
}
