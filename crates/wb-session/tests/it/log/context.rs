//! The model's view of a log.

use std::fmt::Write as _;

use insta::assert_snapshot;
use wb_message::outline::line;
use wb_message::{Block, Content, Message, Pairing};
use wb_session::{Context, EntryId, SessionLog, build_context};

use crate::support::{log_of, read};

/// Writes one line per message with its entry and, where known, the prompt that was counted (`~`
/// where it is not that of the messages before).
fn outlined(context: &Context) -> String {
    let mut out = String::new();
    for (at, (message, entry)) in context.messages.iter().zip(&context.entries).enumerate() {
        let request = context.requests.iter().find(|request| request.at == at);
        let counted = request
            .map(|it| format!("  <- {}{}", if it.is_current { "" } else { "~" }, it.usage.prompt_tokens()));
        let _ = writeln!(out, "{entry:<8} {}{}", line(message), counted.unwrap_or_default());
    }
    out
}

fn context_at(log: &SessionLog, leaf: &str) -> Context {
    build_context(log, Some(&EntryId::from(leaf))).unwrap()
}

fn at_end(name: &str) -> Context {
    let log = read(name).unwrap();
    build_context(&log, log.leaf()).unwrap()
}

#[test]
fn the_first_version_gives_the_digest_and_what_was_kept() {
    assert_snapshot!(outlined(&at_end("v1")), @r#"
    00000005 digest    "two tests fail"
    00000002 assistant read(test.log)  <- ~9203
    00000003 error     read "2 failed"
    00000004 custom    (ci) "the build is red"
    00000006 user      "repair them"
    "#);
}

#[test]
fn the_second_version_knows_hook_messages_by_their_old_name() {
    assert_snapshot!(outlined(&at_end("v2")), @r#"
    a1       user      "hello"
    a2       custom    (note) "be brief"
    "#);
}

#[test]
fn a_branch_gives_its_own_messages_and_the_digest_of_the_one_that_was_left() {
    assert_snapshot!(outlined(&at_end("branches")), @r#"
    u1       user      "what is in this picture?" · [image/png]
    a1       assistant thinking "look" · "a greeting"  <- 1200
    b1       digest    "French was tried"
    x2       custom    (hint) "the user speaks German"
    s1       shell     $ locale [exit 0]
    u3       user      "now in German"
    "#);
    assert_snapshot!(outlined(&context_at(&read("branches").unwrap(), "a2")), @r#"
    u1       user      "what is in this picture?" · [image/png]
    a1       assistant thinking "look" · "a greeting"  <- 1200
    u2       user      "translate it"
    a2       assistant "in French: salut"  <- 1240
    "#);
}

#[test]
fn only_the_last_compaction_on_the_path_counts() {
    assert_snapshot!(outlined(&at_end("compactions")), @r#"
    c2       digest    "newer digest"
    a2       assistant "second"  <- ~200
    u3       user      "three"
    a3       assistant "third"  <- ~150
    u4       user      "four"
    a4       assistant "fourth"  <- 180
    "#);
    assert_snapshot!(outlined(&context_at(&read("compactions").unwrap(), "a3")), @r#"
    c1       digest    "older digest"
    u2       user      "two"
    a2       assistant "second"  <- ~200
    u3       user      "three"
    a3       assistant "third"  <- 150
    "#);
}

#[test]
fn a_boundary_that_is_not_before_the_compaction_keeps_nothing() {
    for kept in ["\"u2\"", "\"c1\"", "\"gone\"", "null"] {
        let compaction = format!(
            r#"{{"type":"compaction","id":"c1","parentId":"u1","summary":"S","firstKeptEntryId":{kept}}}"#
        );
        let log = log_of(&[
            r#"{"type":"message","id":"u1","parentId":null,"message":{"role":"user","content":"one"}}"#,
            &compaction,
            r#"{"type":"message","id":"u2","parentId":"c1","message":{"role":"user","content":"two"}}"#,
        ]);
        let context = build_context(&log, log.leaf()).unwrap();
        assert_eq!(context.entries, ["c1", "u2"].map(EntryId::from), "{kept}");
    }
}

#[test]
fn the_stretches_between_compactions_hold_every_request_once() {
    let log = read("compactions").unwrap();
    let ends = log.segment_ends(log.leaf()).unwrap();
    assert_eq!(ends, ["a2", "a3", "a4"].map(|id| Some(EntryId::from(id))));
    let current = |leaf: &Option<EntryId>| {
        let context = build_context(&log, leaf.as_ref()).unwrap();
        let counted = context.requests.into_iter().filter(|request| request.is_current);
        counted.map(|request| request.usage.prompt_tokens()).collect::<Vec<_>>()
    };
    assert_eq!(ends.iter().map(current).collect::<Vec<_>>(), [vec![100, 200], vec![150], vec![180]]);
    assert_eq!(log.segment_ends(None).unwrap(), [None]);
}

/// An answer without content goes alone (e1), one of which only a dead call and thinking were there
/// goes too (e2), one with a text stays without its dead call (e3), and the open call of an answer
/// that ended well stays (a1).
#[test]
fn failed_answers_stay_where_they_do_no_harm() {
    let context = at_end("aborted");
    assert_snapshot!(outlined(&context), @r#"
    u1       user      "go"
    e3       assistant "I will read both" · read(a.rs)  <- 510
    r2       result    read "fn a() {}"
    u2       user      "only the first"
    a1       assistant read(a.rs)  <- 600
    "#);
    let pairing = Pairing::new(&context.messages);
    assert_eq!((pairing.orphans().len(), pairing.dangling().len(), pairing.in_flight()), (0, 1, Some(4)));
}

fn message_line(id: &str, parent: &str, message: &str) -> String {
    format!(r#"{{"type":"message","id":"{id}","parentId":"{parent}","message":{message}}}"#)
}

#[test]
fn what_no_provider_takes_is_left_out_and_what_is_in_flight_stays() {
    let call = r#"{"role":"assistant","content":[{"type":"text","text":"I look"},{"type":"toolCall","id":"c","name":"read","arguments":{}}],"stopReason":"toolUse"}"#;
    let result = r#"{"role":"toolResult","toolCallId":"c","toolName":"read","content":[]}"#;
    let prompt = r#"{"role":"user","content":"and?"}"#;
    let entries = [
        message_line("orphan", "", result),
        message_line("u", "orphan", prompt),
        message_line("a", "u", call),
        message_line("u2", "a", prompt),
        message_line("late", "u2", result),
    ];
    let log = log_of(&entries.iter().map(String::as_str).collect::<Vec<_>>());
    let at = |leaf: &str| outlined(&build_context(&log, Some(&leaf.into())).unwrap());
    let lines = |leaf: &str| at(leaf).lines().map(str::to_owned).collect::<Vec<_>>();
    let prompt = r#"u        user      "and?""#;
    let again = r#"u2       user      "and?""#;
    let called = r#"a        assistant "I look" · read({})"#;
    assert_eq!(lines("a"), [prompt, called], "the call waits for its result");
    assert_eq!(lines("u2"), [prompt, r#"a        assistant "I look""#, again], "the user went on without it");
    assert_eq!(lines("late"), [prompt, called, again, "late     result    read"], "it came after all");
}

#[test]
fn a_call_whose_result_is_hidden_waits_for_none() {
    let call = r#"{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"read","arguments":{}},{"type":"toolCall","id":"d","name":"list","arguments":{}}],"stopReason":"toolUse"}"#;
    let result =
        |id: &str| format!(r#"{{"role":"toolResult","toolCallId":"{id}","toolName":"t","content":[]}}"#);
    let hide = |id: &str, parent: &str, target: &str| {
        format!(
            r#"{{"type":"context_edit","id":"{id}","parentId":"{parent}","targetId":"{target}","replacement":null}}"#
        )
    };
    let entries = [
        message_line("u", "", r#"{"role":"user","content":"go"}"#),
        message_line("a", "u", call),
        message_line("r1", "a", &result("c")),
        message_line("r2", "r1", &result("d")),
        hide("e1", "r2", "r1"),
        hide("e2", "e1", "r2"),
    ];
    let log = log_of(&entries.iter().map(String::as_str).collect::<Vec<_>>());
    let at = |leaf: &str| outlined(&build_context(&log, Some(&leaf.into())).unwrap());
    let prompt = "u        user      \"go\"\n";
    assert_eq!(
        at("r1"),
        [prompt, "a        assistant read({}) · list({})\n", "r1       result    t\n"].concat()
    );
    assert_eq!(at("e1"), [prompt, "a        assistant list({})\n", "r2       result    t\n"].concat());
    assert_eq!(at("e2"), prompt);
}

#[test]
fn the_last_edit_of_an_entry_hides_or_replaces_its_content() {
    assert_snapshot!(outlined(&at_end("edits")), @r#"
    u1       user      "the key is hidden"
    a1       assistant "noted"  <- ~90
    u2       user      "go on"
    "#);
}

#[test]
fn model_and_thinking_level_are_those_of_the_whole_path() {
    let context = at_end("branches");
    assert_eq!(context.model.as_deref(), Some("model-c"), "an answer overrides the choice before it");
    assert_eq!(context.thinking_level.as_deref(), Some("high"));
    assert_eq!(context_at(&read("branches").unwrap(), "u1").model.as_deref(), Some("model-b"));
}

#[test]
fn no_leaf_gives_no_messages() {
    let log = read("branches").unwrap();
    assert_eq!(build_context(&log, None).unwrap(), Context::default());
}

#[test]
fn parts_keep_their_signatures_and_unknown_ones_become_text() {
    let log = log_of(&[
        r#"{"type":"message","id":"u","parentId":null,"timestamp":"1970-01-01T00:00:01Z","message":{"role":"user","content":[{"type":"video","url":"x"},"bare"]}}"#,
        r#"{"type":"message","id":"a","parentId":"u","message":{"role":"assistant","content":[{"type":"thinking","thinking":"","thinkingSignature":"{\"id\":1}"},{"type":"toolCall","id":"c|f","name":"t","arguments":{"z":1,"a":2}}]}}"#,
        r#"{"type":"message","id":"r","parentId":"a","message":{"role":"toolResult","toolCallId":"c|f","toolName":"t","content":[]}}"#,
        r#"{"type":"message","id":"n","parentId":"r","message":{"role":"user","content":null}}"#,
    ]);
    let context = build_context(&log, log.leaf()).unwrap();
    let [first, second, _, third] = context.messages.as_slice() else { panic!("four messages") };
    assert_eq!(first.blocks(), [Block::text(r#"{"type":"video","url":"x"}"#), Block::text("\"bare\"")]);
    assert_eq!(first.timestamp(), Some(1000), "the entry's time stands in for the message's");
    let signature = Some(r#"{"id":1}"#.to_owned());
    assert_eq!(second.blocks()[0], Block::Thinking { text: String::new(), signature });
    assert_eq!(
        second.calls().map(|(id, _, input)| format!("{id} {input}")).collect::<Vec<_>>(),
        [r#"c|f {"z":1,"a":2}"#]
    );
    assert_eq!(third, &Message::User { content: Content::Blocks(Vec::new()), timestamp: 0 });
}
