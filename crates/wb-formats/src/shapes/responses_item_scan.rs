//! A fast path for the common items of the Responses API, read in one pass.

use std::borrow::Cow;

use wb_message::Block;
use wb_record::JsonScan;

use super::content_value::content_of;
use super::responses_item::{ItemContent, in_place_of_user};
use crate::kit::json_text::{arguments_in, value};

/// Reads an item from its JSON; `None` if it is not one.
pub(crate) fn parse_item(json: &str) -> Option<ItemContent> {
    Usual::read(json)
        .and_then(Usual::into_content)
        .or_else(|| value(json.as_bytes()).and_then(ItemContent::parse))
}

/// The members of the common items: texts of a message, calls of functions and their results.
#[derive(Default)]
struct Usual<'a> {
    kind: Cow<'a, str>,
    role: Cow<'a, str>,
    content: Option<Vec<Block>>,
    call_id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    arguments: Option<Cow<'a, str>>,
    output: Option<Cow<'a, str>>,
}

impl<'a> Usual<'a> {
    /// Reads an item in one pass; `None` if a member is of another kind, or is one of the rarer
    /// ones.
    fn read(json: &'a str) -> Option<Self> {
        let (mut item, mut scan) = (Self::default(), JsonScan::new(json));
        scan.object(|key, scan| {
            match &*key {
                "type" => item.kind = scan.string()?,
                "role" => item.role = scan.string()?,
                "content" => item.content = Some(text_parts(scan)?),
                "call_id" => item.call_id = Some(scan.string()?),
                "name" => item.name = Some(scan.string()?),
                "arguments" => item.arguments = Some(scan.string()?),
                "output" => item.output = Some(scan.string()?),
                "id" | "status" | "timestamp" | "phase" => _ = scan.value()?,
                _ => return None,
            }
            Some(())
        })?;
        scan.end()?;
        scan.is_shallow().then_some(item)
    }

    fn into_content(self) -> Option<ItemContent> {
        match &*self.kind {
            "message" => Some(match (&*self.role, self.content?) {
                ("assistant", blocks) => ItemContent::Answer(blocks),
                ("user", blocks) => in_place_of_user(content_of(blocks), &[]),
                ("", _) => return None,
                (role, blocks) => ItemContent::Host { kind: role.to_owned(), content: content_of(blocks) },
            }),
            "function_call" => {
                let input = arguments_in(self.arguments?);
                Some(ItemContent::Answer(vec![Block::call(self.call_id?, self.name?, input)]))
            }
            "function_call_output" => {
                let (call_id, output) = (self.call_id?.into_owned(), self.output?);
                let content = if output.is_empty() { Vec::new() } else { vec![Block::text(output)] };
                Some(ItemContent::Result { call_id, content })
            }
            _ => None,
        }
    }
}

/// Reads a list of texts.
fn text_parts(scan: &mut JsonScan<'_>) -> Option<Vec<Block>> {
    let mut blocks = Vec::new();
    scan.list(|scan| {
        let (mut is_text, mut text) = (false, None);
        scan.object(|key, scan| {
            match &*key {
                "type" => is_text = matches!(&*scan.string()?, "input_text" | "output_text" | "text"),
                "text" => text = Some(scan.string()?),
                _ => _ = scan.value()?,
            }
            Some(())
        })?;
        blocks.push(Block::text(text.filter(|_| is_text)?));
        Some(())
    })?;
    Some(blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_item_that_is_read_in_one_go_is_what_its_value_is() {
        let usual = [
            r#"{"type":"message","role":"user","content":[{"type":"input_text","text":"<skill>\u00e9\ud83d</skill>"}],"id":"m"}"#,
            r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a","annotations":[]},{"text":"","type":"text"}]}"#,
            r#"{"type":"message","role":"developer","content":[]}"#,
            r#"{"type":"function_call","name":"f","arguments":"{\"a\":[1]}","call_id":"c","status":null}"#,
            r#"{"type":"function_call","name":"f","arguments":"[","call_id":"c"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"a\n"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":""}"#,
        ];
        let parsed = |json: &str| value(json.as_bytes()).and_then(ItemContent::parse);
        for json in usual {
            let read = Usual::read(json).and_then(Usual::into_content);
            assert!(read.is_some() && read == parsed(json), "{json}");
        }
        for json in [
            r#"{"type":"message","role":"user","content":"a"}"#,
            r#"{"type":"message","content":[]}"#,
            r#"{"type":"message","role":"user","content":[{"type":"input_image","image_url":"data:image/png;base64,aGk="}]}"#,
            r#"{"type":"message","role":"user","content":[{"type":"text"}]}"#,
            r#"{"type":"function_call","name":"f","namespace":"n","arguments":"{}","call_id":"c"}"#,
            r#"{"type":"function_call","name":"f","arguments":"{}","id":"c"}"#,
            r#"{"type":"function_call_output","call_id":"c","output":{"content":"a"}}"#,
            r#"{"type":"function_call_output","call_id":"c","output":"a","x":1}"#,
            r#"{"type":"local_shell_call","call_id":"c"}"#,
            r#"{"type":"message","role":"user","content":[]"#,
            "[]",
        ] {
            assert!(Usual::read(json).and_then(Usual::into_content).is_none(), "{json}");
            assert_eq!(parse_item(json), parsed(json), "{json}");
        }
    }
}
