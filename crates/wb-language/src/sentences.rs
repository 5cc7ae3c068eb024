//! Sentences and list items of prose.
//!
//! Code, logs, tables, quotes and pasted documents are skipped. Every sentence is a slice of the
//! text.

use wb_message::text::head;

use crate::pasted::{byte_set, closes, data_tag, is_data, is_error, is_label};

/// A sentence or the sentence of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The words, without a list marker.
    pub text: &'a str,
    /// The index of the words in the text.
    pub start: usize,
    /// The index of its paragraph or list item.
    pub block: usize,
    /// The block is a list item.
    pub is_item: bool,
    /// The block is a quote that the text adopts.
    pub is_quoted: bool,
}

impl Sentence<'_> {
    /// Returns the end of the words in the text.
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// The minimum bytes after a heading of the first level that make a text a document.
const DOCUMENT_BYTES: usize = 2000;
/// The minimum bytes of a line that was wrapped at the width of a page.
const WRAPPED_BYTES: usize = 60;
/// The maximum bytes of an error line that does not continue up to the next blank one.
const WRAPPED_ERROR_BYTES: usize = 80;
/// The maximum number of names of unclosed tags that are tracked.
const MOST_UNCLOSED: usize = 16;
/// The maximum bytes of a quote or bracket that is part of a sentence.
const SPAN_BYTES: usize = 400;

/// Returns the sentences of the prose in a text.
pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut blocks = Blocks::default();
    let last_close = text.find('<').and_then(|_| text.rfind("</")).unwrap_or(0);
    let mut skip = Skip { text, last_close, ..Skip::default() };
    let conversation = conversation_start(text).unwrap_or(text.len());
    let adopts_quotes = adopts_quotes(text);
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if start >= conversation || skip.is_document(line, text.len() - start) {
            break;
        }
        let is_adopted = adopts_quotes && line.starts_with('>') && skip.until.is_none();
        if !is_adopted && skip.includes(line, start) {
            blocks.is_open = false;
        } else {
            blocks.add(line, start);
        }
    }
    let mut all = Vec::new();
    for (nth, block) in blocks.list.iter().enumerate() {
        split_block(text, nth, block, &mut all);
    }
    all
}

/// Returns the start of a pasted conversation, in which lines of both sides name the speaker.
fn conversation_start(text: &str) -> Option<usize> {
    const SIDES: [&[&str]; 2] = [
        &["User:", "USER:", "Human:", "**User"],
        &["Agent:", "Assistant:", "ASSISTANT:", "AI:", "**Assistant", "Claude:"],
    ];
    let speaks = |line: &str, side: &[&str]| {
        line.starts_with(['U', 'H', 'A', 'C', '*']) && side.iter().any(|name| line.starts_with(name))
    };
    let start = |side| {
        let mut at = 0;
        text.split_inclusive('\n').find_map(|line| {
            let start = at;
            at += line.len();
            speaks(line.trim_start_matches(['>', ' ']), side).then_some(start)
        })
    };
    let user = start(SIDES[0])?;
    Some(user.min(start(SIDES[1])?))
}

/// Returns whether a text has quoted lines and says that they apply.
fn adopts_quotes(text: &str) -> bool {
    const ADOPTS: [&str; 21] = [
        "applies to",
        "apply to",
        "holds for",
        "hold for",
        "goes for",
        "stick to",
        "follow it",
        "follow them",
        "follow these",
        "binding",
        "gilt",
        "halte dich",
        "halt dich",
        "síguel",
        "s'applique",
        "respecte",
        "遵守",
        "适用",
        "従って",
        "守って",
        "適用",
    ];
    let has_quotes = text.starts_with('>') || text.contains("\n>");
    has_quotes && {
        let own = text.lines().filter(|line| !line.starts_with('>'));
        let lower = own.collect::<Vec<_>>().join("\n").to_lowercase();
        ADOPTS.iter().any(|word| lower.contains(word)) || names_rules(&lower)
    }
}

