//! Splits prose into sentences and list items, and passes over what is not prose.
//!
//! Code, logs, tables, quotes and pasted documents are not prose. Every sentence is a slice of the text as it stands.

use wb_message::text::head;

use crate::pasted::{closes, data_tag, is_data, is_error, is_label, set_of};

/// A sentence or the sentence of a list item.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence<'a> {
    /// The words, without the mark of a list item.
    pub text: &'a str,
    /// Where the words begin in the text.
    pub start: usize,
    /// Paragraph or list item that it stands in.
    pub block: usize,
    /// Whether the block is an item of a list.
    pub in_item: bool,
}

impl Sentence<'_> {
    /// Returns where the words end in the text.
    pub fn end(&self) -> usize {
        self.start + self.text.len()
    }
}

/// A text with a heading of the first level is taken for a document if this many bytes follow.
const DOCUMENT_BYTES: usize = 2000;
/// A line of fewer bytes was ended by the user, not by the width of a page.
const WRAPPED_BYTES: usize = 60;
/// An error on a longer line goes on up to the next blank one.
const WRAPPED_ERROR_BYTES: usize = 80;
/// Names of tags that may stay open in a text.
const MOST_UNCLOSED: usize = 16;
/// Quotes and brackets that are wider hold sentences of their own.
const SPAN_BYTES: usize = 400;

/// Returns the sentences of the prose in a text.
pub fn sentences(text: &str) -> Vec<Sentence<'_>> {
    let mut blocks = Blocks::default();
    let last_close = text.find('<').and_then(|_| text.rfind("</")).unwrap_or(0);
    let mut skip = Skip { text, last_close, ..Skip::default() };
    let conversation = conversation_start(text).unwrap_or(text.len());
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let start = at;
        at += line.len();
        if start >= conversation || skip.is_document(line, text.len() - start) {
            break;
        }
        if skip.passes(line, start) {
            blocks.is_open = false;
        } else {
            blocks.add(line, start);
        }
    }
    let mut all = Vec::new();
    for (nth, block) in blocks.list.iter().enumerate() {
        split(text, nth, block, &mut all);
    }
    all
}

/// Returns where a pasted conversation begins: lines of both sides are marked with who speaks.
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

/// A paragraph or a list item.
struct Block {
    start: usize,
    end: usize,
    is_item: bool,
}

#[derive(Default)]
struct Blocks {
    list: Vec<Block>,
    /// Whether the next line may belong to the last block.
    is_open: bool,
}

impl Blocks {
    fn add(&mut self, line: &str, start: usize) {
        let marker = marker_bytes(line);
        let words = line[marker..].trim_end();
        let end = start + marker + words.len();
        match self.list.last_mut() {
            Some(block) if self.is_open && marker == indent(line) => block.end = end,
            _ => self.list.push(Block { start: start + marker, end, is_item: marker > indent(line) }),
        }
        self.is_open = !words.is_empty();
    }
}

fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}

/// Returns the bytes before the words of a line: blanks and the mark of a list item.
fn marker_bytes(line: &str) -> usize {
    let rest = line.trim_start();
    let after_number = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let n_digits = rest.len() - after_number.len();
    let is_number = (1..4).contains(&n_digits);
    let marks: &[&str] = match rest.as_bytes().first() {
        Some(b'-') => &["- [ ] ", "- [x] ", "- "],
        Some(b'*') => &["* "],
        Some(b'+') => &["+ "],
        Some(0x80..) => &["• ", "– "],
        _ => &[],
    };
    let after = marks.iter().find_map(|mark| rest.strip_prefix(mark));
    let numbered = || [". ", ") ", ".\t"].iter().find_map(|mark| after_number.strip_prefix(mark));
    let words = after.or_else(|| if is_number { numbered() } else { None }).unwrap_or(rest);
    line.len() - words.trim_start().len()
}

/// Returns the mark of a line that begins a block of code; one that is ended on the same line is none.
pub fn fence(line: &str) -> Option<&str> {
    let words = line.trim();
    let is_inline = words.len() > 6 && words.ends_with("```");
    (is_fenced(words) && !is_inline).then(|| &words[..3])
}

