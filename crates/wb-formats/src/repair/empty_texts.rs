//! Blocks with an empty text, which Anthropic refuses if they are sent unchanged: each is removed
//! from its list.

use std::io;

use wb_message::{Block, Message};
use wb_record::json::{elements, get, set, text};
use wb_record::{Bytes, Change, ChangeSet, Document, NotExpressible, View};

use super::SessionRepair;
use super::stage::{Current, Next, records_of};
use crate::shapes::content_value::list;

/// The text of a block that is alone in its list: no message may be empty.
const EMPTY: &str = "(empty)";

pub(super) fn stage(current: &Current<'_>) -> Result<Next, NotExpressible> {
    if !current.is_refused("text-blank") {
        return Ok(Next::Nothing);
    }
    if let Some(why) = current.document().abilities().body.why_not() {
        return Err(current.refused(why));
    }
    let changes = without_empty_texts(current.document(), &current.view);
    let changes = changes.map_err(NotExpressible::unreadable)?;
    if changes.is_empty() { Ok(Next::Nothing) } else { current.step(SessionRepair::from_changes(changes)) }
}

/// Returns the changes that remove blocks with an empty text from all lists; nothing else changes.
fn without_empty_texts(document: &dyn Document, view: &View) -> io::Result<ChangeSet> {
    let records = records_of(view, has_empty_text);
    let mut set = ChangeSet::default();
    // In reverse order, so that no change moves the position of another.
    for record in records.into_iter().rev() {
        let old = document.parts().bytes(record)?;
        let new = without_empty(&old);
        if *old != *new {
            let change = Change::Splice { at: record.at, old: Bytes(old.into_owned()), new: Bytes(new) };
            set.changes.push((record.part.clone(), change));
        }
    }
    Ok(set)
}

fn has_empty_text(message: &Message) -> bool {
    message.blocks().iter().any(Block::is_empty_text)
}

/// Returns a record, or a list in one, without the blocks that have an empty text; the others keep
/// their bytes.
fn without_empty(value: &[u8]) -> Vec<u8> {
    if !value.starts_with(b"[") {
        return ["message", "content"].into_iter().fold(value.to_vec(), |value, key| {
            match get(&value, key) {
                Some(inner) => set(&value, key, &without_empty(inner)),
                None => value,
            }
        });
    }
    let places = elements(value).unwrap_or_default();
    let all: Vec<&[u8]> = places.into_iter().map(|place| &value[place]).collect();
    let kept = all.iter().filter(|block| !is_empty(block));
    let mut kept: Vec<Vec<u8>> = kept.map(|block| without_empty(block)).collect();
    if kept == all {
        return value.to_vec();
    }
    if kept.is_empty() {
        let text = serde_json::Value::from(EMPTY).to_string();
        kept.push(set(all[0], "text", text.as_bytes()));
    }
    list(&kept)
}

fn is_empty(block: &[u8]) -> bool {
    let of = |key| text(block, &[key]);
    of("type").as_deref() == Some("text") && of("text").as_deref() == Some("")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn repaired(list: &str) -> String {
        String::from_utf8(without_empty(list.as_bytes())).unwrap()
    }

    #[test]
    fn empty_texts_go_and_one_that_is_alone_says_so() {
        let (empty, other) = (r#"{"type":"text","text":""}"#, r#"{"type": "text", "text": "a"}"#);
        assert_eq!(repaired(&format!("[{empty}, {other} ,{empty}]")), format!("[{other}]"));
        assert_eq!(repaired(&format!("[{empty},{empty}]")), r#"[{"type":"text","text":"(empty)"}]"#);
        let result =
            |content: &str| format!(r#"{{"content": [ {{"type":"tool_result","content":{content}}} ]}}"#);
        let answer = format!("[{other}]");
        assert_eq!(
            repaired(&result(&format!("[{other},{empty}]"))),
            result(&answer).replace("[ ", "[").replace("} ]", "}]")
        );
        for same in
            [result("\"\""), result(&format!("[ {other} ]")), "[]".to_owned(), "[ {} , 1 ]".to_owned()]
        {
            assert_eq!(repaired(&same), same);
        }
    }
}
