//! Restores the files that the agent was reading before a compaction.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::BuildHasherDefault;

use wb_budget::{TokenCounter, WeighedTranscript, estimate_message_tokens};
use wb_message::block::joined_text;
use wb_message::markers::{
    CLEARED_TOOL_RESULT, RESTORED_FILE_PREFIX, fenced_file, has_line_end, restored_file,
};
use wb_message::pairing::{ByKey, id_key};
use wb_message::tools::{RoleCache, normal_path};
use wb_message::{Block, CallPosition, Message, Pair, ToolRole, ToolVocabulary, text};

/// The limits of [`rehydrate_recent_reads`].
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

/// Builds a restored file without a fence, as recorded.
fn unfenced_message(path: &str, body: &str) -> Message {
    Message::user([RESTORED_FILE_PREFIX, " ", path, "\n", body].concat())
}

fn body_of(content: &[Block]) -> String {
    joined_text(content).into_owned()
}

/// Builds the freshest dropped reads as messages, oldest first.
///
/// The recorded behaviour: calls and results are paired by id alone, a cleared or outdated body is
/// restored, the freshest file is restored whole at any size, and the first that does not fit ends
/// the list. [`restore_reads`] does better.
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
        let message = unfenced_message(path, &body);
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

/// The limits of [`restore_reads`].
#[derive(Clone, Copy)]
pub struct RestoreLimits<'a> {
    /// The most files.
    pub max_files: usize,
    /// The most tokens of all restored messages together.
    pub max_tokens: u64,
    /// The roles of tools.
    pub vocabulary: &'a ToolVocabulary,
    /// Returns whether the last read of a path is outdated by changes that no tool call shows, such
    /// as a deletion in a shell.
    pub is_stale: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for RestoreLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RestoreLimits")
            .field("max_files", &self.max_files)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

/// A file as last shown in the transcript; small, since a transcript shows many.
#[derive(Clone, Copy, Debug)]
struct ShownFile {
    /// The message with the body.
    body_at: u32,
    /// True if no older message can show more: the body is whole, or a change precedes it.
    is_settled: bool,
}

impl ShownFile {
    fn body_at(self) -> usize {
        self.body_at as usize
    }

    fn body<'a>(self, view: &WeighedTranscript<'a>) -> &'a Message {
        view.messages[self.body_at()]
    }

    /// Returns the path as written in the call or the restored file.
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

/// The initial capacity for files, enough for a long session.
const N_FILES: usize = 200;

/// The most files to consider, the freshest ones.
const MAX_CANDIDATES: usize = 64;

/// The most messages before the cut to search; the agent rarely works on anything older.
const MAX_MESSAGES_BACK: usize = 1_000;

/// The fewest tokens of a clipped file; a smaller rest is left out.
const MIN_CLIPPED_TOKENS: u64 = 200;

