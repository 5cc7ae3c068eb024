//! Gives back the files that the agent was just reading.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use wb_budget::{TokenCounter, WeighedTranscript, estimate_message_tokens};
use wb_message::block::joined_text;
use wb_message::markers::{CLEARED_TOOL_RESULT, RESTORED_FILE_PREFIX, restored_file};
use wb_message::tools::normal_path;
use wb_message::{Block, Message, ToolRole, ToolVocabulary, text};

/// What [`rehydrate_recent_reads`] may give back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RehydrateOpts {
    /// The most files.
    pub max_files: usize,
    /// The most tokens of all restored messages together.
    pub token_budget: u64,
    /// The name of the read tool.
    pub read_tool_name: String,
}

impl Default for RehydrateOpts {
    fn default() -> Self {
        Self { max_files: 5, token_budget: 8000, read_tool_name: "read".to_owned() }
    }
}

fn restored_message(path: &str, body: &str, timestamp: i64) -> Message {
    let content = [RESTORED_FILE_PREFIX, " ", path, "\n", body].concat().into();
    Message::User { content, timestamp }
}

fn body_of(content: &[Block]) -> String {
    joined_text(content).into_owned()
}

/// Builds the freshest dropped reads as messages, oldest first.
///
/// The recorded behaviour: calls and results are joined by id alone, a marked or outdated body is restored as it
/// is, the freshest file goes whole whatever its size, and the first that does not fit ends the list.
/// [`restore_reads`] does better.
pub fn rehydrate_recent_reads(dropped: &[Message], kept: &[Message], opts: &RehydrateOpts) -> Vec<Message> {
    if opts.max_files == 0 || opts.token_budget == 0 {
        return Vec::new();
    }
    let mut reads = dropped_reads(dropped, &opts.read_tool_name);
    let visible: HashSet<&str> = read_paths(kept, &opts.read_tool_name).map(|(_, path)| path).collect();
    reads.retain(|read| !visible.contains(read.1));
    reads.sort_by_key(|read| std::cmp::Reverse(read.0));
    reads.truncate(opts.max_files);
    let mut restored: Vec<Message> = Vec::new();
    let mut spent = 0;
    for (_, path, body) in reads {
        let message = restored_message(path, &body, 0);
        spent += estimate_message_tokens(&message);
        if spent > opts.token_budget && !restored.is_empty() {
            break;
        }
        restored.push(message);
        if spent > opts.token_budget {
            break;
        }
    }
    restored.reverse();
    restored
}

fn read_paths<'a>(messages: &'a [Message], tool: &'a str) -> impl Iterator<Item = (&'a str, &'a str)> {
    let calls = messages.iter().flat_map(Message::calls);
    calls.filter_map(move |(id, name, input)| {
        let path = input.get("path")?.as_str()?;
        (name == tool && !path.is_empty()).then_some((id, path))
    })
}

/// Returns (index of the result, path, body) per path; the latest result wins.
fn dropped_reads<'a>(dropped: &'a [Message], tool: &'a str) -> Vec<(usize, &'a str, String)> {
    let paths: HashMap<&str, &str> = read_paths(dropped, tool).filter(|(id, _)| !id.is_empty()).collect();
    let mut reads: HashMap<&str, (usize, String)> = HashMap::new();
    for (at, message) in dropped.iter().enumerate() {
        let Message::ToolResult { tool_call_id, content, is_error: false, .. } = message else { continue };
        let Some(path) = paths.get(tool_call_id.as_str()) else { continue };
        let body = body_of(content);
        if !body.is_empty() {
            reads.insert(path, (at, body));
        }
    }
    reads.into_iter().map(|(path, (at, body))| (at, path, body)).collect()
}

/// What [`restore_reads`] may give back.
#[derive(Clone, Copy, Debug)]
pub struct RestoreLimits<'a> {
    /// The most files.
    pub max_files: usize,
    /// The most tokens of all restored messages together.
    pub max_tokens: u64,
    /// Which tools read and which change files.
    pub vocabulary: &'a ToolVocabulary,
}

/// A file as the transcript last showed it; small, since a transcript shows many.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The message with the body.
    body_at: u32,
    /// The message that showed it last, which decides how fresh it is.
    fresh_at: u32,
    whole: bool,
}

impl Seen {
    fn body_at(self) -> usize {
        self.body_at as usize
    }

