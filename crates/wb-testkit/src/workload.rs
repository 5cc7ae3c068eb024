//! Long transcripts for measurements, the same on every run.
//!
//! About 2 kB per message: 60 % tool results of 0.2 to 20 kB of code and logs, 25 % assistant
//! messages with JSON arguments, the rest user messages. Every call is answered.

use std::fmt::Write;

use serde_json::{Value, json};
use wb_message::{Block, Message};

use crate::random::Random;

/// The script of the texts; paths, ids and argument keys are always ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Script {
    /// English, one byte per character.
    Latin,
    /// Chinese and Japanese comments, messages and requests, three bytes per character.
    Cjk,
}

/// Builds a transcript of `n_messages`; it starts with a request and ends with the assistant's
/// text.
pub fn transcript(n_messages: usize, script: Script) -> Vec<Message> {
    let mut maker = Maker { random: Random(0x9E37_79B9_7F4A_7C15), script, n_calls: 0 };
    let mut messages = Vec::with_capacity(n_messages);
    let mut n_rounds = 0;
    while messages.len() + 1 < n_messages {
        let room = n_messages - 1 - messages.len();
        // With two places left, a round of one call fills them, and no call is unanswered.
        if messages.is_empty() || room == 1 || (n_rounds == 0 && room != 2) {
            messages.push(maker.request());
            // One to three rounds, 1.67 on average: 25 assistant messages for 15 of the user.
            n_rounds = [1, 1, 1, 2, 2, 3][maker.random.below(6)];
        } else {
            let n_calls = [1, 2, 2, 3, 4][maker.random.below(5)].min(room - 1);
            maker.round(n_calls, &mut messages);
            n_rounds = usize::saturating_sub(n_rounds, 1);
        }
    }
    if n_messages > 0 {
        messages.push(Message::assistant(maker.sentences(3)));
    }
    messages
}

/// Returns every string that counts for the weight of messages, those inside JSON and its keys
/// included.
pub fn strings(messages: &[Message]) -> Vec<&str> {
    let mut strings = Vec::new();
    for message in messages {
        match message {
            Message::User { content, .. } => strings.extend(content.texts()),
            Message::ToolResult { tool_name, content, .. } => {
                strings.extend(content.iter().filter_map(Block::as_text));
                strings.push(tool_name.as_str());
            }
            _ => strings.extend(message.blocks().iter().filter_map(Block::as_text)),
        }
        for (_, name, input) in message.calls() {
            strings.push(name);
            leaves(input, &mut strings);
        }
    }
    strings
}

/// Returns the bytes of [`strings`].
pub fn payload_bytes(messages: &[Message]) -> usize {
    strings(messages).into_iter().map(str::len).sum()
}

