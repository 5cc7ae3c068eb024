//! Events of `OpenHands` whose results are duplicated or precede their calls: the host sends them
//! once and in order.

use serde_json::{Value, json};
use wb_formats::Note;
use wb_message::markers::DIGEST_HEADER;
use wb_message::{Edit, Message, Patch};
use wb_record::{ChangedPart, MemoryParts, NotExpressible, Stamp, items};

use crate::support::{of_parts, open};

fn message(id: u64, source: &str, text: &str) -> Value {
    json!({"id": id, "timestamp": "2026-01-01T00:00:00", "source": source, "message": text, "action": "message",
        "args": {"content": text, "wait_for_response": false}})
}

/// Returns the action of a call and its result.
fn ran(id: u64, call: &str) -> [Value; 2] {
    let calls =
        json!([{"id": call, "type": "function", "function": {"name": "execute_bash", "arguments": "{}"}}]);
    let response = json!({"id": format!("answer-{id}"), "model": "m",
        "choices": [{"message": {"role": "assistant", "content": null, "tool_calls": calls}}]});
    let about = json!({"function_name": "execute_bash", "tool_call_id": call, "model_response": response,
        "total_calls_in_response": 1});
    let event = |id: u64| json!({"id": id, "timestamp": "2026-01-01T00:00:00", "source": "agent", "message": "", "tool_call_metadata": about});
    let [mut action, mut result] = [event(id), event(id + 1)];
    (action["action"], action["args"]) = (json!("run"), json!({"command": "ls"}));
    (result["observation"], result["content"], result["cause"]) = (json!("run"), json!(call), json!(id));
    [action, result]
}

fn events() -> Vec<Value> {
    let [one, two] = [ran(1, "c1"), ran(3, "c2")];
    let all =
        [vec![message(0, "user", "Look.")], one.to_vec(), two.to_vec(), vec![message(5, "agent", "Two.")]];
    all.concat()
}

fn messages(events: &[Value]) -> (Vec<Message>, Vec<Note>) {
    let view = open(json!(events).to_string().as_bytes()).unwrap();
    assert_eq!(view.format, "openhands-events");
    (view.messages, view.notes)
}

#[test]
fn a_result_before_its_call_is_moved_behind_it_and_a_second_one_is_skipped() {
    let (whole, notes) = messages(&events());
    assert_eq!((whole.len(), notes), (6, Vec::new()));
    for (from, to) in [(2, 1), (4, 0), (4, 3)] {
        let mut moved = events();
        let result = moved.remove(from);
        moved.insert(to, result);
        assert_eq!(messages(&moved), (whole.clone(), Vec::new()), "{from} to {to}");
    }
    let mut twice = events();
    twice.insert(4, twice[2].clone());
    assert_eq!(messages(&twice), (whole.clone(), vec![Note::RepeatedResults { n: 1 }]));
    // A call that has the id of an earlier one waits for a result of its own.
    let again = [events(), ran(6, "c1").to_vec()].concat();
    assert_eq!((messages(&again).0.len(), messages(&again).1), (8, Vec::new()));
}

/// Folds the first messages of events, and returns the rest.
fn folded(events: &[Value], n: usize) -> Result<Vec<Message>, NotExpressible> {
    let document = of_parts(MemoryParts::from_bytes(json!(events).to_string().into_bytes()));
    let view = document.view("").unwrap();
    let digest = Message::user(format!("{DIGEST_HEADER}\nLooked."));
    let patch = Patch::new(vec![Edit::Fold { range: 0..n, with: vec![digest] }]);
    let wanted = items(&patch, view.messages.len());
    let changes = document.render("", &view, &wanted, &Stamp::default())?;
    let part = ChangedPart::new(document.parts().reopen().unwrap(), &changes).unwrap();
    Ok(document.format().open(Box::new(part)).unwrap().view("").unwrap().messages)
}

#[test]
fn an_event_that_is_written_twice_is_forgotten_twice_and_no_other_of_its_number() {
    let mut twice = events();
    // The second one goes with the message after it, which stays.
    twice.insert(3, twice[2].clone());
    assert_eq!(folded(&twice, 3).unwrap().len(), 4);
    let mut other = events();
    other[5]["id"] = json!(2);
    let why = folded(&other, 3).unwrap_err().to_string();
    assert!(why.contains("another event has the number of one that goes"), "{why}");
}