/// Returns whether a text names a collection of rules.
pub(crate) fn names_rules(text: &str) -> bool {
    const WORDS: [&str; 39] = [
        "rule",
        "rules",
        "convention",
        "conventions",
        "guideline",
        "guidelines",
        "guide",
        "policy",
        "policies",
        "norms",
        "standards",
        "agreement",
        "agreements",
        "constraints",
        "handbook",
        "charter",
        "contributing",
        "agents",
        "regeln",
        "hausregeln",
        "konventionen",
        "vorgaben",
        "richtlinien",
        "vereinbarungen",
        "handbuch",
        "leitfaden",
        "règle",
        "règles",
        "consignes",
        "charte",
        "norma",
        "normas",
        "regla",
        "reglas",
        "convenciones",
        "directrices",
        "guía",
        "manual",
        "acuerdos",
    ];
    const PARTS: [&str; 18] = [
        "we work",
        "arbeiten wir",
        "on travaille",
        "trabajamos",
        "规范",
        "规则",
        "规定",
        "约定",
        "守则",
        "制度",
        "規約",
        "規則",
        "ルール",
        "方針",
        "決まり",
        "ガイドライン",
        "約束",
        "手順書",
    ];
    let lower = text.to_lowercase();
    crate::plain_words(&lower).any(|it| WORDS.contains(&it)) || PARTS.iter().any(|part| lower.contains(part))
}

/// A paragraph or a list item.
struct Block {
    start: usize,
    end: usize,
    is_item: bool,
    is_quoted: bool,
}

#[derive(Default)]
struct Blocks {
    list: Vec<Block>,
    /// The next line may belong to the last block.
    is_open: bool,
}

