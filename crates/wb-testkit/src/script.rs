//! Scripts as messages; the crate's documentation explains the words.

use serde_json::{Value, json};
use wb_message::markers::{CLEARED_TOOL_RESULT, DIGEST_HEADER, RESTORED_FILE_PREFIX};
use wb_message::tools::{ToolRole, ToolVocabulary};
use wb_message::{Block, Content, Message, Turn};

use crate::grammar::{Call, Word, parse};

/// Builds the messages of a script.
///
/// # Panics
/// Panics with the place and the reason if the script is bad, and if a bare `t` or `n` has no open
/// call.
pub fn script(script: &str) -> Vec<Message> {
    let mut builder = Builder::default();
    for word in parse(script) {
        let message = builder.message(&word);
        builder.messages.push(message);
    }
    builder.messages
}

/// Builds the turns of a script: [`to_turns`] of its messages.
///
/// # Panics
/// Panics if [`script()`] does.
pub fn script_turns(text: &str) -> Vec<Turn> {
    to_turns(&script(text))
}

/// Returns the gateway's form of a transcript: consecutive results become one tool turn, and
/// messages without a turn in a gateway become the user's.
pub fn to_turns(messages: &[Message]) -> Vec<Turn> {
    let mut turns: Vec<Turn> = Vec::new();
    for message in messages {
        match (turn(message), turns.last_mut()) {
            (Turn::Tool { blocks: new }, Some(Turn::Tool { blocks })) => blocks.extend(new),
            (turn, _) => turns.push(turn),
        }
    }
    turns
}

fn turn(message: &Message) -> Turn {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => match content {
            Content::Text(text) => Turn::user(text),
            Content::Blocks(blocks) if !blocks.is_empty() && blocks.iter().all(Block::is_tool_result) => {
                Turn::Tool { blocks: blocks.clone() }
            }
            Content::Blocks(blocks) => Turn::User { blocks: blocks.clone() },
        },
        Message::Assistant { content, .. } => Turn::Assistant { blocks: content.clone() },
        Message::ToolResult { tool_call_id, content, is_error, .. } => {
            Turn::Tool { blocks: vec![result_block(tool_call_id, content, *is_error)] }
        }
        Message::BashExecution { command, output, .. } => Turn::user(format!("$ {command}\n{output}")),
        Message::BranchSummary { summary, .. } | Message::CompactionSummary { summary, .. } => {
            Turn::user(format!("{DIGEST_HEADER}\n\n{summary}"))
        }
    }
}

/// Builds the block of a result: its text as a string if there is nothing else, else its blocks.
fn result_block(id: &str, content: &[Block], failed: bool) -> Block {
    let output = match content {
        [Block::Text { text }] => json!(text),
        blocks => json!(blocks),
    };
    Block::ToolResult { call_id: id.to_owned(), output, is_error: failed.then_some(true) }
}

/// An open call.
#[derive(Debug)]
struct OpenCall {
    message: usize,
    id: String,
    name: String,
    shown: String,
}

#[derive(Debug, Default)]
struct Builder {
    messages: Vec<Message>,
    open: Vec<OpenCall>,
    n_calls: usize,
}

impl Builder {
    fn message(&mut self, word: &Word) -> Message {
        let at = self.messages.len();
        match word.head {
            'u' => Message::user(body(word, &format!("user {at}"))),
            'a' => Message::assistant_blocks(self.reply(word, at)),
            't' => self.result(word, at),
            'n' => nested(&self.result(word, at)),
            'b' => shell(word, at),
            'd' => Message::user(format!("{DIGEST_HEADER}\n\n{}", body(word, &format!("digest {at}")))),
            'r' => restored(word, at),
            'k' => summary(word, at),
            's' => Message::custom("system", body(word, &format!("system {at}"))),
            _ => Message::custom("note", body(word, &format!("custom {at}"))),
        }
    }

    fn reply(&mut self, word: &Word, at: usize) -> Vec<Block> {
        let mut blocks = Vec::new();
        if word.flag == Some('?') {
            let text = format!("thinking {at}");
            blocks.push(Block::Thinking { text, signature: Some(format!("sig-{at}")) });
        }
        if word.calls.is_empty() || word.text.is_some() || word.n_tokens.is_some() {
            blocks.push(Block::text(body(word, &format!("assistant {at}"))));
        }
        blocks.extend(word.calls.iter().map(|call| self.call(call, at)));
        blocks
    }

    fn call(&mut self, call: &Call, at: usize) -> Block {
        self.n_calls += 1;
        let id = call.id.clone().unwrap_or_else(|| format!("c{}", self.n_calls));
        let arg = call.arg.clone().unwrap_or_else(|| default_arg(&call.name, self.n_calls));
        let shown = format!("{}({arg})", call.name);
        self.open.push(OpenCall { message: at, id: id.clone(), name: call.name.clone(), shown });
        Block::call(id, &call.name, input(&call.name, &arg, call.n_tokens))
    }

