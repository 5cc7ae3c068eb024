//! Sessions from a seed, one after the other: none is kept.

use std::sync::LazyLock;

/// The formats of the sessions.
pub(crate) const FORMATS: [&str; 4] =
    ["openai-chat", "anthropic-messages", "openai-responses", "gemini-contents"];

/// The steps of a long session after which the user says something.
const TURN_STEPS: usize = 25;

/// Lines of results, as JSON strings have them.
static LINES: LazyLock<Vec<String>> = LazyLock::new(|| {
    let mut chance = Chance::new(0);
    let line = |_| {
        let (name, factor) = (chance.next(900), chance.next(90));
        format!("pub fn total_{name}(cents: u64) -> u64 {{ cents * {factor} }}\\n")
    };
    (0..4096).map(line).collect()
});

/// Numbers from a seed (`SplitMix64`).
#[derive(Clone, Debug)]
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(crate) fn next(&mut self, below: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % below.max(1) as u64).unwrap_or_default()
    }
}

/// A session that grows as text, without a tree of values.
struct Writer<'a> {
    format: &'a str,
    text: String,
    seed: u64,
}

/// Returns the messages of a session of about some bytes as JSON.
pub(crate) fn session(format: &str, seed: u64, n_bytes: usize) -> String {
    let mut chance = Chance::new(seed);
    let number = chance.next(1000);
    let mut writer = Writer { format, text: String::with_capacity(n_bytes + n_bytes / 8), seed };
    writer.text.push('[');
    writer.user(&format!(
        "Fix the rounding in src/cart_{number}.rs. Never touch src/billing.rs, and always run the tests before you commit."
    ));
    // Longer sessions have longer results, too.
    let most_lines = if n_bytes < 100_000 { 12 } else { 60 };
    for step in 1.. {
        if writer.text.len() + 600 > n_bytes {
            break;
        }
        if step % TURN_STEPS == 0 {
            writer.assistant(&format!("Part {step} is read. I go on with the next one."));
            writer.user(&format!("Now src/part_{}.rs, and keep the names as they are.", chance.next(40)));
        }
        let (part, n_lines, first) = (chance.next(40), 2 + chance.next(most_lines), chance.next(LINES.len()));
        let lines = (first..first + n_lines).map(|at| &LINES[at % LINES.len()]);
        match chance.next(8) {
            0 => {
                let failed = chance.next(3);
                let end = if failed == 0 { "ok. 12 passed" } else { "FAILED. 11 passed" };
                let result = format!("running 12 tests\\ntest result: {end}; {failed} failed\\n");
                writer.step(step, "bash", "command", "cargo test", std::iter::once(&result));
            }
            _ => writer.step(step, "read_file", "path", &format!("src/part_{part}.rs"), lines),
        }
    }
    writer.assistant("All parts are read. The rounding is done in cents now, and 12 of 12 tests pass.");
    writer.text.pop();
    writer.text.push(']');
    writer.text
}

impl Writer<'_> {
    fn push(&mut self, parts: &[&str]) {
        for part in parts {
            self.text.push_str(part);
        }
    }

    fn user(&mut self, text: &str) {
        match self.format {
            "gemini-contents" => self.push(&[r#"{"role":"user","parts":[{"text":""#, text, r#""}]},"#]),
            _ => self.push(&[r#"{"role":"user","content":""#, text, r#""},"#]),
        }
    }

    fn assistant(&mut self, text: &str) {
        match self.format {
            "gemini-contents" => self.push(&[r#"{"role":"model","parts":[{"text":""#, text, r#""}]},"#]),
            "anthropic-messages" => {
                self.push(&[r#"{"role":"assistant","content":[{"type":"text","text":""#, text, r#""}]},"#]);
            }
            _ => self.push(&[r#"{"role":"assistant","content":""#, text, r#""},"#]),
        }
    }

    /// Writes a call and its result.
    fn step<'a>(
        &mut self,
        step: usize,
        tool: &str,
        key: &str,
        value: &str,
        lines: impl Iterator<Item = &'a String>,
    ) {
        let id = format!("call_{}_{step}", self.seed);
        let (before, between, after) = match self.format {
            "openai-chat" => (
                format!(
                    r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":"{{\"{key}\":\"{value}\"}}"}}}}]}},"#
                ),
                format!(r#"{{"role":"tool","tool_call_id":"{id}","content":""#),
                r#""},"#,
            ),
            "anthropic-messages" => (
                format!(
                    r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{"{key}":"{value}"}}}}]}},"#
                ),
                format!(
                    r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":""#
                ),
                r#""}]},"#,
            ),
            "openai-responses" => (
                format!(
                    r#"{{"type":"function_call","call_id":"{id}","name":"{tool}","arguments":"{{\"{key}\":\"{value}\"}}"}},"#
                ),
                format!(r#"{{"type":"function_call_output","call_id":"{id}","output":""#),
                r#""},"#,
            ),
            _ => (
                format!(
                    r#"{{"role":"model","parts":[{{"functionCall":{{"name":"{tool}","args":{{"{key}":"{value}"}}}}}}]}},"#
                ),
                format!(
                    r#"{{"role":"user","parts":[{{"functionResponse":{{"name":"{tool}","response":{{"output":""#
                ),
                r#""}}}]},"#,
            ),
        };
        self.push(&[&before, &between]);
        for line in lines {
            self.text.push_str(line);
        }
        self.text.push_str(after);
    }
}

/// Damages a text: bytes replaced, removed or repeated.
pub(crate) fn mutated(text: &str, seed: u64) -> Vec<u8> {
    let mut chance = Chance::new(seed);
    let mut bytes = text.as_bytes().to_vec();
    for _ in 0..=chance.next(4) {
        let at = chance.next(bytes.len());
        match chance.next(4) {
            0 => bytes.truncate(at),
            1 => bytes[at] = u8::try_from(chance.next(256)).unwrap_or_default(),
            2 => drop(bytes.drain(at..(at + chance.next(60)).min(bytes.len()))),
            _ => {
                let piece = bytes[at..(at + chance.next(200)).min(bytes.len())].to_vec();
                bytes.splice(at..at, piece);
            }
        }
        if bytes.is_empty() {
            bytes.push(b' ');
        }
    }
    bytes
}