impl Blocks {
    fn add(&mut self, line: &str, start: usize) {
        let marker = marker_bytes(line);
        let words = line[marker..].trim_end();
        let end = start + marker + words.len();
        match self.list.last_mut() {
            Some(block) if self.is_open && marker == indent(line) => block.end = end,
            _ => {
                let (is_item, is_quoted) = (marker > indent(line), line.starts_with('>'));
                self.list.push(Block { start: start + marker, end, is_item, is_quoted });
            }
        }
        self.is_open = !words.is_empty();
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the bytes before the words of a line: blanks and a list marker.
fn marker_bytes(line: &str) -> usize {
    let rest = line.trim_start().trim_start_matches('>').trim_start();
    let after_number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let n_digits = rest.len() - after_number.len();
    let is_number = (1..4).contains(&n_digits);
    let marks: &[&str] = match rest.as_bytes().first() {
        Some(b'-') => &["- [ ] ", "- [x] ", "- "],
        Some(b'*') => &["* "],
        Some(b'+') => &["+ "],
        Some(0x80..) => &["• ", "– ", "・"],
        _ => &[],
    };
    let after = marks.iter().find_map(|mark| rest.strip_prefix(mark));
    let numbered = || [". ", ") ", ".\t"].iter().find_map(|mark| after_number.strip_prefix(mark));
    let words = after.or_else(|| if is_number { numbered() } else { None }).unwrap_or(rest);
    line.len() - words.trim_start().len()
}

/// Returns the mark of a line that opens a block of code, unless the line closes it too.
pub fn fence(line: &str) -> Option<&str> {
    let words = line.trim();
    let is_inline = words.len() > 6 && words.ends_with("```");
    (is_fenced(words) && !is_inline).then(|| &words[..3])
}

fn is_fenced(words: &str) -> bool {
    words.starts_with("```") || words.starts_with("~~~")
}

/// Returns whether a line closes the block of code that a mark opened.
pub fn is_fence_end(line: &str, mark: &str) -> bool {
    line.trim().starts_with(mark)
}

/// The state of skipping text that is not prose.
#[derive(Default)]
struct Skip<'a> {
    text: &'a str,
    /// The end of the open code or tag, and whether it is a tag.
    until: Option<(&'a str, bool)>,
    /// The index of the last closing tag.
    last_close: usize,
    /// The tags known to be unclosed.
    unclosed: Vec<&'a str>,
    /// The lines quote an issue.
    in_issue: bool,
    /// The lines continue a wrapped error.
    in_error: bool,
}

impl<'a> Skip<'a> {
    /// Returns whether a line is the heading of a pasted document.
    fn is_document(&self, line: &str, n_bytes: usize) -> bool {
        const RULES: [&str; 9] = [
            "instruction",
            "rule",
            "task",
            "requirement",
            "guideline",
            "constraint",
            "objective",
            "role",
            "goal",
        ];
        let has_rules = || RULES.iter().any(|word| line.to_ascii_lowercase().contains(word));
        self.until.is_none() && line.starts_with("# ") && n_bytes > DOCUMENT_BYTES && !has_rules()
    }

    /// Returns whether a tag is closed after an index. After many unclosed tags, none counts as
    /// closed.
    fn is_closed_after(&mut self, name: &'a str, at: usize) -> bool {
        if at > self.last_close || self.unclosed.len() == MOST_UNCLOSED || self.unclosed.contains(&name) {
            return false;
        }
        let is_closed = closes(&self.text[at..], name);
        if !is_closed {
            self.unclosed.push(name);
        }
        is_closed
    }

    /// Returns whether to skip a line.
    fn includes(&mut self, line: &'a str, start: usize) -> bool {
        let words = line.trim();
        if let Some((end, is_tag)) = self.until {
            let ends = if is_tag { closes(words, end) } else { is_fence_end(words, end) };
            if ends {
                self.until = None;
            }
            return true;
        }
        if is_fenced(words) {
            self.until = fence(words).map(|mark| (mark, false));
            return true;
        }
        if let Some(name) = data_tag(words) {
            let is_open = !closes(words, name) && self.is_closed_after(name, start + line.len());
            self.until = is_open.then_some((name, true));
            return true;
        }
        if is_label(words) {
            self.in_issue = words.starts_with("ISSUE");
        }
        let is_data = is_data(line);
        self.in_error = !words.is_empty()
            && (self.in_error || is_data && words.len() > WRAPPED_ERROR_BYTES && is_error(words));
        self.in_issue || self.in_error || is_data
    }
}

/// Splits a block into its sentences.
fn split_block<'a>(text: &'a str, nth: usize, block: &Block, out: &mut Vec<Sentence<'a>>) {
    let words = &text[block.start..block.end];
    let (mut start, mut at) = (0, 0);
    while let Some(n_plain) = words.as_bytes()[at..].iter().position(|byte| may_end_or_open(*byte)) {
        at += n_plain;
        let Some(c) = words[at..].chars().next() else { break };
        let after = at + c.len_utf8();
        at = match span_end(words, at, c) {
            Some(end) => end,
            None => after,
        };
        if is_end(words, after, c, start) {
            let end = closing_end(words, after);
            push(words, start..end, nth, block, out);
            (start, at) = (end, end);
        }
    }
    push(words, start..words.len(), nth, block, out);
}

/// Returns whether a byte may begin a quote, a bracket or the end of a sentence.
fn may_end_or_open(byte: u8) -> bool {
    const SIGNS: [bool; 256] = byte_set(b"`\"(\n.!?");
    byte >= 0xc0 || SIGNS[usize::from(byte)]
}

fn push<'a>(
    words: &'a str,
    range: std::ops::Range<usize>,
    nth: usize,
    block: &Block,
    out: &mut Vec<Sentence<'a>>,
) {
    let sentence = &words[range.clone()];
    let text = sentence.trim();
    if text.contains(char::is_alphanumeric) {
        let start = block.start + range.start + indent(sentence);
        let (is_item, is_quoted) = (block.is_item, block.is_quoted);
        out.push(Sentence { text, start, block: nth, is_item, is_quoted });
    }
}

/// Returns the end of the quote, code span or bracket at an index.
fn span_end(words: &str, at: usize, open: char) -> Option<usize> {
    let close = match open {
        '`' => '`',
        '"' => '"',
        '“' => '”',
        '„' => '“',
        '«' => '»',
        '(' => ')',
        '「' => '」',
        _ => return None,
    };
    let from = at + open.len_utf8();
    let inside = head(&words[from..], SPAN_BYTES);
    let n_bytes = inside.find(close)?;
    (!inside[..n_bytes].contains("\n\n")).then_some(from + n_bytes + close.len_utf8())
}