    fn result(&mut self, word: &Word, at: usize) -> Message {
        let open = match &word.id {
            Some(id) => self.close(id, word),
            None if self.open.is_empty() => {
                panic!("bad script: message {at} is a result and no call is open")
            }
            None => self.open.remove(0),
        };
        let text = match word.flag {
            Some('_') => CLEARED_TOOL_RESULT.to_owned(),
            _ => body(word, &format!("result {at} of {}", open.shown)),
        };
        let mut message = Message::tool_result(open.id, open.name, text);
        if let Message::ToolResult { is_error, is_refusal, .. } = &mut message {
            *is_error = matches!(word.flag, Some('!' | '?'));
            *is_refusal = word.flag == Some('?');
        }
        message
    }

    /// Closes the nearest call of this id, the first in its message; without an open one, it
    /// invents an orphan.
    fn close(&mut self, id: &str, word: &Word) -> OpenCall {
        let nearest = self.open.iter().filter(|open| open.id == id).map(|open| open.message).max();
        if let Some(at) = self.open.iter().position(|open| open.id == id && Some(open.message) == nearest) {
            return self.open.remove(at);
        }
        let name = word.tool.clone().unwrap_or_else(|| "read".to_owned());
        OpenCall { message: 0, id: id.to_owned(), shown: format!("{name}#{id}"), name }
    }
}

fn nested(result: &Message) -> Message {
    let block = match result {
        Message::ToolResult { tool_call_id, content, is_error, .. } => {
            result_block(tool_call_id, content, *is_error)
        }
        _ => Block::text(""),
    };
    Message::user(vec![block])
}

fn shell(word: &Word, at: usize) -> Message {
    let command = word.arg.clone().unwrap_or_else(|| "ls".to_owned());
    Message::bash(command, body(word, &format!("output {at}")), Some(i32::from(word.flag == Some('!'))))
}

fn restored(word: &Word, at: usize) -> Message {
    let path = word.arg.clone().unwrap_or_else(|| format!("src/f{at}.rs"));
    Message::user(format!("{RESTORED_FILE_PREFIX} {path}\n{}", body(word, &format!("// file {at}"))))
}

fn summary(word: &Word, at: usize) -> Message {
    let summary = body(word, &format!("summary {at}"));
    match &word.id {
        Some(id) => Message::BranchSummary { summary, from_id: id.clone() },
        None => Message::CompactionSummary { summary, tokens_before: 1000 },
    }
}

fn body(word: &Word, label: &str) -> String {
    let label = word.text.as_deref().unwrap_or(label);
    word.n_tokens.map_or_else(|| label.to_owned(), |n_tokens| fill(label, n_tokens))
}

/// Words that fill a body; a prime number of them, so that lines differ.
const WORDS: [&str; 13] = [
    "cart", "total", "in", "cents", "checks", "stock", "during", "the", "order", "is", "placed", "again",
    "today",
];

/// Returns a text of exactly 3.6 characters per token, rounded down, that starts with the label.
pub fn fill(label: &str, n_tokens: usize) -> String {
    let n_chars = n_tokens * 18 / 5;
    let mut text: String = label.chars().take(n_chars).collect();
    let mut left = n_chars - text.chars().count();
    for (at, word) in WORDS.iter().cycle().enumerate() {
        if left == 0 {
            return text;
        }
        text.push(if at % 10 == 9 { '\n' } else { ' ' });
        text.push_str(&word[..word.len().min(left - 1)]);
        left -= 1 + word.len().min(left - 1);
    }
    text
}

fn default_arg(name: &str, nth: usize) -> String {
    match ToolVocabulary::UNIVERSAL.role(name) {
        Some(ToolRole::Read | ToolRole::Edit | ToolRole::Write) => format!("src/f{nth}.rs"),
        Some(ToolRole::Run) => "cargo test".to_owned(),
        Some(ToolRole::Search) => "total".to_owned(),
        Some(ToolRole::Fetch) => "https://example.org/".to_owned(),
        Some(ToolRole::Plan) | None => format!("step {nth}"),
    }
}

fn path_key(name: &str) -> &'static str {
    if name.starts_with(char::is_uppercase) { "file_path" } else { "path" }
}

fn input(name: &str, arg: &str, n_tokens: Option<usize>) -> Value {
    let body = |label: &str| n_tokens.map_or_else(|| label.to_owned(), |n| fill(label, n));
    match ToolVocabulary::UNIVERSAL.role(name) {
        Some(ToolRole::Read) => read_input(name, arg),
        Some(ToolRole::Edit) => {
            json!({ path_key(name): arg, "old_string": "old", "new_string": body("new") })
        }
        Some(ToolRole::Write) => json!({ path_key(name): arg, "content": body("// new file") }),
        Some(ToolRole::Run) => json!({ "command": body(arg) }),
        Some(ToolRole::Search) => json!({ "pattern": body(arg) }),
        Some(ToolRole::Fetch) => json!({ "url": body(arg) }),
        Some(ToolRole::Plan) => json!({ "todos": [{ "content": body(arg), "status": "pending" }] }),
        None => json!({ "arg": body(arg) }),
    }
}

