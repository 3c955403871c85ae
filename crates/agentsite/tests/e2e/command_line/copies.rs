//! `agentsite backup` and `restore`.
//!
//! A copy can be taken at any time and is never overwritten; it is brought back only while no site runs. That a copy is consistent
//! under load is the store's own contract.

use crate::site::TestSite;

fn tasks(site: &TestSite) -> usize {
    site.run(&["task", "ls", "--json"]).ok().json()["tasks"].as_array().unwrap().len()
}

#[test]
fn a_backup_of_a_running_site_brings_its_tasks_back() {
    let mut site = TestSite::started();
    let kept = site.run(&["call", "echo", "keep me", "--json"]).ok().json();
    let said = site.run(&["backup", "copy.db"]).ok();
    assert!(said.out().contains("copy.db"), "{said:?}");
    site.run(&["call", "echo", "after the copy"]).ok();
    assert_eq!(tasks(&site), 2);
    let again = site.run(&["backup", "copy.db"]);
    assert_eq!(again.code(), 1, "a copy is never overwritten");

    let refused = site.run(&["restore", "copy.db"]);
    assert_eq!(refused.code(), 1, "{refused:?}");
    assert!(refused.err().contains("stop"), "{refused:?}");
    assert_eq!(tasks(&site), 2, "nothing happened");

    assert!(site.stop().success());
    site.run(&["restore", "copy.db"]).ok();
    site.start();
    assert_eq!(tasks(&site), 1);
    let shown = site.run(&["task", "show", kept["id"].as_str().unwrap(), "--json"]).ok().json();
    assert_eq!(shown["artifacts"][0]["parts"][0]["text"], "keep me");
}

#[test]
fn a_stopped_site_is_backed_up_and_restored_into_another_folder() {
    let mut site = TestSite::started();
    site.run(&["call", "echo", "keep me"]).ok();
    assert!(site.stop().success());
    let json = site.run(&["backup", "copy.db", "--json"]).ok().json();
    assert!(json["file"].as_str().unwrap().ends_with("copy.db"));
    let mut other = TestSite::new();
    let copy = site.path().join("copy.db").display().to_string();
    other.run(&["restore", &copy]).ok();
    other.start();
    assert_eq!(tasks(&other), 1);
}

#[test]
fn what_cannot_be_copied_is_told() {
    let site = TestSite::new();
    let nothing = site.run(&["backup", "copy.db"]);
    assert_eq!(nothing.code(), 6, "{nothing:?}");
    assert!(nothing.err().contains("there is no data to back up"), "{nothing:?}");
    assert_eq!(site.run(&["restore", "nowhere.db"]).code(), 6);
    site.write("garbage.db", "this is no database at all, only words");
    let garbage = site.run(&["restore", "garbage.db"]);
    assert_eq!(garbage.code(), 1, "{garbage:?}");
    assert!(garbage.err().contains("garbage.db"), "{garbage:?}");
}
