//! Settings from two files.

use std::path::{Path, PathBuf};

use wb_budget::ModelCard;
use wb_conductor::Compactor;
use wb_session::SessionSettings;
use wb_session::{SettingsFileError, SettingsRead, read_settings};

const MAX_BYTES: u64 = 1 << 20;

/// Writes a separate file for a test.
#[expect(clippy::disallowed_methods, reason = "a test is at the edge")]
fn file(name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("settings-{name}.json"));
    std::fs::write(&path, bytes).unwrap();
    path
}

fn absent() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("no such folder/settings.json")
}

fn read_one(path: &Path) -> Result<SettingsRead, SettingsFileError> {
    read_settings(Some(path), None)
}

/// Returns the text of an error after the path of its file, and its hint.
fn refusal(name: &str, bytes: impl AsRef<[u8]>) -> (String, &'static str) {
    let path = file(name, bytes);
    let error = read_one(&path).unwrap_err();
    let text = error.to_string();
    (text.strip_prefix(path.to_str().unwrap()).unwrap().to_owned(), error.hint())
}

#[test]
fn a_project_file_overrides_the_global_one_key_by_key() {
    let global = file(
        "merge-global",
        r#"{"theme": "dark", "compaction": {"enabled": false, "keepRecentTokens": 1, "reserveTokens": 2}}"#,
    );
    let project = file(
        "merge-project",
        r#"{"compaction": {"keepRecentTokens": 9}, "branchSummary": {"reserveTokens": 3}}"#,
    );
    let read = read_settings(Some(&global), Some(&project)).unwrap();
    let compaction = read.settings.compaction;
    assert_eq!((compaction.enabled, compaction.keep_recent_tokens, compaction.reserve_tokens), (false, 9, 2));
    assert_eq!(read.settings.branch_summary.reserve_tokens, 3);
    assert!(read.notes.is_empty());
    let other_way = read_settings(Some(&project), Some(&global)).unwrap().settings;
    assert_eq!(other_way.compaction.keep_recent_tokens, 1);
    assert_eq!(other_way.branch_summary.reserve_tokens, 3);
}