fn is_fenced(words: &str) -> bool {
    words.starts_with("```") || words.starts_with("~~~")
}

/// Returns whether a line ends the block of code that a mark began.
pub fn ends_fence(line: &str, mark: &str) -> bool {
    line.trim().starts_with(mark)
}

/// What is passed over at a place.
#[derive(Default)]
struct Skip<'a> {
    text: &'a str,
    /// What ends the code or the tag that is open.
    until: Option<(&'a str, bool)>,
    /// Where the last tag is closed.
    last_close: usize,
    /// Tags that are never closed.
    unclosed: Vec<&'a str>,
    /// Whether the lines quote an issue.
    in_issue: bool,
    /// Whether the lines go on with an error whose line was wrapped.
    in_error: bool,
}

impl<'a> Skip<'a> {
    /// Returns whether a heading begins a document that was pasted.
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

    /// Returns whether a tag is closed behind a place; of many that are not, the later ones count as such unread.
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

    /// Returns whether a line is passed over that begins at a place.
    fn passes(&mut self, line: &'a str, start: usize) -> bool {
        let words = line.trim();
        if let Some((end, is_tag)) = self.until {
            let ends = if is_tag { closes(words, end) } else { ends_fence(words, end) };
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
fn split<'a>(text: &'a str, nth: usize, block: &Block, out: &mut Vec<Sentence<'a>>) {
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
    const SIGNS: [bool; 256] = set_of(b"`\"(\n.!?");
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
        out.push(Sentence { text, start, block: nth, in_item: block.is_item });
    }
}

/// Returns where a quote, a code span or a bracket ends that begins at a place.
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

/// Returns whether the character before a place ends a sentence that began at `start`.
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
    let said = &words[start..after - c.len_utf8()];
    let trails_off = c == '…' || c == '.' && (said.ends_with('.') || rest.starts_with('.'));
    is_apart && !(trails_off && next.is_some_and(char::is_lowercase)) && !(c == '.' && is_abbreviation(said))
}

/// Returns whether a line break before a place ends a sentence, which one that only wraps does not.
fn ends_line(words: &str, after: usize) -> bool {
    let line = words[..after].trim_end().rsplit('\n').next().unwrap_or_default();
    let next = words[after..].trim_start().chars().next();
    line.len() < WRAPPED_BYTES || !next.is_some_and(|c| c.is_lowercase() || c == '`' || c == '(')
}

/// Returns the place behind the quotes and brackets that close at a place.
fn closing_end(words: &str, at: usize) -> usize {
    let rest = &words[at..];
    at + rest.len() - rest.trim_start_matches(['"', '\'', ')', ']', '”', '’', '»', '」', '*', '!', '?']).len()
}

/// Returns whether the dot behind a text belongs to its last word.
fn is_abbreviation(said: &str) -> bool {
    const SHORT: [&str; 26] = [
        "e.g", "i.e", "eg", "ie", "etc", "vs", "cf", "mr", "mrs", "dr", "no", "nr", "approx", "incl", "resp",
        "z.b", "bzw", "d.h", "u.a", "p.ex", "p.ej", "ca", "max", "min", "fig", "sec",
    ];
    let last = said.rsplit(|c: char| c.is_whitespace() || c == '(').next().unwrap_or_default();
    let is_first = last.len() == said.trim_start().len();
    let is_number = is_first && !last.is_empty() && last.bytes().all(|byte| byte.is_ascii_digit());
    let lower = last.to_lowercase();
    // A sentence may end with "no"; the number that follows it tells.
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
    fn items_stand_alone_and_wrapped_lines_stay_whole() {
        check("Rules:\n- never push\n2) ask. Wait.", &["Rules:", "never push", "ask.", "Wait."]);
        check("one\ntwo", &["one", "two"]);
        let wrapped = "this line is as long as a page is wide and so it was wrapped by an\neditor for us";
        check(wrapped, &[wrapped]);
    }

    #[test]
    fn code_logs_tables_and_documents_are_passed_over() {
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