/// Builds the input of a read from `path` or `path@offset+limit`.
fn read_input(name: &str, arg: &str) -> Value {
    let part = arg.rsplit_once('@').and_then(|(path, part)| {
        let (offset, limit) = part.split_once('+')?;
        Some((path, offset.parse::<u64>().ok()?, limit.parse::<u64>().ok()?))
    });
    match part {
        Some((path, offset, limit)) => json!({ path_key(name): path, "offset": offset, "limit": limit }),
        None => json!({ path_key(name): arg }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use wb_message::Pairing;
    use wb_message::markers::{is_cleared, is_pinned, is_synthetic};
    use wb_message::outline::role;

    #[test]
    fn every_letter_writes_its_message() {
        let roles: Vec<_> = script("s u a? a:read t! b d r k k#e1 c").iter().map(role).collect();
        let wanted = [
            "pinned",
            "user",
            "assistant",
            "assistant",
            "error",
            "shell",
            "digest",
            "restored",
            "digest",
            "digest",
            "custom",
        ];
        assert_eq!(roles, wanted);
        let messages = script("d r s k");
        assert!(is_synthetic(&messages[0]) && is_synthetic(&messages[1]) && is_pinned(&messages[2]));
    }

    #[test]
    fn a_bare_result_answers_the_oldest_open_call() {
        let messages = script("a:read,bash a:edit t t t");
        let answered: Vec<_> = messages.iter().flat_map(Message::answered_ids).collect();
        assert_eq!(answered, ["c1", "c2", "c3"]);
        let names: Vec<_> = messages
            .iter()
            .filter_map(|m| match m {
                Message::ToolResult { tool_name, .. } => Some(tool_name.as_str()),
                _ => None,
            })
            .collect();
        assert_eq!(names, ["read", "bash", "edit"]);
    }

    #[test]
    fn ids_make_orphans_repeats_and_interleaved_answers() {
        let messages = script("a:read#x,bash#y t#y t#x t#x t:grep#zz n#zz");
        let pairing = Pairing::new(&messages);
        assert_eq!(pairing.orphans(), [4, 5]);
        assert!(pairing.pairs()[2].repeated);
        assert!(matches!(&messages[4], Message::ToolResult { tool_name, .. } if tool_name == "grep"));
    }

    #[test]
    #[should_panic(expected = "message 1 is a result and no call is open")]
    fn a_result_without_a_call_is_a_mistake() {
        script("u t");
    }

    #[test]
    fn sizes_are_exact_to_the_character() {
        for n_tokens in [0, 1, 2, 3, 10, 400, 12_345] {
            let messages = script(&format!("u*{n_tokens}"));
            let Message::User { content, .. } = &messages[0] else { panic!("a user message") };
            assert_eq!(content.texts().map(str::len).sum::<usize>(), n_tokens * 18 / 5);
        }
        assert!(fill("total", 100).starts_with("total cart total"));
    }

    #[test]
    fn arguments_use_the_keys_of_the_vocabulary() {
        let messages = script("a:read(a.rs@10+40),Read(b.rs),Edit(c.rs),bash(make all),todo*50");
        let calls: Vec<_> = messages[0].calls().map(|(_, _, input)| input.clone()).collect();
        assert_eq!(calls[0], json!({"path": "a.rs", "offset": 10, "limit": 40}));
        assert_eq!(calls[1], json!({"file_path": "b.rs"}));
        assert_eq!(ToolVocabulary::UNIVERSAL.path(&calls[2]), Some("c.rs"));
        assert_eq!(calls[3], json!({"command": "make all"}));
        assert_eq!(calls[4]["todos"][0]["content"].as_str().map(str::len), Some(180));
    }

    #[test]
    fn cleared_results_have_the_mark_and_nested_ones_are_the_users() {
        let messages = script("a:read,read t_ n");
        assert!(is_cleared(messages[1].blocks()));
        assert!(messages[2].blocks()[0].is_tool_result());
    }

    #[test]
    fn consecutive_results_become_one_turn() {
        let turns = script_turns("u a:read,bash t t! a u");
        assert_eq!(turns.len(), 5);
        assert_eq!(turns[2].blocks().len(), 2);
        assert!(matches!(turns[2].blocks()[1], Block::ToolResult { is_error: Some(true), .. }));
    }

    #[test]
    fn the_same_script_gives_the_same_messages() {
        let text = "s u*40 [a:read,bash t t]x3 a? b d r k c";
        assert_eq!(script(text), script(text));
    }
}