fn leaves<'a>(value: &'a Value, strings: &mut Vec<&'a str>) {
    match value {
        Value::String(text) => strings.push(text),
        Value::Array(items) => items.iter().for_each(|item| leaves(item, strings)),
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            strings.push(key);
            leaves(value, strings);
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

const NAMES: [&str; 16] = [
    "cart", "total", "coupon", "tracker", "session", "window", "parser", "token", "client", "request",
    "retry", "cache", "index", "budget", "worker", "stream",
];
const TYPES: [&str; 8] = ["u64", "&str", "Option<usize>", "Vec<Line>", "Cents", "bool", "String", "Duration"];
const DIRS: [&str; 6] = ["src", "src/store", "src/net", "crates/core/src", "tests/it", "web/app"];
const WORDS: [&str; 24] = [
    "the", "rounding", "of", "a", "coupon", "happens", "twice", "because", "total", "is", "computed",
    "again", "when", "lines", "change", "so", "tests", "fail", "only", "under", "load", "and", "never",
    "alone",
];
const PHRASES: [&str; 10] = [
    "优惠券的舍入发生了两次",
    "购物车的总价在第三次运行时不一致",
    "请检查缓存是否过期",
    "合計が一致しません",
    "テストは並列実行のときだけ失敗します",
    "接続がタイムアウトしました",
    "因为每次修改都会重新计算",
    "再実行してください",
    "日志显示请求被重试",
    "設定ファイルを読み込みます",
];

/// A generator of the parts of a transcript.
#[derive(Debug)]
struct Maker {
    random: Random,
    script: Script,
    n_calls: u32,
}

impl Maker {
    fn request(&mut self) -> Message {
        let n_sentences = 1 + self.random.below(8);
        let content = self.sentences(n_sentences).into();
        Message::User { content, timestamp: 1_767_225_600_000 + 60_000 * i64::from(self.n_calls) }
    }

    /// Appends an assistant message with calls and their results.
    fn round(&mut self, n_calls: usize, messages: &mut Vec<Message>) {
        let mut blocks = Vec::with_capacity(n_calls + 1);
        if self.random.below(2) == 0 {
            blocks.push(Block::text(self.sentences(1)));
        }
        let mut results = Vec::with_capacity(n_calls);
        for _ in 0..n_calls {
            self.n_calls += 1;
            let id = format!("toolu_{:024x}", self.random.next() ^ u64::from(self.n_calls));
            let tool = self.random.pick(&["read", "read", "bash", "bash", "grep", "edit"]);
            blocks.push(Block::call(id.as_str(), tool, self.input(tool)));
            let is_error = tool == "bash" && self.random.below(6) == 0;
            let content = vec![Block::text(self.output(tool))];
            results.push(Message::ToolResult {
                tool_call_id: id,
                tool_name: tool.to_owned(),
                content,
                is_error,
                is_refusal: false,
            });
        }
        messages.push(Message::assistant_blocks(blocks));
        messages.append(&mut results);
    }

    fn input(&mut self, tool: &str) -> Value {
        let path = self.path();
        match tool {
            "read" if self.random.below(3) == 0 => {
                json!({ "path": path, "offset": self.random.below(2000), "limit": 200 })
            }
            "read" => json!({ "path": path }),
            "edit" => {
                let n_bytes = 200 + self.random.below(1800);
                let (old, new) = (self.code(n_bytes), self.code(n_bytes + 200));
                json!({ "path": path, "old_string": old, "new_string": new, "replace_all": false })
            }
            "grep" => {
                let name = self.random.pick(&NAMES);
                json!({ "pattern": format!("fn {name}\\w*\\("), "path": path, "glob": "*.rs", "context": 2 })
            }
            _ => {
                let name = self.random.pick(&NAMES);
                let command = format!("cd crates/core && cargo test {name} -- --nocapture 2>&1 | tail -n 80");
                json!({ "command": command, "timeout_ms": 120_000, "env": { "RUST_BACKTRACE": "1" } })
            }
        }
    }

    /// Generates a body of 0.2 to 20 kB; smaller sizes are more frequent.
    fn output(&mut self, tool: &str) -> String {
        let octave = self.random.pick(&[0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 4, 4, 5, 6]);
        let least = 200 << octave;
        let n_bytes = (least + self.random.below(least)).min(20_000);
        match tool {
            "read" | "edit" => self.code(n_bytes),
            "grep" => self.matches(n_bytes),
            _ => self.log(n_bytes),
        }
    }

    fn path(&mut self) -> String {
        let (dir, name, part) = (self.random.pick(&DIRS), self.random.pick(&NAMES), self.random.pick(&NAMES));
        format!("{dir}/{name}_{part}.rs")
    }

    /// Appends words, separated by blanks if the script uses them.
    fn words(&mut self, out: &mut String, n_words: usize) {
        for at in 0..n_words {
            match self.script {
                Script::Latin if at > 0 => push_all(out, &[" ", self.random.pick(&WORDS)]),
                Script::Latin => out.push_str(self.random.pick(&WORDS)),
                Script::Cjk if at % 4 == 0 => out.push_str(self.random.pick(&PHRASES)),
                Script::Cjk => {}
            }
        }
    }

    fn sentences(&mut self, n_sentences: usize) -> String {
        let mut out = String::new();
        for at in 0..n_sentences {
            if at > 0 {
                out.push_str(if at % 3 == 0 { "\n\n" } else { " " });
            }
            let n_words = 8 + self.random.below(12);
            self.words(&mut out, n_words);
            out.push_str(if self.script == Script::Cjk { "。" } else { "." });
        }
        out
    }

    fn code(&mut self, n_bytes: usize) -> String {
        self.lines(n_bytes, Self::code_line)
    }

    fn log(&mut self, n_bytes: usize) -> String {
        self.lines(n_bytes, Self::log_line)
    }

    fn matches(&mut self, n_bytes: usize) -> String {
        self.lines(n_bytes, |maker, out| {
            let (path, line) = (maker.path(), maker.random.below(2000));
            // Writing into a string cannot fail.
            let _ = write!(out, "{path}:{line}:");
            maker.code_line(out);
        })
    }

    fn lines(&mut self, n_bytes: usize, mut line: impl FnMut(&mut Self, &mut String)) -> String {
        let mut out = String::with_capacity(n_bytes + 160);
        while out.len() < n_bytes {
            line(self, &mut out);
            // One line in forty ends in blanks, like some tool output.
            out.push_str(if self.random.below(40) == 0 { "  \n" } else { "\n" });
        }
        out.truncate(out.floor_char_boundary(n_bytes));
        out
    }

    fn code_line(&mut self, out: &mut String) {
        let (name, other, kind) =
            (self.random.pick(&NAMES), self.random.pick(&NAMES), self.random.pick(&TYPES));
        let indent = "                ".get(..4 * self.random.below(5)).unwrap_or_default();
        out.push_str(indent);
        let _ = match self.random.below(8) {
            0 => write!(out, "pub fn {name}_{other}(&self, {name}: {kind}) -> Result<{kind}, Error> {{"),
            1 => write!(out, "let {name} = self.{other}.iter().map(|line| line.{name}()).sum::<{kind}>();"),
            2 => write!(out, "if {name}.len() > MAX_{other} && !self.is_{other}() {{"),
            3 => write!(out, "return Err(Error::new(\"{name} {other} is out of range\", {name}));"),
            4 => write!(out, "assert_eq!({name}.{other}(), {}, \"{other}: {{}}\");", self.random.below(9999)),
            5 => write!(out, "}}"),
            6 => Ok(()),
            _ => {
                out.push_str("// ");
                self.words(out, 9);
                Ok(())
            }
        };
    }

    fn log_line(&mut self, out: &mut String) {
        let (name, other, number) =
            (self.random.pick(&NAMES), self.random.pick(&NAMES), self.random.below(100_000));
        let (seconds, id) = (number % 60, self.random.next() >> 32);
        let _ = match self.random.below(6) {
            0 => write!(out, "test {name}::tests::{other}_{number} ... ok"),
            1 => write!(out, "   Compiling {name}-{other} v0.{seconds}.1 (crates/{name})"),
            2 => write!(out, "2026-01-01T09:12:{seconds:02}.{:03}Z  INFO {name}::{other}: ", number % 1000),
            3 => write!(out, "2026-01-01T09:12:{seconds:02}Z  WARN {name}: id={id:08x} latency_ms={number}"),
            4 => write!(out, "  at {other} (webpack:///./{name}/{other}.js:{number}:{seconds})"),
            _ => write!(out, "error[E0{seconds:03}]: mismatched types: `{name}` is not `{other}`; "),
        };
        if out.ends_with(' ') {
            self.words(out, 8);
        }
    }
}

fn push_all(out: &mut String, parts: &[&str]) {
    for part in parts {
        out.push_str(part);
    }
}
