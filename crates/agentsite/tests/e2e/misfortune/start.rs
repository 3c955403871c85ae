//! Starts that cannot be: each ends with code 1 and one sentence that says what to do.
//!
//! Promises that are tested: the sentence names the thing and the way out; what is there stays as it was.

use std::fs;
use std::path::PathBuf;

use crate::site::{Said, TestSite, answer};

/// The position of the schema version in the header of an SQLite file.
const VERSION_AT: usize = 60;

/// Tries to serve and expects a refusal with these words.
fn refused(site: &TestSite, arguments: &[&str], words: &[&str]) -> Said {
    let said = site.run(&[&["serve"], arguments].concat());
    assert_eq!(said.code(), 1, "{said:?}");
    let complaint = said.err();
    let last = complaint.lines().last().unwrap_or_default();
    assert!(words.iter().all(|word| last.contains(word)), "{words:?} in {complaint}");
    said
}

/// A site that answered once and was stopped in good order, and its database.
async fn stopped_site() -> (TestSite, PathBuf) {
    let mut site = TestSite::started();
    for number in 0..20 {
        site.send("echo", &format!("{number}").repeat(2000)).await;
    }
    assert!(site.stop().success());
    let database = site.data().join("site.db");
    assert!(database.is_file());
    (site, database)
}

#[tokio::test]
async fn a_port_in_use_is_named_with_the_way_out() {
    let (first, second) = (TestSite::started(), TestSite::new());
    let address = first.url.trim_start_matches("http://");
    refused(&second, &["--listen", address], &[address, "in use", "--listen"]);
    assert_eq!(answer(&first.send("echo", "still here").await), "still here");
}

#[tokio::test]
async fn a_second_server_on_the_same_data_is_refused() {
    let first = TestSite::started();
    refused(&first, &["--listen", "127.0.0.1:0"], &["another agentsite", "--data"]);
    assert_eq!(answer(&first.send("echo", "still here").await), "still here");
    first.run(&["status"]).ok();
}

#[tokio::test]
async fn a_file_that_is_no_database_is_told_and_left_alone() {
    let site = TestSite::new();
    let garbage = "this is not a database ".repeat(4000);
    site.write("agentsite-data/site.db", &garbage);
    refused(&site, &["--listen", "127.0.0.1:0"], &["site.db", "damaged", "restore"]);
    assert_eq!(fs::read_to_string(site.data().join("site.db")).unwrap(), garbage);
}

#[tokio::test]
async fn a_truncated_database_is_told() {
    let (site, database) = stopped_site().await;
    let length = fs::metadata(&database).unwrap().len();
    fs::File::options().write(true).open(&database).unwrap().set_len(length / 2).unwrap();
    refused(&site, &["--listen", "127.0.0.1:0"], &["site.db", "damaged", "restore"]);
}

#[tokio::test]
async fn a_database_with_a_damaged_middle_is_told_after_a_crash() {
    let (mut site, database) = stopped_site().await;
    site.start();
    site.send("echo", "unclean").await;
    site.kill();
    let mut bytes = fs::read(&database).unwrap();
    // Past the first page, which holds the tables' names.
    bytes[8192..].fill(0xa5);
    fs::write(&database, bytes).unwrap();
    refused(&site, &["--listen", "127.0.0.1:0"], &["site.db", "damaged", "restore"]);
}

#[tokio::test]
async fn a_database_of_a_later_version_is_refused_untouched() {
    let (site, database) = stopped_site().await;
    let mut bytes = fs::read(&database).unwrap();
    bytes[VERSION_AT..VERSION_AT + 4].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&database, &bytes).unwrap();
    refused(&site, &["--listen", "127.0.0.1:0"], &["later version", "schema 99"]);
    assert!(fs::read(&database).unwrap() == bytes, "the file is untouched");
}

#[tokio::test]
async fn a_data_folder_that_cannot_be_written_is_named() {
    let site = TestSite::new();
    site.write("taken", "a file");
    refused(&site, &["--listen", "127.0.0.1:0", "--data", "taken/data"], &["taken/data", "--data"]);
    // Not even root can make a file here.
    refused(&site, &["--listen", "127.0.0.1:0", "--data", "/proc/self"], &["/proc/self", "cannot"]);
}

#[tokio::test]
async fn an_open_address_without_encryption_is_refused() {
    let site = TestSite::new();
    refused(&site, &["--listen", "0.0.0.0:0"], &["0.0.0.0:0", "--tls-cert", "--tls-key"]);
    let open = ["--listen", "0.0.0.0:0", "--tls-terminated-by-proxy", "--anonymous", "admin"];
    refused(&site, &open, &["anonymous", "public"]);
}

#[tokio::test]
async fn a_refused_start_leaves_no_announcement_behind() {
    let (first, second) = (TestSite::started(), TestSite::new());
    let address = first.url.trim_start_matches("http://");
    refused(&second, &["--listen", address], &["in use"]);
    assert!(!second.data().join("site.json").exists());
    let said = second.run(&["status"]);
    assert_eq!(said.code(), 5, "{said:?}");
    let mut second = second;
    second.start();
    assert_eq!(answer(&second.send("echo", "now").await), "now");
}
