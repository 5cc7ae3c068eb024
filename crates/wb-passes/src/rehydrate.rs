//! Gives back the files that the agent was just reading.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::hash::BuildHasherDefault;

use wb_budget::{TokenCounter, WeighedTranscript, estimate_message_tokens};
use wb_message::block::joined_text;
use wb_message::markers::{CLEARED_TOOL_RESULT, RESTORED_FILE_PREFIX, restored_file};
use wb_message::pairing::{ByKey, id_key};
use wb_message::tools::{RoleCache, normal_path};
use wb_message::{Block, CallPosition, Message, Pair, ToolRole, ToolVocabulary, text};

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
#[derive(Clone, Copy)]
pub struct RestoreLimits<'a> {
    /// The most files.
    pub max_files: usize,
    /// The most tokens of all restored messages together.
    pub max_tokens: u64,
    /// Which tools read and which change files.
    pub vocabulary: &'a ToolVocabulary,
    /// Tells of a path whether what was read does not hold any more, for all that tools do not show: a shell may have
    /// deleted the file.
    pub is_stale: &'a dyn Fn(&str) -> bool,
}

impl fmt::Debug for RestoreLimits<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("RestoreLimits");
        shown
            .field("max_files", &self.max_files)
            .field("max_tokens", &self.max_tokens)
            .finish_non_exhaustive()
    }
}