    fn body<'a>(self, view: &WeighedTranscript<'a>) -> &'a Message {
        view.messages[self.body_at()]
    }

    /// Returns the path as the call or the restored file wrote it.
    fn path<'a>(self, view: &'a WeighedTranscript<'a>, vocabulary: &ToolVocabulary) -> &'a str {
        if let Some((path, _)) = restored_file(self.body(view)) {
            return path;
        }
        let pairs = view.pairing.pairs();
        let pair = pairs.get(pairs.partition_point(|pair| pair.result < self.body_at));
        let call = pair.and_then(|pair| pair.call.find(&view.messages));
        call.and_then(|(_, _, input)| vocabulary.path(input)).unwrap_or_default()
    }
}

/// Files by normal path.
type Files<'a> = HashMap<Cow<'a, str>, Seen>;

/// Room for the files of a long session, so that the map need not grow.
const N_FILES: usize = 200;

/// A restored file is clipped rather than left out only if this many tokens of it remain.
const MIN_CLIPPED_TOKENS: u64 = 200;

/// Builds the freshest reads of the head `messages[..cut]` that are still true and no longer visible, as
/// messages, oldest first.
///
/// Not restored are cleared, failed and empty bodies, bodies older than a later edit of their path, and files
/// that the tail still shows. `hidden` are results of the tail that are about to be cleared (ascending). A full
/// read is preferred to a later partial one. The freshest file is clipped to what is allowed, up to half of which
/// it leaves to smaller, older ones; a later one that does not fit makes room for those too.
pub fn restore_reads(
    view: &WeighedTranscript<'_>,
    cut: usize,
    hidden: &[usize],
    limits: RestoreLimits<'_>,
) -> Vec<Message> {
    let mut seen = last_seen(view, hidden, limits.vocabulary);
    seen.retain(|file| file.body_at() < cut);
    // A message shows one file, so no two are equally fresh.
    seen.sort_unstable_by_key(|file| std::cmp::Reverse(file.fresh_at));
    let timestamp = view.messages[..cut].iter().rev().find_map(|message| message.timestamp()).unwrap_or(0);
    let mut restored = Vec::new();
    let mut left = limits.max_tokens;
    for (nth, file) in seen.iter().enumerate() {
        if restored.len() == limits.max_files || left == 0 {
            break;
        }
        // A restored file weighs about what a result of one text weighed; one far too large is not even built.
        let known = is_one_text(file.body(view));
        if !restored.is_empty() && known && view.weight(file.body_at()) > left.saturating_add(64) {
            continue;
        }
        let message = restored_from(file.body(view), file.path(view, limits.vocabulary), timestamp);
        let weight = view.counter.message(&message);
        let fitting = match weight <= left {
            true => Some((message, weight)),
            false if restored.is_empty() => {
                let allowed = left - needed_by(view, &seen[nth + 1..], limits, left / 2);
                clipped(&message, weight, allowed, view.counter.as_ref())
            }
            false => None,
        };
        if let Some((message, weight)) = fitting {
            left -= weight;
            restored.push(message);
        }
    }
    restored.reverse();
    restored
}

/// Returns about what the freshest of the files that fit into `max_tokens` weigh.
fn needed_by(
    view: &WeighedTranscript<'_>,
    files: &[Seen],
    limits: RestoreLimits<'_>,
    max_tokens: u64,
) -> u64 {
    let (mut needed, mut n_files) = (0, 0);
    for file in files {
        // A restored message carries a mark and the path where a result has its tool's name.
        let path = file.path(view, limits.vocabulary);
        let tokens = view.weight(file.body_at()) + 16 + path.len() as u64 / 3;
        if n_files + 1 < limits.max_files && needed + tokens <= max_tokens {
            needed += tokens;
            n_files += 1;
        }
    }
    needed
}

/// Returns whether a message shows one text and nothing else that weighs, such as images.
fn is_one_text(message: &Message) -> bool {
    restored_file(message).is_some() || matches!(message.blocks(), [Block::Text { .. }])
}

/// Builds the message that gives back what another one shows, in one piece.
fn restored_from(shown: &Message, path: &str, timestamp: i64) -> Message {
    let mut text = String::with_capacity(RESTORED_FILE_PREFIX.len() + path.len() + 2 + body_bytes(shown));
    for part in [RESTORED_FILE_PREFIX, " ", path, "\n"] {
        text.push_str(part);
    }
    match (shown, restored_file(shown)) {
        (_, Some((_, body))) => text.push_str(body),
        (Message::ToolResult { content, .. }, None) => {
            for (nth, part) in content.iter().filter_map(Block::as_text).enumerate() {
                text.push_str(if nth > 0 { "\n" } else { "" });
                text.push_str(part);
            }
        }
        _ => {}
    }
    Message::User { content: text.into(), timestamp }
}

