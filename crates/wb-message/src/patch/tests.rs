use super::*;
use serde_json::json;

fn transcript() -> Vec<Message> {
    vec![
        Message::user("first"),
        Message::assistant_blocks(vec![Block::call("c", "read", json!({"path": "a"}))]),
        Message::tool_result("c", "read", "long body"),
        Message::bash("ls", "out", Some(0)),
        Message::user("second"),
    ]
}

fn answer(at: usize, id: &str) -> Edit {
    Edit::Fold { range: at..at, with: vec![Message::tool_error(id, "read", "lost")] }
}

fn fold(range: Range<usize>) -> Patch {
    Patch { edits: vec![Edit::Fold { range, with: vec![Message::user("digest")] }] }
}

#[test]
fn undo_restores_folds_and_bodies_together() {
    let before = transcript();
    let mut messages = before.clone();
    let patch = Patch::new(vec![
        Edit::Body { at: 3, content: vec![Block::text("cut")] },
        Edit::Body { at: 4, content: vec![Block::text("2nd")] },
        Edit::Fold { range: 0..3, with: vec![Message::user("digest"), Message::user("file")] },
    ]);
    let undo = patch.clone().apply(&mut messages).unwrap();
    assert_eq!(Patch::from_undo(&undo, &messages), patch);
    let expected = [
        Message::user("digest"),
        Message::user("file"),
        Message::bash("ls", "cut", Some(0)),
        Message::user("2nd"),
    ];
    assert_eq!(messages, expected);
    assert_eq!(undo.folded().count(), 3);
    undo.revert(&mut messages);
    assert_eq!(messages, before);
}

#[test]
fn messages_appended_after_a_patch_survive_its_undo() {
    let before = transcript();
    let mut messages = before.clone();
    let undo = fold(0..3).apply(&mut messages).unwrap();
    messages.push(Message::assistant("late"));
    undo.revert(&mut messages);
    assert_eq!(messages[..5], before);
    assert_eq!(messages[5], Message::assistant("late"));
}

#[test]
fn a_split_pair_is_refused_without_changes() {
    let mut messages = transcript();
    assert_eq!(fold(0..2).apply(&mut messages).err(), Some(PatchError::SplitPair { call: 1, result: 2 }));
    assert_eq!(messages, transcript());
}

#[test]
fn a_call_in_flight_cannot_be_folded() {
    let mut messages = transcript()[..2].to_vec();
    assert_eq!(fold(0..2).apply(&mut messages).err(), Some(PatchError::InFlight { call: 1 }));
}

#[test]
fn pinned_messages_cannot_be_touched() {
    let mut messages = vec![Message::custom("system", "be kind"), Message::user("a"), Message::user("b")];
    assert_eq!(fold(0..2).apply(&mut messages).err(), Some(PatchError::Pinned { at: 0 }));
}

#[test]
fn an_index_without_a_next_is_refused() {
    let mut messages = transcript();
    let patch = Patch::new(vec![Edit::Body { at: usize::MAX, content: vec![] }]);
    assert_eq!(patch.apply(&mut messages).err(), Some(PatchError::Misplaced { edit: 0 }));
}

#[test]
fn edits_out_of_range_or_overlapping_are_refused() {
    let mut messages = transcript();
    assert_eq!(fold(3..9).apply(&mut messages).err(), Some(PatchError::Misplaced { edit: 0 }));
    let twice = Patch {
        edits: vec![
            Edit::Fold { range: 0..3, with: vec![] },
            Edit::Body { at: 2, content: vec![Block::text("x")] },
        ],
    };
    assert_eq!(twice.apply(&mut messages).err(), Some(PatchError::Misplaced { edit: 1 }));
}

#[test]
fn a_body_edit_must_keep_the_calls() {
    let mut messages = transcript();
    let patch = Patch { edits: vec![Edit::Body { at: 1, content: vec![Block::text("no call")] }] };
    assert_eq!(patch.apply(&mut messages).err(), Some(PatchError::CallsChanged { at: 1 }));
}

#[test]
fn a_fold_may_answer_a_dangling_call_but_not_add_an_orphan() {
    let mut messages = vec![transcript().swap_remove(1), Message::assistant("x"), Message::user("u")];
    let answer = |id: &str| Patch { edits: vec![answer(1, id)] };
    assert_eq!(answer("other").apply(&mut messages).err(), Some(PatchError::NewOrphan { edit: 0 }));
    assert!(answer("c").apply(&mut messages).is_ok());
    assert!(Pairing::new(&messages).dangling().is_empty());
}

#[test]
fn an_answer_needs_an_earlier_dangling_call_that_stays() {
    let calls = ["open", "done"].map(|id| Block::call(id, "read", json!({})));
    let removed = transcript().swap_remove(1);
    let both = Message::assistant_blocks(calls.to_vec());
    let mut messages = vec![removed, both, Message::tool_result("done", "read", "x"), Message::user("u")];
    let removal = Edit::Fold { range: 0..1, with: vec![] };
    for bad in [answer(3, "done"), answer(1, "open"), answer(3, "c")] {
        let patch = Patch { edits: vec![removal.clone(), bad] };
        assert_eq!(patch.apply(&mut messages).err(), Some(PatchError::NewOrphan { edit: 1 }));
    }
    assert!(Patch { edits: vec![answer(3, "open")] }.apply(&mut messages).is_ok());
}

#[test]
fn many_answers_and_bodies_take_linear_time() {
    let n = 40_000;
    let call = |at| vec![Block::call(format!("c{at}"), "read", json!({}))];
    let pair = |at| [Message::assistant_blocks(call(at)), Message::user("a longer text")];
    let mut messages: Vec<Message> = (0..n).flat_map(pair).collect();
    let body = |at| Edit::Body { at, content: vec![Block::text("short")] };
    let edits = (0..n).flat_map(|at| [answer(2 * at + 1, &format!("c{at}")), body(2 * at + 1)]);
    let patch = Patch { edits: edits.collect() };
    let undo = patch.clone().apply(&mut messages).unwrap();
    assert!(Pairing::new(&messages).dangling().is_empty());
    assert_eq!(Patch::from_undo(&undo, &messages), patch);
}

#[test]
fn a_heavier_result_is_refused_and_reverted() {
    let weigh = |message: &Message| format!("{message:?}").len() as u64;
    let mut messages = transcript();
    let pairing = Pairing::new(&messages);
    let mut prefix = vec![0];
    for message in &messages {
        prefix.push(prefix[prefix.len() - 1] + weigh(message));
    }
    let heavy = Patch { edits: vec![Edit::Fold { range: 0..1, with: vec![Message::user("x".repeat(900))] }] };
    let refused = heavy.apply_weighed(&mut messages, &pairing, &prefix, &weigh);
    assert!(matches!(refused, Err(PatchError::Heavier { .. })));
    assert_eq!(messages, transcript());
    let before: u64 = messages.iter().map(weigh).sum();
    let lighter = fold(0..3).apply_weighed(&mut messages, &pairing, &prefix, &weigh).unwrap();
    let after: u64 = messages.iter().map(weigh).sum();
    assert_eq!(before - lighter.removed_tokens + lighter.added_tokens, after);
}

#[test]
fn a_patch_survives_json() {
    let patch = fold(0..3);
    let wire = serde_json::to_string(&patch).unwrap();
    assert_eq!(serde_json::from_str::<Patch>(&wire).unwrap(), patch);
}

#[test]
fn origins_map_the_output_to_the_input() {
    assert_eq!(fold(1..3).origins(4), [Origin::Kept(0), Origin::New, Origin::Kept(3)]);
}
