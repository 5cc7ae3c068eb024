//! A law of `wb hook`: in a chain of compactions by a host, whatever the sizes, the user's words
//! are in the digest or counted, or the host is left to itself.

use proptest::prelude::*;
use serde_json::{Value, json};
use wb_testkit::depth::cases;

use super::hook::ask;

/// One turn: the bytes of the request, whether it has a rule, and the bytes of the result.
type Turn = (usize, bool, usize);

fn request((nth, (bytes, is_rule, _)): (usize, &Turn)) -> String {
    let rule = if *is_rule { format!(" Never touch part_{nth}.rs.") } else { String::new() };
    format!("Request {nth}: build it.{rule} {}", "It is a plain step. ".repeat(bytes / 20))
}

fn messages(nth: usize, turn: &Turn) -> [Value; 4] {
    let id = format!("c{nth}");
    let call =
        json!({"kind": "tool_call", "id": id, "name": "bash", "input": {"command": format!("make {nth}")}});
    [
        json!({"role": "user", "content": request((nth, turn))}),
        json!({"role": "assistant", "content": [call]}),
        json!({"role": "toolResult", "toolCallId": id, "toolName": "bash", "content": "x".repeat(turn.2)}),
        json!({"role": "assistant", "content": "Done."}),
    ]
}

/// Returns how many requests a digest counts and does not quote: those that it leaves out, and the
/// older ones of a form.
fn n_counted(digest: &str) -> usize {
    let number = |line: &str, label: &str| -> Option<usize> {
        line.strip_prefix(label)?.split([',', ' ']).next()?.parse().ok()
    };
    let left_out = |line: &str| number(line, "- Requests left out: ");
    let of_form = |line: &str| number(line, "- Earlier request, the newest of ").map(|n| n - 1);
    digest.lines().filter_map(|line| left_out(line).or_else(|| of_form(line))).sum()
}

fn texts(message: &Value) -> &str {
    message["content"].as_str().unwrap_or_default()
}

/// Compacts as a host does: the digest, then the messages that stay.
fn compacted(messages: &[Value], digest: &str, keep: &Value) -> Vec<Value> {
    let ranges = keep.as_array().unwrap().iter();
    let kept = ranges.flat_map(|range| {
        let [start, end] = ["start", "end"].map(|key| usize::try_from(range[key].as_u64().unwrap()).unwrap());
        messages[start..end].to_vec()
    });
    [json!({"role": "user", "content": digest})].into_iter().chain(kept).collect()
}

fn turns() -> impl Strategy<Value = Vec<Turn>> {
    let request = prop_oneof![4 => 0_usize..200, 1 => 0_usize..9_000];
    let result = prop_oneof![3 => 0_usize..6_000, 1 => 0_usize..200_000];
    prop::collection::vec((request, any::<bool>(), result), 1..12)
}

fn check(rounds: &[Vec<Turn>]) -> Result<(), TestCaseError> {
    let home = tempfile::tempdir().unwrap();
    let (mut said, mut now) = (Vec::new(), Vec::new());
    for turns in rounds {
        for turn in turns {
            now.extend(messages(said.len(), turn));
            said.push((request((said.len(), turn)), turn.1));
        }
        let question = json!({"version": 1, "host": "claude-code", "session": {"messages": now}});
        let answer = ask(home.path(), &question);
        if answer["action"] == "pass" {
            continue;
        }
        let digest = answer["digest"].as_str().unwrap();
        now = compacted(&now, digest, &answer["keep"]);
        let is_kept = |text: &str| now[1..].iter().any(|message| texts(message) == text);
        let is_quoted = |nth: usize| {
            let words = format!(": Request {nth}:");
            digest.lines().any(|line| line.starts_with("- ") && line.contains(&words))
        };
        let n_present =
            said.iter().enumerate().filter(|(nth, (text, _))| is_kept(text) || is_quoted(*nth)).count();
        prop_assert!(n_present + n_counted(digest) >= said.len(), "{n_present} of {}:\n{digest}", said.len());
        prop_assert!(is_kept(&said[0].0) || digest.contains("- First request: Request 0:"), "{digest}");
        for (nth, (text, is_rule)) in said.iter().enumerate() {
            let rule = format!("Never touch part_{nth}.rs.");
            prop_assert!(!is_rule || is_kept(text) || digest.contains(&rule), "{rule}\n{digest}");
        }
    }
    Ok(())
}

#[test]
fn the_latest_request_of_a_short_talk_has_room() {
    check(&[vec![(60, true, 105), (160, true, 558)]]).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(60)))]
    #[test]
    fn the_users_words_are_kept_or_counted_or_the_hook_passes(rounds in prop::collection::vec(turns(), 1..5)) {
        check(&rounds)?;
    }
}
