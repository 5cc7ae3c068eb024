//! `wb view`: the page, and what it says of a compaction.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::support::place::{Place, json_of};
use crate::support::{Answer, root, wb, wb_of};

/// The mode of a file for its owner.
const PRIVATE: u32 = 0o600;

fn place() -> Place {
    Place::of_file(&root().join("fixtures/sessions/flaky-checkout.jsonl"))
}

fn view(place: &Place, more: &[&str]) -> Answer {
    let (file, out) = (place.path("s.jsonl"), place.path("page.html"));
    wb(&[&["view", &file, "--html", &out], more].concat())
}

#[test]
fn a_page_is_written_for_its_owner_and_the_session_stays() {
    let place = place();
    let before = place.bytes();
    let answer = view(&place, &[]);
    assert_eq!(answer.code, 0, "{}", answer.stderr);
    assert!(
        answer.stdout.is_empty() && answer.stderr.contains("A compaction now would fold"),
        "{}",
        answer.stderr
    );
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.starts_with("<!DOCTYPE html>") && page.contains("last_item_is_sold_once"));
    assert_eq!((place.bytes(), place.names()), (before, vec!["page.html".to_owned(), "s.jsonl".to_owned()]));
    assert_eq!(mode_of(Path::new(&place.path("page.html"))), PRIVATE);
}

#[cfg(unix)]
fn mode_of(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt as _;
    fs::metadata(path).unwrap().permissions().mode() & 0o777
}

#[cfg(not(unix))]
fn mode_of(_: &Path) -> u32 {
    PRIVATE
}

#[cfg(unix)]
fn open_to_all(path: &Path) {
    use std::os::unix::fs::PermissionsExt as _;
    fs::set_permissions(path, fs::Permissions::from_mode(0o644)).unwrap();
}

#[cfg(not(unix))]
fn open_to_all(_: &Path) {}

#[test]
fn a_page_is_not_overwritten_unless_that_is_asked_for() {
    let place = place();
    assert_eq!(view(&place, &[]).code, 0);
    let refused = view(&place, &[]);
    assert!(refused.code == 1 && refused.stderr.contains("already exists"), "{}", refused.stderr);
    open_to_all(Path::new(&place.path("page.html")));
    assert_eq!(view(&place, &["--overwrite"]).code, 0);
    assert_eq!(mode_of(Path::new(&place.path("page.html"))), PRIVATE);
    let itself = wb(&["view", &place.path("s.jsonl"), "--html", &place.path("s.jsonl"), "--overwrite"]);
    assert!(itself.stderr.contains("is the session itself"), "{}", itself.stderr);
}

#[test]
fn the_preview_is_what_compact_does() {
    let place = place();
    let viewed = json_of(&view(&place, &["--json"]));
    let compacted = json_of(&wb(&["compact", &place.path("s.jsonl"), "--force", "--json"]));
    let verdict = viewed["verdict"].to_string();
    let after = wb_message::number::grouped(compacted["tokens_after"].as_u64().unwrap());
    let folded = compacted["messages_before"].as_u64().unwrap() - n_kept(&compacted);
    assert!(verdict.contains(&format!("{after} tokens would remain")), "{verdict}");
    assert!(verdict.contains(&format!("fold {folded} messages")), "{verdict} {compacted}");
}

/// Returns the number of messages that stay: all but the digest and the restored files.
fn n_kept(compacted: &Value) -> u64 {
    compacted["messages_after"].as_u64().unwrap() - 1 - compacted["restored"].as_u64().unwrap()
}

#[test]
fn an_operation_is_listed_and_the_digest_leads_to_folded_messages() {
    let place = place();
    let compacted = wb(&["compact", &place.path("s.jsonl"), "--force", "--in-place", "--allow-open"]);
    assert_eq!(compacted.code, 0, "{}", compacted.stderr);
    let answer = view(&place, &[]);
    assert!(answer.stderr.contains("wb compacted it once."), "{}", answer.stderr);
    let page = fs::read_to_string(place.path("page.html")).unwrap();
    assert!(page.contains("Operations of wb on this session") && page.contains("id=\"n0\""));
    assert!(page.contains("Folded by an earlier compaction") && page.contains("href=\"#n0\""));
}

#[test]
fn a_screen_needs_a_terminal() {
    let place = place();
    let answer = wb(&["view", &place.path("s.jsonl")]);
    assert!(answer.code == 1 && answer.stderr.contains("--html OUT"), "{}", answer.stderr);
    let answer = wb(&["view", &place.path("s.jsonl"), "--json"]);
    assert!(answer.stdout.contains("a screen has no JSON form"), "{}", answer.stdout);
}

#[test]
fn a_missing_session_is_named_and_no_page_is_written() {
    let place = place();
    let (missing, out) = (place.path("missing.jsonl"), place.path("page.html"));
    let answer = wb(&["view", &missing, "--html", &out]);
    assert!(answer.code == 1 && answer.stderr.contains("no such file"), "{}", answer.stderr);
    let answer = wb(&["view", "-", "--html", &out]);
    assert!(answer.code == 1 && answer.stderr.contains("standard input"), "{}", answer.stderr);
    let home = tempfile::tempdir().unwrap();
    let answer = wb_of(home.path(), &["view", "--html", &out], b"");
    assert!(answer.stderr.contains("no session of this folder was found"), "{}", answer.stderr);
    assert!(!Path::new(&out).exists());
}