#[test]
fn a_file_that_is_not_there_is_no_error_and_no_note() {
    let defaults = SettingsRead::default();
    assert_eq!(read_settings(None, None).unwrap(), defaults);
    assert_eq!(read_settings(Some(&absent()), Some(&absent())).unwrap(), defaults);
    let below_a_file = file("a-file", "{}").join("settings.json");
    assert_eq!(read_one(&below_a_file).unwrap(), defaults);
    let project = file("only", r#"{"compaction": {"enabled": false}}"#);
    assert!(!read_settings(Some(&absent()), Some(&project)).unwrap().settings.compaction.enabled);
}

#[test]
fn an_empty_file_sets_nothing_and_is_noted_since_its_writer_may_have_been_stopped() {
    for (name, bytes) in [("empty", ""), ("blank", " \r\n\t\n"), ("mark", "\u{FEFF}\n")] {
        let path = file(name, bytes);
        let read = read_one(&path).unwrap();
        assert_eq!(read.settings, SessionSettings::default());
        let notes: Vec<_> = read.notes.iter().map(ToString::to_string).collect();
        assert_eq!(notes, [format!("{}: the file is empty and sets nothing", path.display())]);
    }
}

#[test]
fn keys_that_nobody_knows_are_noted_with_their_file_and_keys_of_the_host_are_not() {
    let global = file("unknown-global", r#"{"compaction": {"keepRecent": 1}, "other": {"x": 1}}"#);
    let project = file("unknown-project", r#"{"branchSummary": {"skipPrompt": true, "skip": 1}}"#);
    let read = read_settings(Some(&global), Some(&project)).unwrap();
    assert_eq!(read.settings, SessionSettings::default());
    let notes: Vec<_> = read.notes.iter().map(ToString::to_string).collect();
    let expected = [
        format!("{}: the key compaction.keepRecent is not known and sets nothing", global.display()),
        format!("{}: the key branchSummary.skip is not known and sets nothing", project.display()),
    ];
    assert_eq!(notes, expected);
}

#[test]
fn a_bad_value_is_refused_by_file_key_and_what_was_expected_and_found() {
    let (text, hint) = refusal("bad-value", r#"{"compaction": {"reserveTokens": "16k"}}"#);
    assert_eq!(
        text,
        ": compaction.reserveTokens: expected a whole number of tokens, not negative, found \"16k\""
    );
    assert_eq!(hint, "correct this value, or remove its key to get the default");
    assert_eq!(
        refusal("bad-section", r#"{"branchSummary": null}"#).0,
        ": branchSummary: expected an object, found null"
    );
    assert_eq!(refusal("bad-root", "[]").0, ": settings: expected an object, found []");
}

#[test]
fn the_file_that_is_refused_is_named_also_when_the_other_one_is_good() {
    let good = file("good", "{}");
    let bad = file("bad", r#"{"compaction": 1}"#);
    for (global, project) in [(&good, &bad), (&bad, &good)] {
        let error = read_settings(Some(global), Some(project)).unwrap_err().to_string();
        assert_eq!(error, format!("{}: compaction: expected an object, found 1", bad.display()));
    }
}

#[test]
fn bad_json_is_refused_with_its_line_and_column() {
    let (text, hint) = refusal("comma", "{\n  \"compaction\": {\"enabled\": false,}\n}");
    assert_eq!(text, ", line 2, column 35: not JSON: trailing comma");
    assert!(hint.contains("without comments"));
    let (text, _) = refusal("cut", "{\"compaction\": {\"enabled\": fal");
    assert_eq!(text, ", line 1, column 30: not JSON: EOF while parsing a value");
    let (text, _) = refusal("comment", "// mine\n{}");
    assert_eq!(text, ", line 1, column 1: not JSON: expected value");
    let (text, _) = refusal("deep", "[".repeat(100_000));
    assert_eq!(text, ", line 1, column 128: not JSON: recursion limit exceeded");
}

#[test]
fn a_file_that_is_not_utf8_is_refused_and_a_byte_order_mark_is_not() {
    let (text, hint) = refusal("latin-1", b"{\"theme\":\n\"caf\xE9\"}");
    assert_eq!(text, ", line 2, column 5: not JSON: a byte that is not UTF-8");
    assert!(hint.contains("UTF-8"));
    let utf_16: Vec<u8> = "\u{FEFF}{}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(refusal("utf-16", utf_16).0, ", line 1, column 1: not JSON: a byte that is not UTF-8");
    let path = file("utf-8-mark", "\u{FEFF}{\"compaction\": {\"enabled\": false}}");
    assert!(!read_one(&path).unwrap().settings.compaction.enabled);
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR"));
    let error = read_one(&folder).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!("{}: expected a settings file, found a directory", folder.display())
    );
    assert!(error.hint().starts_with("name a file"));
    #[cfg(unix)]
    assert_eq!(
        read_one(Path::new("/dev/zero")).unwrap_err().to_string(),
        "/dev/zero: expected a settings file, found a device or a pipe"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_refused() {
    let error = read_one(Path::new("a\0b")).unwrap_err();
    assert!(matches!(&error, SettingsFileError::Unreadable { path, .. } if path == Path::new("a\0b")));
    assert!(error.to_string().contains("the settings cannot be read: "), "{error}");
    assert_eq!(error.hint(), "check that the file may be read");
}

#[test]
fn a_file_at_the_cap_is_read_and_a_byte_more_is_refused() {
    let padded = |n_bytes: u64| {
        let blanks = usize::try_from(n_bytes).unwrap() - 2;
        format!("{{{}}}", " ".repeat(blanks))
    };
    assert_eq!(read_one(&file("at-cap", padded(MAX_BYTES))).unwrap(), SettingsRead::default());
    let (text, _) = refusal("above-cap", padded(MAX_BYTES + 1));
    assert_eq!(text, ": expected at most 1048576 bytes of settings, found more");
}

#[test]
fn the_settings_of_an_agent_are_a_section_of_the_same_files_and_count_as_a_whole() {
    let global = file("agent-global", r#"{"context": {"budget": {"keep_recent": 4000}, "colour": 3}}"#);
    let read = read_one(&global).unwrap();
    assert_eq!(read.context.as_ref().unwrap().budget.keep_recent, 4000);
    assert!(read.notes[0].to_string().ends_with("the key context.colour is not known and sets nothing"));
    let project = file("agent-project", r#"{"context": {"max_continuation_retries": 1}}"#);
    let both = read_settings(Some(&global), Some(&project)).unwrap().context.unwrap();
    assert_eq!((both.max_continuation_retries, both.budget.keep_recent), (1, 6000));
    let (text, hint) = refusal("agent-bad", r#"{"context": {"budget": {"trigger_ratio": 7}}}"#);
    assert!(text.starts_with(": context: budget: trigger ratio 7 is not in (0, 1]"), "{text}");
    assert_eq!(hint, "correct this value, or remove its key to get the default");
}

#[test]
fn a_section_of_compaction_sets_the_limit_and_the_tail_over_those_of_an_agent() {
    let card = ModelCard::with_window(100_000);
    let budget = |name: &str, bytes: &str| {
        read_one(&file(name, bytes)).unwrap().compactor(&card, None).unwrap().budget().unwrap()
    };
    let both = r#"{"compaction": {"reserveTokens": 20000, "keepRecentTokens": 9000}, "context": {"budget": {"keep_recent": 1}}}"#;
    let both = budget("limit-both", both);
    assert_eq!((both.limit, both.tail), (80_000, 9_000));
    let none = budget("limit-none", "{}");
    assert_eq!(none.limit, Compactor::new().card(card.clone()).budget().unwrap().limit);
}