/// Returns whether the character before `after` ends the sentence that begins at `start`.
fn is_end(words: &str, after: usize, c: char, start: usize) -> bool {
    if matches!(c, '。' | '！' | '？' | '；') {
        return true;
    }
    if c == '\n' {
        return ends_line(words, after);
    }
    if !matches!(c, '.' | '!' | '?' | '…') {
        return false;
    }
    let rest = &words[closing_end(words, after)..];
    let next = rest.trim_start().chars().next();
    let is_apart = rest.is_empty() || rest.starts_with(char::is_whitespace);
    let sentence = &words[start..after - c.len_utf8()];
    let trails_off = c == '…' || c == '.' && (sentence.ends_with('.') || rest.starts_with('.'));
    is_apart
        && !(trails_off && next.is_some_and(char::is_lowercase))
        && !(c == '.' && is_abbreviation(sentence))
}

/// Returns whether a line break before an index ends a sentence, rather than wrapping it.
fn ends_line(words: &str, after: usize) -> bool {
    let line = words[..after].trim_end().rsplit('\n').next().unwrap_or_default();
    let next = words[after..].trim_start().chars().next();
    line.len() < WRAPPED_BYTES || !next.is_some_and(|c| c.is_lowercase() || c == '`' || c == '(')
}

/// Returns the index after the closing quotes and brackets at an index.
fn closing_end(words: &str, at: usize) -> usize {
    let rest = &words[at..];
    at + rest.len() - rest.trim_start_matches(['"', '\'', ')', ']', '”', '’', '»', '」', '*', '!', '?']).len()
}

/// Returns whether the dot after a text belongs to its last word.
fn is_abbreviation(text: &str) -> bool {
    const SHORT: [&str; 26] = [
        "e.g", "i.e", "eg", "ie", "etc", "vs", "cf", "mr", "mrs", "dr", "no", "nr", "approx", "incl", "resp",
        "z.b", "bzw", "d.h", "u.a", "p.ex", "p.ej", "ca", "max", "min", "fig", "sec",
    ];
    let last = text.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_first = last.len() == text.trim_start().len();
    let is_number = is_first && !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let lower = last.to_lowercase();
    // A sentence may end with "no" and the like.
    is_number || SHORT.contains(&lower.as_str()) && !matches!(lower.as_str(), "no" | "max" | "min" | "etc")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &[&str]) {
        let found: Vec<_> = sentences(text).iter().map(|it| it.text).collect();
        assert_eq!(found, expected, "{text:?}");
    }

    #[test]
    fn a_dot_inside_a_word_a_quote_or_a_code_span_ends_no_sentence() {
        check("Keep v1.2. Read a.rs first.", &["Keep v1.2.", "Read a.rs first."]);
        check("See https://a.b/c?d=e. Then stop.", &["See https://a.b/c?d=e.", "Then stop."]);
        check("Use tools, e.g. a linter. ok", &["Use tools, e.g. a linter.", "ok"]);
        check("Print `a. b` and \"No. Never.\" there", &["Print `a. b` and \"No. Never.\" there"]);
        check("ask me (do not guess!) then go", &["ask me (do not guess!) then go"]);
        check("it hangs ... so wait", &["it hangs ... so wait"]);
        check("不要改。继续！", &["不要改。", "继续！"]);
    }

    #[test]
    fn items_are_separate_and_wrapped_lines_stay_whole() {
        check("Rules:\n- never push\n2) ask. Wait.", &["Rules:", "never push", "ask.", "Wait."]);
        check("one\ntwo", &["one", "two"]);
        let wrapped = "this line is as long as a page is wide and so it was wrapped by an\neditor for us";
        check(wrapped, &[wrapped]);
    }

    #[test]
    fn code_logs_tables_and_documents_are_skipped() {
        check("a\n```\nnever b\n```\nc", &["a", "c"]);
        check(
            "look:\n2024-01-02 never\n| must |\n> don't\nError: must\n  at f (a.js:1)\nok",
            &["look:", "ok"],
        );
        check("<log>\nsee log\nnever push\n</log>\nfix it", &["fix it"]);
        check("<log>\n</b> never push\n</log>\n<data>\nuse it</b>", &["use it</b>"]);
        check("<pr_description>\nit must\n</pr_description>\nfix it", &["fix it"]);
        check("ISSUE:\nit must work\nINSTRUCTIONS:\nsolve it", &["INSTRUCTIONS:", "solve it"]);
        let document = format!("read this\n# Title\n{}", "It must be so.\n".repeat(200));
        check(&document, &["read this"]);
    }
}
