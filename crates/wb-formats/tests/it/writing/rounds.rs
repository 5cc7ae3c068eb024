//! An agent that continues after each compaction of its session: each of them can be undone, the
//! newest first, and later messages of the agent stay.

use serde_json::{Value, json};
use wb_message::markers::DIGEST_HEADER;
use wb_message::{Edit, Message, Patch};
use wb_record::{
    Bytes, Change, ChangeSet, Document, History, HistoryError, MemoryParts, Numbers, OperationKind, Stamp,
    items,
};

use crate::support::of_parts;
use crate::writing::laws::said;

/// The lines that an agent writes for a prompt and its answer, given their ids and the parent of
/// the prompt.
pub(crate) type Lines = fn(n: usize, before: &Value) -> [Value; 2];

/// Formats with the beginning of a session: a header, where it grows by lines, or a document that
/// is rewritten each time.
pub(crate) const AGENTS: [(&str, &str, Lines); 11] = [
    ("native", r#"{"type":"window-budget","version":1}"#, native),
    ("goose", r#"{"working_dir":"/src","description":"notes","message_count":2}"#, goose),
    ("kimi-cli", r#"{"role":"_checkpoint","id":0}"#, kimi),
    ("pi", r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#, pi),
    ("claude-code", r#"{"type":"summary","summary":"notes","leafUuid":"x"}"#, claude),
    (
        "codex",
        r#"{"timestamp":"2026-01-01T00:00:00Z","type":"session_meta","payload":{"id":"x","cwd":"/"}}"#,
        codex,
    ),
    (
        "gemini-cli",
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00Z","kind":"main"}"#,
        gemini,
    ),
    (
        "copilot-cli",
        r#"{"type":"session.start","data":{"sessionId":"s"},"id":"s","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}"#,
        copilot,
    ),
    ("openai-chat", r#"{"model":"gpt-x","messages":[]}"#, native),
    ("cline", r#"{"version":1,"sessionId":"s","messages":[]}"#, cline),
    (
        "opencode",
        r#"{"info":{"id":"ses_1","directory":"/src","time":{"created":1}},"messages":[]}"#,
        opencode,
    ),
];

const TIME: &str = "2026-01-01T00:00:00.000Z";

fn native(n: usize, _: &Value) -> [Value; 2] {
    [
        json!({ "role": "user", "content": format!("task {n}") }),
        json!({ "role": "assistant", "content": format!("done {n}") }),
    ]
}

fn goose(n: usize, _: &Value) -> [Value; 2] {
    let message = |role, text: String| json!({ "role": role, "created": 1, "content": [{ "type": "text", "text": text }] });
    [message("user", format!("task {n}")), message("assistant", format!("done {n}"))]
}

fn kimi(n: usize, before: &Value) -> [Value; 2] {
    native(n, before)
}

fn pi(n: usize, before: &Value) -> [Value; 2] {
    let entry = |id: String, parent: Value, message| json!({ "type": "message", "id": id, "parentId": parent, "message": message });
    let answer = json!({ "role": "assistant", "content": [{ "type": "text", "text": format!("done {n}") }], "stopReason": "stop" });
    [
        entry(
            format!("u{n}"),
            before["id"].clone(),
            json!({ "role": "user", "content": format!("task {n}") }),
        ),
        entry(format!("a{n}"), format!("u{n}").into(), answer),
    ]
}

fn claude(n: usize, before: &Value) -> [Value; 2] {
    let line = |kind, id: String, parent: Value, message| {
        json!({ "type": kind, "uuid": id, "parentUuid": parent, "isSidechain": false, "sessionId": "s",
            "timestamp": TIME, "message": message })
    };
    let answer = json!({ "id": format!("msg_{n}"), "role": "assistant", "model": "claude-x",
        "content": [{ "type": "text", "text": format!("done {n}") }] });
    let prompt = json!({ "role": "user", "content": format!("task {n}") });
    [
        line("user", format!("u{n}"), before["uuid"].clone(), prompt),
        line("assistant", format!("a{n}"), format!("u{n}").into(), answer),
    ]
}

fn codex(n: usize, _: &Value) -> [Value; 2] {
    let line = |role, kind, text: String| {
        let item = json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
        json!({ "timestamp": TIME, "type": "response_item", "payload": item })
    };
    [line("user", "input_text", format!("task {n}")), line("assistant", "output_text", format!("done {n}"))]
}

fn gemini(n: usize, _: &Value) -> [Value; 2] {
    let line = |kind, id: String, text: String| json!({ "id": id, "timestamp": TIME, "type": kind, "content": text });
    [line("user", format!("u{n}"), format!("task {n}")), line("gemini", format!("g{n}"), format!("done {n}"))]
}

fn copilot(n: usize, before: &Value) -> [Value; 2] {
    let line = |kind, id: String, parent: Value, data| json!({ "type": kind, "data": data, "id": id, "timestamp": TIME, "parentId": parent });
    let answer = json!({ "messageId": format!("m{n}"), "content": format!("done {n}"), "toolRequests": [] });
    [
        line(
            "user.message",
            format!("u{n}"),
            before["id"].clone(),
            json!({ "content": format!("task {n}") }),
        ),
        line("assistant.message", format!("a{n}"), format!("u{n}").into(), answer),
    ]
}

fn cline(n: usize, _: &Value) -> [Value; 2] {
    let message = |role, id: String, text: String| json!({ "id": id, "role": role, "ts": 1, "content": [{ "type": "text", "text": text }] });
    [
        message("user", format!("u{n}"), format!("task {n}")),
        message("assistant", format!("a{n}"), format!("done {n}")),
    ]
}

fn opencode(n: usize, _: &Value) -> [Value; 2] {
    let [user, answer] = ["u", "a"].map(|who| format!("msg_{n}{who}"));
    // The agent records the time of all lines, including ours.
    let time = 4_000_000_000_000_u64 + 10 * n as u64;
    let text = |of: &str, text: String| json!([{ "id": format!("prt_{of}"), "sessionID": "ses_1", "messageID": of, "type": "text", "text": text }]);
    let model = json!({ "providerID": "p", "modelID": "m" });
    let asked = json!({ "id": user, "sessionID": "ses_1", "role": "user", "time": { "created": time },
        "agent": "build", "model": model });
    let answered = json!({ "id": answer, "sessionID": "ses_1", "role": "assistant", "parentID": user,
        "time": { "created": time + 5, "completed": time + 6 }, "modelID": "m", "providerID": "p",
        "path": { "cwd": "/src", "root": "/src" }, "finish": "stop" });
    [
        json!({ "info": asked, "parts": text(&user, format!("task {n}")) }),
        json!({ "info": answered, "parts": text(&answer, format!("done {n}")) }),
    ]
}

/// Returns a document as another program writes it: with blanks, and in ASCII alone.
pub(crate) fn anew(document: &Value) -> String {
    let text = serde_json::to_string_pretty(document).unwrap();
    let unit = |unit: u16| match u8::try_from(unit) {
        Ok(byte) if byte.is_ascii() => char::from(byte).to_string(),
        _ => format!("\\u{unit:04x}"),
    };
    text.encode_utf16().map(unit).collect()
}

/// Returns a session with a prompt and an answer more.
pub(crate) fn longer(text: &str, n: usize, lines: Lines) -> String {
    if let Ok(mut document) = serde_json::from_str::<Value>(text)
        && let Some(messages) = document["messages"].as_array_mut()
    {
        messages.extend(lines(n, &Value::Null));
        return anew(&document);
    }
    let is_link = |line: &Value| line["type"] != "summary" && line["type"] != "system";
    let before = text.lines().rev().map(|line| serde_json::from_str::<Value>(line).unwrap()).find(is_link);
    let [prompt, answer] = lines(n, &before.unwrap_or_default());
    format!("{text}{prompt}\n{answer}\n")
}

/// A session with its list of operations.
struct World {
    document: Box<dyn Document>,
    history: History,
    now_ms: i64,
}

impl World {
    fn new(name: &str, head: &str, lines: Lines) -> Self {
        let history = History::open(Box::new(MemoryParts::default())).unwrap();
        let head = if head.ends_with("[]}") { head.to_owned() } else { format!("{head}\n") };
        let document = of_parts(MemoryParts::from_bytes(longer(&head, 0, lines)));
        assert_eq!(document.format().name(), name);
        Self { document, history, now_ms: 0 }
    }

    fn stamp(&mut self) -> Stamp {
        self.now_ms += 1_000;
        let seed = self.now_ms.unsigned_abs();
        Stamp { now_ms: self.now_ms, seed, tokens_before: 900, tokens_after: 90, by_hand: true }
    }

    fn messages(&self) -> Vec<Message> {
        self.document.view("").unwrap().messages
    }

    /// Lets the agent write a prompt and an answer; returns them.
    fn goes_on(&mut self, n: usize, lines: Lines) -> Vec<Message> {
        let text = String::from_utf8(self.document.parts().whole("").unwrap()).unwrap();
        let new = Bytes(longer(&text, n, lines).into_bytes());
        let change = Change::Splice { at: 0, old: Bytes(text.into_bytes()), new };
        self.document.parts_mut().commit(&ChangeSet { changes: vec![(String::new(), change)] }).unwrap();
        self.document.refresh().unwrap();
        let messages = self.messages();
        messages[messages.len() - 2..].to_vec()
    }

    fn compact(&mut self) {
        let (view, stamp) = (self.document.view("").unwrap(), self.stamp());
        let digest = Message::user(format!("{DIGEST_HEADER}\n# Goal\nStep {} — 😀.", self.now_ms));
        let fold = Edit::Fold { range: 0..view.messages.len() - 1, with: vec![digest] };
        let patch = Patch::new(vec![fold]);
        let set = self.document.render("", &view, &items(&patch, view.messages.len()), &stamp).unwrap();
        self.history.change(OperationKind::Compact, self.document.as_mut(), "", &view, &set, &stamp).unwrap();
    }
}

/// Lets an agent continue and compacts, several times, then undoes all of it, while the agent
/// continues after the last compaction or after an undo, or is closed.
fn check(name: &str, head: &str, lines: Lines, n_rounds: usize, goes_on_before_undo: Option<usize>) {
    let case = format!("{name}, {n_rounds} rounds, goes on before undo {goes_on_before_undo:?}");
    let mut world = World::new(name, head, lines);
    let mut all = world.messages();
    assert_eq!(all.len(), 2, "{case}");
    // The messages before each compaction, and the total number of messages by then.
    let mut before = Vec::new();
    for n in 1..=n_rounds {
        all.extend(world.goes_on(n, lines));
        before.push((world.messages(), all.len()));
        world.compact();
        assert!(world.messages().len() < before[n - 1].0.len(), "{case}");
    }
    for (nth, (seen, n_said)) in before.into_iter().rev().enumerate() {
        if goes_on_before_undo == Some(nth) {
            all.extend(world.goes_on(n_rounds + 1, lines));
        }
        let stamp = world.stamp();
        let undone = world.history.undo(world.document.as_mut(), None, &stamp);
        assert!(undone.is_ok(), "{case}, undo {nth}: {undone:?}");
        let expected = [seen.as_slice(), &all[n_said..]].concat();
        assert_eq!(said(&world.messages()), said(&expected), "{case}, undo {nth}");
    }
    assert_eq!(said(&world.messages()), said(&all), "{case}");
}

#[test]
fn every_compaction_is_undone_though_the_agent_went_on_after_it() {
    for (name, head, lines) in AGENTS {
        for n_rounds in 1..=4 {
            check(name, head, lines, n_rounds, None);
            (0..n_rounds).for_each(|nth| check(name, head, lines, n_rounds, Some(nth)));
        }
    }
}

/// Performs all operations in random order, and undoes the remaining ones at the end.
fn wander(name: &str, head: &str, lines: Lines, seed: u64) -> usize {
    let (mut world, mut numbers) = (World::new(name, head, lines), Numbers::new(seed));
    let (mut all, mut n, mut done) = (world.messages(), 0, Vec::new());
    for _ in 0..12 {
        let stamp = world.stamp();
        let (history, document) = (&mut world.history, world.document.as_mut());
        match numbers.next_number() % 5 {
            0 | 1 => {
                n += 1;
                all.extend(world.goes_on(n, lines));
                done.push("goes on");
            }
            2 => {
                world.compact();
                done.push("compact");
            }
            3 => {
                let undone = history.undo(document, None, &stamp);
                done.push("undo");
                let is_right = matches!(undone, Ok(_) | Err(HistoryError::NothingToUndo));
                assert!(is_right, "{name} {seed}: {done:?}: {undone:?}");
            }
            _ => done.push(if history.redo(document, None, &stamp).is_ok() { "redo" } else { "no redo" }),
        }
    }
    let mut n_undone = 0;
    loop {
        let stamp = world.stamp();
        match world.history.undo(world.document.as_mut(), None, &stamp) {
            Ok(_) => n_undone += 1,
            Err(HistoryError::NothingToUndo) => break,
            Err(error) => panic!("{name} {seed}: {done:?}, {n_undone} more: {error:?}"),
        }
    }
    assert_eq!(said(&world.messages()), said(&all), "{name} {seed}: {done:?}");
    n_undone
}

#[test]
fn whatever_was_done_in_which_order_all_that_was_said_comes_back() {
    for (name, head, lines) in AGENTS {
        let n_undone: usize = (0..60).map(|seed| wander(name, head, lines, seed)).sum();
        assert!(n_undone > 60, "{name}: only {n_undone}");
    }
}