fn body_bytes(message: &Message) -> usize {
    match (message, restored_file(message)) {
        (_, Some((_, body))) => body.len(),
        (Message::ToolResult { content, .. }, None) => {
            content.iter().filter_map(Block::as_text).map(str::len).sum()
        }
        _ => 0,
    }
}

/// Clips a restored message to the tokens that are left, if enough of it remains.
fn clipped(message: &Message, weight: u64, left: u64, counter: &dyn TokenCounter) -> Option<(Message, u64)> {
    let (path, body) = restored_file(message)?;
    let timestamp = message.timestamp().unwrap_or(0);
    let mut allowed = left;
    while allowed >= MIN_CLIPPED_TOKENS {
        let max_bytes = scaled(body.len(), allowed, weight);
        let short = restored_message(path, &text::clip(body, max_bytes), timestamp);
        let short_weight = counter.message(&short);
        if short_weight <= left {
            return Some((short, short_weight));
        }
        allowed = allowed * 7 / 8;
    }
    None
}

/// Returns `len × part / whole` without overflow.
fn scaled(len: usize, part: u64, whole: u64) -> usize {
    usize::try_from(len as u128 * u128::from(part) / u128::from(whole.max(1))).unwrap_or(len)
}

/// Returns the files whose last known body is true.
fn last_seen(view: &WeighedTranscript<'_>, hidden: &[usize], vocabulary: &ToolVocabulary) -> Vec<Seen> {
    let mut files = Files::with_capacity(view.pairing.pairs().len().min(N_FILES));
    let mut pairs = view.pairing.pairs().iter().peekable();
    for ((at, message), index) in view.messages.iter().enumerate().zip(0..) {
        if let Some((path, _)) = restored_file(message) {
            note(&mut files, path, Seen { body_at: index, fresh_at: index, whole: true });
        }
        forget_unanswered(&mut files, view, at, vocabulary);
        while let Some(pair) = pairs.next_if(|pair| pair.result as usize == at) {
            let Some((_, name, input)) = pair.call.find(&view.messages) else { continue };
            let (Some(role), Some(path)) = (vocabulary.role(name), vocabulary.path(input)) else { continue };
            match role {
                ToolRole::Read if is_shown(message, at, hidden) => {
                    let whole = !vocabulary.is_partial_read(input);
                    note(&mut files, path, Seen { body_at: index, fresh_at: index, whole });
                }
                ToolRole::Edit | ToolRole::Write
                    if !matches!(message, Message::ToolResult { is_error: true, .. }) =>
                {
                    files.remove(&normal_path(path));
                }
                _ => {}
            }
        }
    }
    files.into_values().collect()
}

/// A change whose result never came may have happened.
fn forget_unanswered<'a>(
    files: &mut Files<'a>,
    view: &'a WeighedTranscript<'a>,
    at: usize,
    vocabulary: &ToolVocabulary,
) {
    let open = view.pairing.dangling();
    let first = open.partition_point(|call| (call.message as usize) < at);
    for call in open[first..].iter().take_while(|call| call.message as usize == at) {
        let Some((_, name, input)) = call.find(&view.messages) else { continue };
        let changes = matches!(vocabulary.role(name), Some(ToolRole::Edit | ToolRole::Write));
        if let (true, Some(path)) = (changes, vocabulary.path(input)) {
            files.remove(&normal_path(path));
        }
    }
}

fn is_shown(message: &Message, at: usize, hidden: &[usize]) -> bool {
    let Message::ToolResult { content, is_error: false, .. } = message else { return false };
    content.iter().filter_map(Block::as_text).any(is_file_text) && hidden.binary_search(&at).is_err()
}

/// Returns whether a text is neither blank nor the mark of a cleared body, possibly with white space around it, as
/// logs that were cleaned by hand have it.
fn is_file_text(text: &str) -> bool {
    !matches!(text.trim(), "" | CLEARED_TOOL_RESULT)
}

/// Notes a showing; a partial one only refreshes a whole one, and a path on several lines is none.
fn note<'a>(files: &mut Files<'a>, path: &'a str, seen: Seen) {
    if path.contains(['\n', '\r']) {
        return;
    }
    match files.get_mut(&normal_path(path)) {
        Some(known) if known.whole && !seen.whole => known.fresh_at = seen.fresh_at,
        Some(known) => *known = seen,
        None => {
            files.insert(normal_path(path), seen);
        }
    }
}