/// Builds messages with the freshest reads of the head `messages[..cut]` that are still true and no
/// longer visible, oldest first.
///
/// Cleared, failed and empty bodies, bodies older than an edit of their path, files that the tail
/// still shows, and all but the 64 freshest files of the last 1 000 messages are not restored.
/// `hidden` are the results that are about to be cleared or dropped, ascending. A full read is
/// preferred to a later partial one. The freshest file is clipped to the limit, of which it leaves
/// up to half to smaller, older ones; a later file that does not fit is skipped.
pub fn restore_reads(
    view: &WeighedTranscript<'_>,
    cut: usize,
    hidden: &[usize],
    limits: RestoreLimits<'_>,
) -> Vec<Message> {
    let mut files = RecentFiles::new(view, cut, hidden, limits.vocabulary);
    let timestamp = view.messages[..cut].iter().rev().find_map(|message| message.timestamp()).unwrap_or(0);
    let mut restored = Vec::new();
    let mut left = limits.max_tokens;
    for nth in 0..MAX_CANDIDATES {
        if restored.len() == limits.max_files || left == 0 {
            break;
        }
        let Some(file) = files.get(nth) else { break };
        // A restored file weighs about as much as its result, so one that is far too large is not
        // built.
        let is_too_large = view.weight(file.body_at()) > left.saturating_add(64);
        let may_be_clipped = restored.is_empty() && left >= MIN_CLIPPED_TOKENS;
        if is_too_large && !may_be_clipped && is_one_text(file.body(view)) {
            continue;
        }
        if (limits.is_stale)(file.path(view, limits.vocabulary)) {
            continue;
        }
        let message = restored_from(file.body(view), file.path(view, limits.vocabulary), timestamp);
        let weight = view.counter.message(&message);
        let fitting = match weight <= left {
            true => Some((message, weight)),
            false if restored.is_empty() => {
                let allowed = left - needed_by(&mut files, nth + 1, limits, left / 2);
                clip(&message, weight, allowed, view.counter.as_ref())
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

/// Estimates the weight of the freshest files from the `first` on that fit into `max_tokens`.
fn needed_by(
    files: &mut RecentFiles<'_, '_>,
    first: usize,
    limits: RestoreLimits<'_>,
    max_tokens: u64,
) -> u64 {
    let (mut needed, mut n_files) = (0, 0);
    for nth in first..MAX_CANDIDATES {
        if n_files + 1 >= limits.max_files {
            break;
        }
        let Some(file) = files.get(nth) else { break };
        // A restored message has a mark and the path instead of the tool's name.
        let path = file.path(files.view, limits.vocabulary);
        if (limits.is_stale)(path) {
            continue;
        }
        let tokens = files.view.weight(file.body_at()) + 16 + path.len() as u64 / 3;
        if needed + tokens <= max_tokens {
            needed += tokens;
            n_files += 1;
        }
    }
    needed
}

/// Returns whether a message has one text and nothing else, such as images.
fn is_one_text(message: &Message) -> bool {
    restored_file(message).is_some() || matches!(message.blocks(), [Block::Text { .. }])
}

/// Builds the restored file of a message.
fn restored_from(shown: &Message, path: &str, timestamp: i64) -> Message {
    let body = match (shown, restored_file(shown)) {
        (_, Some((_, body))) => Cow::Borrowed(body),
        (Message::ToolResult { content, .. }, None) => joined_text(content),
        _ => Cow::Borrowed(""),
    };
    Message::User { content: fenced_file(path, &body).into(), timestamp }
}

/// Clips a restored message to the remaining tokens, if enough of it is left.
fn clip(message: &Message, weight: u64, left: u64, counter: &dyn TokenCounter) -> Option<(Message, u64)> {
    let (path, body) = restored_file(message)?;
    let timestamp = message.timestamp().unwrap_or(0);
    let mut allowed = left;
    while allowed >= MIN_CLIPPED_TOKENS {
        let max_bytes = scale(body.len(), allowed, weight);
        let content = fenced_file(path, &text::clip(body, max_bytes)).into();
        let short = Message::User { content, timestamp };
        let short_weight = counter.message(&short);
        if short_weight <= left {
            return Some((short, short_weight));
        }
        allowed = allowed * 7 / 8;
    }
    None
}

/// Returns `len × part / whole` without overflow.
fn scale(len: usize, part: u64, whole: u64) -> usize {
    usize::try_from(len as u128 * u128::from(part) / u128::from(whole.max(1))).unwrap_or(len)
}

/// The files whose last known body is true, freshest first, found lazily from the newest message
/// backward.
struct RecentFiles<'v, 'a> {
    view: &'v WeighedTranscript<'a>,
    /// The cut; only bodies before it are restored.
    cut: usize,
    hidden: &'v [usize],
    vocabulary: &'v ToolVocabulary,
    roles: RoleCache<'v, 'v>,
    /// The number of messages not read yet.
    n_left: usize,
    /// The number of messages that are too old to read.
    n_skipped: usize,
    /// The pairs of the messages not read yet.
    pairs: &'v [Pair],
    /// The unanswered calls of the messages not read yet.
    open: &'v [CallPosition],
    /// The index in `found` by path; `None` for a file that was changed after it was shown.
    places: ByKey<Option<usize>>,
    found: Vec<ShownFile>,
    /// The number of found files that were checked for `files`.
    n_checked: usize,
    /// The settled files before the cut.
    files: Vec<ShownFile>,
}

impl<'v, 'a> RecentFiles<'v, 'a> {
    fn new(
        view: &'v WeighedTranscript<'a>,
        cut: usize,
        hidden: &'v [usize],
        vocabulary: &'v ToolVocabulary,
    ) -> Self {
        let (pairs, open) = (view.pairing.pairs(), view.pairing.dangling());
        let places = ByKey::with_capacity_and_hasher(pairs.len().min(N_FILES), BuildHasherDefault::default());
        let (n_left, roles) = (view.messages.len(), RoleCache::new(vocabulary));
        Self {
            view,
            cut,
            hidden,
            vocabulary,
            roles,
            n_left,
            n_skipped: cut.saturating_sub(MAX_MESSAGES_BACK),
            pairs,
            open,
            places,
            found: Vec::new(),
            n_checked: 0,
            files: Vec::new(),
        }
    }

    fn get(&mut self, nth: usize) -> Option<ShownFile> {
        while self.files.len() <= nth {
            match self.found.get(self.n_checked) {
                Some(file) if file.is_settled || self.n_left <= self.n_skipped => {
                    self.n_checked += 1;
                    self.files.extend(Some(*file).filter(|file| file.body_at() < self.cut));
                }
                None if self.n_left <= self.n_skipped => return None,
                _ => self.read_one(),
            }
        }
        Some(self.files[nth])
    }

    /// Reads the newest message not read yet.
    fn read_one(&mut self) {
        self.n_left -= 1;
        let at = self.n_left;
        while let Some((pair, rest)) = self.pairs.split_last().filter(|(pair, _)| pair.result as usize == at)
        {
            self.pairs = rest;
            self.read_result(*pair);
        }
        // A change without a result may have happened.
        while let Some((call, rest)) = self.open.split_last().filter(|(call, _)| call.message as usize == at)
        {
            self.open = rest;
            let Some((_, name, input)) = call.find(&self.view.messages) else { continue };
            if let Some(path) = self.vocabulary.path(input).filter(|_| is_change(self.roles.role(name))) {
                self.note_change(path);
            }
        }
        if let Some((path, _)) = restored_file(self.view.messages[at]) {
            self.note_file(path, at, true);
        }
    }

    fn read_result(&mut self, pair: Pair) {
        let at = pair.result as usize;
        let failed = matches!(self.view.messages[at], Message::ToolResult { is_error: true, .. });
        let Some((_, name, input)) = pair.call.find(&self.view.messages).filter(|_| !failed) else { return };
        let role = self.roles.role(name);
        let is_read = role == Some(ToolRole::Read);
        if !is_read && !is_change(role) {
            return;
        }
        match self.vocabulary.path(input) {
            Some(path) if is_read => self.note_file(path, at, !self.vocabulary.is_partial_read(input)),
            Some(path) => self.note_change(path),
            None => {}
        }
    }

    /// Adds a file shown before all that were added so far; a path with line breaks is ignored.
    fn note_file(&mut self, path: &'v str, at: usize, whole: bool) {
        let path = normal_path(path);
        let known = self.places.get(&id_key(&path)).copied();
        let shows_more = match known {
            None => true,
            Some(place) => whole && place.is_some_and(|place| !self.found[place].is_settled),
        };
        if !shows_more || has_line_end(&path) || !self.has_file_text(at) {
            return;
        }
        let file = ShownFile { body_at: u32::try_from(at).unwrap_or(u32::MAX), is_settled: whole };
        if let Some(place) = known.flatten() {
            self.found[place] = file;
        } else {
            self.places.insert(id_key(&path), Some(self.found.len()));
            self.found.push(file);
        }
    }

    /// Returns whether a message shows the text of a file.
    fn has_file_text(&self, at: usize) -> bool {
        match self.view.messages[at] {
            Message::ToolResult { content, .. } => {
                let has_text = content.iter().filter_map(Block::as_text).any(is_file_text);
                has_text && self.hidden.binary_search(&at).is_err()
            }
            message => restored_file(message).is_some(),
        }
    }

    /// Adds a change before all that was added so far.
    fn note_change(&mut self, path: &'v str) {
        if let Some(place) = self.places.entry(id_key(&normal_path(path))).or_default() {
            self.found[*place].is_settled = true;
        }
    }
}

fn is_change(role: Option<ToolRole>) -> bool {
    matches!(role, Some(ToolRole::Edit | ToolRole::Write))
}

/// Returns whether a text is neither blank nor the mark of a cleared body, ignoring white space at
/// both ends, which manually edited logs may contain.
fn is_file_text(text: &str) -> bool {
    !matches!(text.trim(), "" | CLEARED_TOOL_RESULT)
}
