//! Real sessions of pi, compacted again and again.

use serde_json::{Value, json};
use wb_message::{Message, markers};
use wb_record::{ChangeSet, Document, MemoryParts, NotExpressible, ONLY_CONVERSATION, Parts, Stamp, items};
use wb_testkit::depth::rounds;
use wb_testkit::laws::content as said;

use crate::support::{bytes_of, claude::lines, files_of, of_parts, shared};
use crate::writing::laws::fold_all_but;

/// The maximum number of messages after each digest.
const N_KEPT: usize = 12;

/// Adds a turn to a session as pi does: below the last entry.
fn go_on(document: &mut dyn Document, round: usize) -> ChangeSet {
    let bytes = document.parts().whole("").unwrap();
    let last = bytes.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap();
    let last: Value = serde_json::from_slice(last).unwrap();
    let entry = |id: String, parent: Value, message: Value| json!({ "type": "message", "id": id, "parentId": parent, "timestamp": "2026-11-22T00:00:00.000Z", "message": message });
    let user =
        json!({ "role": "user", "content": format!("prompt {round}"), "timestamp": 1_795_000_000_000_u64 });
    let answer = json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("answer {round}") }],
        "stopReason": "stop", "timestamp": 1_795_000_000_001_u64 });
    let turn = [
        entry(format!("u{round}"), last["id"].clone(), user),
        entry(format!("a{round}"), json!(format!("u{round}")), answer),
    ];
    let set = ChangeSet::append("", bytes.len() as u64, lines(&turn));
    document.commit(&set).unwrap();
    set
}

/// Compacts a session many times while pi continues, and undoes all of it.
fn fifty(name: &str, bytes: &[u8]) {
    let mut document = of_parts(MemoryParts::from_bytes(bytes));
    let mut written: Vec<ChangeSet> = Vec::new();
    for round in 0..rounds(50) {
        written.push(go_on(document.as_mut(), round));
        let view = document.view(ONLY_CONVERSATION).unwrap();
        let n = view.messages.len();
        let turn = [Message::user(format!("prompt {round}")), Message::assistant(format!("answer {round}"))];
        assert_eq!(said(&view.messages[n - 2..]), said(&turn), "{name} {round}");
        let patch = fold_all_but(n.min(N_KEPT + 1) - 1, &view);
        let stamp = Stamp { now_ms: 1_795_000_001_000, seed: round as u64, ..Stamp::default() };
        let set = document.render(ONLY_CONVERSATION, &view, &items(&patch, n), &stamp).unwrap();
        document.commit(&set).unwrap();
        written.push(set);
        let mut expected = view.messages;
        let _ = patch.apply(&mut expected).unwrap();
        let now = document.view(ONLY_CONVERSATION).unwrap();
        assert_eq!(said(&now.messages), said(&expected), "{name} {round}");
        assert!(now.messages.len() < n && markers::digest_body(&now.messages[0]).is_some(), "{name} {round}");
        let anew = of_parts(MemoryParts::from_bytes(document.parts().whole("").unwrap()));
        assert_eq!(anew.view(ONLY_CONVERSATION).unwrap().messages, now.messages, "{name} {round}");
    }
    let mut parts = MemoryParts::from_bytes(document.parts().whole("").unwrap());
    for set in written.iter().rev() {
        parts.commit(&set.inverse()).unwrap();
    }
    assert!(parts.whole("").unwrap() == bytes, "{name}");
}

/// Returns whether a session has the layout that is written; pi migrates an older one when it opens
/// it.
fn is_written(document: &dyn Document) -> bool {
    let view = document.view(ONLY_CONVERSATION).unwrap();
    let patch = fold_all_but(N_KEPT, &view);
    let wanted = items(&patch, view.messages.len());
    let rendered = document.render(ONLY_CONVERSATION, &view, &wanted, &Stamp::default());
    !matches!(rendered, Err(NotExpressible::Layout { .. }))
}

#[test]
fn fifty_compactions_in_a_row_are_written_read_and_undone() {
    let Some(sessions) = shared("sessions/pi") else { return };
    let (mut n_written, mut older) = (0, Vec::new());
    for (name, path) in files_of(&sessions) {
        let bytes = bytes_of(&path);
        if bytes.len() < 500_000 {
            continue;
        }
        if is_written(of_parts(MemoryParts::from_bytes(bytes.as_slice())).as_ref()) {
            fifty(&name, &bytes);
            n_written += 1;
        } else {
            older.push(name);
        }
    }
    // Each older one is there as pi migrates it, too.
    assert_eq!((n_written, older.len()), (2, 2), "{older:?}");
}