/// A file as the transcript last showed it; small, since a transcript shows many.
#[derive(Clone, Copy, Debug)]
struct Seen {
    /// The message with the body.
    body_at: u32,
    /// Whether nothing older can say more: the body is whole, or a change stands before it.
    is_settled: bool,
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

/// Room for the files of a long session, so that the map need not grow.
const N_FILES: usize = 200;

/// Files that are looked at, the freshest ones: where hardly any room is left, few would fit of however many.
const MOST_LOOKED_AT: usize = 64;

/// Messages before the cut that are looked at: what was read earlier is hardly what the agent works on.
const MOST_READ_BACK: usize = 1_000;

/// A restored file is clipped rather than left out only if this many tokens of it remain.
const MIN_CLIPPED_TOKENS: u64 = 200;

/// Builds the freshest reads of the head `messages[..cut]` that are still true and no longer visible, as
/// messages, oldest first.
///
/// Not restored are cleared, failed and empty bodies, bodies older than a later edit of their path, and files
/// that the tail still shows, and all but the 64 freshest of the last 1 000 messages. `hidden` are results of the tail that are about to be cleared (ascending). A full
/// read is preferred to a later partial one. The freshest file is clipped to what is allowed, up to half of which
/// it leaves to smaller, older ones; a later one that does not fit makes room for those too.
pub fn restore_reads(
    view: &WeighedTranscript<'_>,
    cut: usize,
    hidden: &[usize],
    limits: RestoreLimits<'_>,
) -> Vec<Message> {
    let mut seen = LastSeen::new(view, cut, hidden, limits.vocabulary);
    let timestamp = view.messages[..cut].iter().rev().find_map(|message| message.timestamp()).unwrap_or(0);
    let mut restored = Vec::new();
    let mut left = limits.max_tokens;
    for nth in 0..MOST_LOOKED_AT {
        if restored.len() == limits.max_files || left == 0 {
            break;
        }
        let Some(file) = seen.get(nth) else { break };
        // A restored file weighs about what a result of one text weighed; one far too large is not even built.
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
                let allowed = left - needed_by(&mut seen, nth + 1, limits, left / 2);
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

/// Returns about what the freshest of the files from the `first` on that fit into `max_tokens` weigh.
fn needed_by(seen: &mut LastSeen<'_, '_>, first: usize, limits: RestoreLimits<'_>, max_tokens: u64) -> u64 {
    let (mut needed, mut n_files) = (0, 0);
    for nth in first..MOST_LOOKED_AT {
        if n_files + 1 >= limits.max_files {
            break;
        }
        let Some(file) = seen.get(nth) else { break };
        // A restored message carries a mark and the path where a result has its tool's name.
        let path = file.path(seen.view, limits.vocabulary);
        if (limits.is_stale)(path) {
            continue;
        }
        let tokens = seen.view.weight(file.body_at()) + 16 + path.len() as u64 / 3;
        if needed + tokens <= max_tokens {
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

/// The files whose last known body is true, freshest first; a transcript is read from the newest message back, and no
/// further than is asked for.
struct LastSeen<'v, 'a> {
    view: &'v WeighedTranscript<'a>,
    /// Only bodies before it are of interest.
    cut: usize,
    hidden: &'v [usize],
    vocabulary: &'v ToolVocabulary,
    roles: RoleCache<'v, 'v>,
    /// How many messages were not read yet, their pairs and unanswered calls, and how many are not read at all.
    n_left: usize,
    n_unread: usize,
    pairs: &'v [Pair],
    open: &'v [CallPosition],
    /// The place of each normal path among those found; none for a file that was changed since it was shown.
    places: ByKey<Option<usize>>,
    found: Vec<Seen>,
    n_asked: usize,
    /// Those of the found that are settled and stand before the cut.
    files: Vec<Seen>,
}

impl<'v, 'a> LastSeen<'v, 'a> {
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
            n_unread: cut.saturating_sub(MOST_READ_BACK),
            pairs,
            open,
            places,
            found: Vec::new(),
            n_asked: 0,
            files: Vec::new(),
        }
    }

    fn get(&mut self, nth: usize) -> Option<Seen> {
        while self.files.len() <= nth {
            match self.found.get(self.n_asked) {
                Some(file) if file.is_settled || self.n_left <= self.n_unread => {
                    self.n_asked += 1;
                    self.files.extend(Some(*file).filter(|file| file.body_at() < self.cut));
                }
                None if self.n_left <= self.n_unread => return None,
                _ => self.read_one(),
            }
        }
        Some(self.files[nth])
    }

    /// Reads the newest message that was not read yet.
    fn read_one(&mut self) {
        self.n_left -= 1;
        let at = self.n_left;
        while let Some((pair, rest)) = self.pairs.split_last().filter(|(pair, _)| pair.result as usize == at)
        {
            self.pairs = rest;
            self.answered(*pair);
        }
        // A change whose result never came may have happened.
        while let Some((call, rest)) = self.open.split_last().filter(|(call, _)| call.message as usize == at)
        {
            self.open = rest;
            let Some((_, name, input)) = call.find(&self.view.messages) else { continue };
            if let Some(path) = self.vocabulary.path(input).filter(|_| changes(self.roles.role(name))) {
                self.changed(path);
            }
        }
        if let Some((path, _)) = restored_file(self.view.messages[at]) {
            self.shown(path, at, true);
        }
    }

    fn answered(&mut self, pair: Pair) {
        let at = pair.result as usize;
        let failed = matches!(self.view.messages[at], Message::ToolResult { is_error: true, .. });
        let Some((_, name, input)) = pair.call.find(&self.view.messages).filter(|_| !failed) else { return };
        let role = self.roles.role(name);
        let is_read = role == Some(ToolRole::Read);
        if !is_read && !changes(role) {
            return;
        }
        match self.vocabulary.path(input) {
            Some(path) if is_read => self.shown(path, at, !self.vocabulary.is_partial_read(input)),
            Some(path) => self.changed(path),
            None => {}
        }
    }

    /// Notes a showing that is older than all that was noted; a path on several lines is none.
    fn shown(&mut self, path: &'v str, at: usize, whole: bool) {
        let path = normal_path(path);
        let known = self.places.get(&id_key(&path)).copied();
        let says_more = match known {
            None => true,
            Some(place) => whole && place.is_some_and(|place| !self.found[place].is_settled),
        };
        if !says_more || path.contains(['\n', '\r']) || !self.shows(at) {
            return;
        }
        let seen = Seen { body_at: u32::try_from(at).unwrap_or(u32::MAX), is_settled: whole };
        if let Some(place) = known.flatten() {
            self.found[place] = seen;
        } else {
            self.places.insert(id_key(&path), Some(self.found.len()));
            self.found.push(seen);
        }
    }

    /// Returns whether the text of a file can be seen in a message.
    fn shows(&self, at: usize) -> bool {
        match self.view.messages[at] {
            Message::ToolResult { content, .. } => {
                let shows = content.iter().filter_map(Block::as_text).any(is_file_text);
                shows && self.hidden.binary_search(&at).is_err()
            }
            message => restored_file(message).is_some(),
        }
    }

    /// Notes a change that is older than all that was noted.
    fn changed(&mut self, path: &'v str) {
        if let Some(place) = self.places.entry(id_key(&normal_path(path))).or_default() {
            self.found[*place].is_settled = true;
        }
    }
}

fn changes(role: Option<ToolRole>) -> bool {
    matches!(role, Some(ToolRole::Edit | ToolRole::Write))
}

/// Returns whether a text is neither blank nor the mark of a cleared body, possibly with white space around it, as
/// logs that were cleaned by hand have it.
fn is_file_text(text: &str) -> bool {
    !matches!(text.trim(), "" | CLEARED_TOOL_RESULT)
}
