//! The context: the messages that a model sees of a log.

use std::collections::{HashMap, HashSet};

use wb_budget::Usage;
use wb_message::block::joined_text;
use wb_message::{Block, Content, Message, Pairing};

use super::log::{LogNote, SessionLog};
use crate::entry::{ContextEdit, Entry, EntryKind, EntryTag, Logged, Replacement, Request};
use crate::error::SessionError;
use crate::id::EntryId;

/// The messages that a model sees at one leaf of a log, and where they come from.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Context {
    /// The messages in order.
    pub messages: Vec<Message>,
    /// The entry that each message comes from; as many as there are messages.
    pub entries: Vec<EntryId>,
    /// The provider's counts, one for each assistant message whose usage is known and not zero.
    pub requests: Vec<RequestAt>,
    /// The current model of the session: the last one that was chosen or that answered.
    pub model: Option<String>,
    /// The thinking level that was chosen last.
    pub thinking_level: Option<String>,
}

/// The provider's count for the request that one assistant message answers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RequestAt {
    /// The index of the assistant message.
    pub at: usize,
    /// The tokens.
    pub usage: Usage,
    /// The model that answered.
    pub model: Option<String>,
    /// Marks a prompt that is the messages before `at`, plus a system prompt and tools that the log
    /// does not hold. A compaction or an edit after the request clears it.
    pub is_current: bool,
}

/// Builds the context at a leaf; no leaf is the place before the first entry.
///
/// The path from the root decides. The last compaction on it puts its digest first, then come the
/// entries from the first kept one up to the compaction, then all that follow it. If the first kept
/// entry is not before the compaction, nothing before it stays. Older compactions in the kept range
/// add nothing. The last edit of an entry among those selected applies.
///
/// Messages that providers refuse are left out, and stay in the log: a tool call without a result,
/// unless it is in flight, a result without its call, and a second result of one call. A call is in
/// flight while only results follow its answer; those of an answer that ended with an error or was
/// aborted, and those whose result is hidden, never are. The rest of an answer is kept if it holds
/// text or a call.
pub fn build_context(log: &SessionLog, leaf: Option<&EntryId>) -> Result<Context, SessionError> {
    let path = log.path(leaf)?;
    let mut draft = Draft::of_path(&path);
    for at in draft.selection.kept.clone() {
        draft.push(path[at].id.clone(), path[at].kind.clone(), at);
    }
    Ok(draft.finish(Unpaired::LeftOut).0)
}

impl SessionLog {
    /// Returns the entries that the context at a leaf is made of, in its order, the compaction
    /// first.
    pub fn selected(&self, leaf: Option<&EntryId>) -> Result<Vec<&Entry>, SessionError> {
        let path = self.path(leaf)?;
        Ok(Selection::of_path(&path).kept.into_iter().map(|at| path[at]).collect())
    }

    /// Returns the leaves at which the segments between compactions end, on the path to a leaf.
    ///
    /// Each is the place right before a compaction; the last is the leaf itself. The context at
    /// each of them, with the requests that are current there, is one segment of the messages
    /// really sent; together they hold every request on the path once.
    pub fn segment_ends(&self, leaf: Option<&EntryId>) -> Result<Vec<Option<EntryId>>, SessionError> {
        let path = self.path(leaf)?;
        let is_compaction = |entry: &Entry| matches!(entry.kind, EntryKind::Compaction(_));
        let before = |at: usize| Some(path[at.checked_sub(1)?].id.clone());
        let ends = (0..path.len()).filter(|at| is_compaction(path[*at])).map(before);
        Ok(ends.chain([leaf.cloned()]).collect())
    }
}

/// Which entries of a path make the context.
#[derive(Debug)]
pub(crate) struct Selection {
    /// Places in the path, in the order of the context.
    pub(crate) kept: Vec<usize>,
    /// The first place of which a request saw this context.
    pub(crate) current_from: usize,
}

impl Selection {
    fn of_path(path: &[&Entry]) -> Self {
        let tags: Vec<EntryTag> = path.iter().map(|entry| entry.kind.tag()).collect();
        let first_kept = last_compaction(&tags).and_then(|at| match &path[at].kind {
            EntryKind::Compaction(compaction) => compaction.first_kept_entry_id.as_ref(),
            _ => None,
        });
        Self::new(&tags, |before| path[..before].iter().position(|entry| Some(&entry.id) == first_kept))
    }

    /// Selects by the kinds of a path's entries; `first_kept` finds the first entry that the
    /// compaction at a place keeps, among those before it.
    pub(crate) fn new(tags: &[EntryTag], first_kept: impl FnOnce(usize) -> Option<usize>) -> Self {
        let kept = match last_compaction(tags) {
            None => (0..tags.len()).collect(),
            Some(at) => {
                let first = first_kept(at).unwrap_or(at);
                let older = (first..at).filter(|old| tags[*old] != EntryTag::Compaction);
                [at].into_iter().chain(older).chain(at + 1..tags.len()).collect()
            }
        };
        Self { kept, current_from: tags.iter().rposition(|tag| tag.changes_prompt()).unwrap_or(0) }
    }
}

/// Returns the place of the last compaction of a path.
pub(crate) fn last_compaction(tags: &[EntryTag]) -> Option<usize> {
    tags.iter().rposition(|tag| *tag == EntryTag::Compaction)
}

/// The treatment of calls that have no result and are not in flight, and of results that answer no
/// call of the context or one that is already answered. No provider takes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unpaired {
    /// Leaves them out.
    LeftOut,
    /// Keeps them in the context, as pi sends them: the results unchanged, the calls with results
    /// made up by pi. Only calls of a failed answer are left out.
    Sent,
}

/// The context as it grows; parallel lists of equal length, because the pairing reads messages
/// alone.
#[derive(Debug)]
pub(crate) struct Draft {
    pub(crate) selection: Selection,
    pub(crate) edits: HashMap<EntryId, Option<Replacement>>,
    pub(crate) model: Option<String>,
    pub(crate) thinking_level: Option<String>,
    messages: Vec<Message>,
    entries: Vec<EntryId>,
    requests: Vec<Option<(Request, bool)>>,
    /// The ids of calls whose results are hidden.
    hidden: HashSet<String>,
}

impl Draft {
    pub(crate) fn new(selection: Selection) -> Self {
        Self {
            selection,
            edits: HashMap::new(),
            model: None,
            thinking_level: None,
            messages: Vec::new(),
            entries: Vec::new(),
            requests: Vec::new(),
            hidden: HashSet::new(),
        }
    }

    fn of_path(path: &[&Entry]) -> Self {
        let mut draft = Self::new(Selection::of_path(path));
        let edits = draft.selection.kept.iter().filter_map(|at| match &path[*at].kind {
            EntryKind::ContextEdit(edit) => Some((edit.target_id.clone(), edit.replacement.clone())),
            _ => None,
        });
        draft.edits = edits.collect();
        let last = |find: fn(&EntryKind) -> Option<&String>| path.iter().rev().find_map(|it| find(&it.kind));
        draft.model = last(model).cloned();
        draft.thinking_level = last(thinking_level).cloned();
        draft
    }

    /// Adds the content of an entry; `at` is its place in the path.
    pub(crate) fn push(&mut self, id: EntryId, kind: EntryKind, at: usize) {
        let Some((mut message, request)) = into_message(kind) else { return };
        match self.edits.get(&id) {
            Some(None) => {
                if let Message::ToolResult { tool_call_id, .. } = message {
                    self.hidden.insert(tool_call_id);
                }
                return;
            }
            Some(Some(replacement)) => replace(&mut message, &replacement.content),
            None => {}
        }
        self.messages.push(message);
        self.entries.push(id);
        self.requests.push(request.map(|request| (request, at >= self.selection.current_from)));
    }

    /// Returns the context, and notes of what providers refuse and is left out of it.
    pub(crate) fn finish(self, unpaired: Unpaired) -> (Context, Vec<LogNote>) {
        let lost = Lost::new(&self, unpaired);
        let mut context =
            Context { model: self.model, thinking_level: self.thinking_level, ..Context::default() };
        let parts = self.messages.into_iter().zip(self.entries).zip(self.requests);
        for (at, ((mut message, entry), request)) in parts.enumerate() {
            if !lost.keep(&mut message, at, is_failure(request.as_ref())) {
                continue;
            }
            if let Some((Request { usage: Some(usage), model, .. }, is_current)) = request
                && usage.prompt_tokens() > 0
            {
                context.requests.push(RequestAt { at: context.messages.len(), usage, model, is_current });
            }
            context.messages.push(message);
            context.entries.push(entry);
        }
        (context, lost.notes)
    }
}

/// Returns the model that an entry sets.
pub(crate) fn model(kind: &EntryKind) -> Option<&String> {
    match kind {
        EntryKind::ModelChange(change) => Some(&change.model_id),
        EntryKind::Message(Logged { request: Some(request), .. }) => request.model.as_ref(),
        _ => None,
    }
}

/// Returns the thinking level that an entry sets.
pub(crate) fn thinking_level(kind: &EntryKind) -> Option<&String> {
    match kind {
        EntryKind::ThinkingLevelChange(change) => Some(&change.thinking_level),
        _ => None,
    }
}

/// Returns the message of an entry, and the request that it answers.
fn into_message(kind: EntryKind) -> Option<(Message, Option<Request>)> {
    let message = match kind {
        EntryKind::Message(Logged { is_excluded: true, .. }) => return None,
        EntryKind::Message(logged) => return Some((logged.message, logged.request)),
        EntryKind::Compaction(it) => {
            Message::CompactionSummary { summary: it.summary, tokens_before: it.tokens_before }
        }
        EntryKind::BranchSummary(it) if it.summary.is_empty() => return None,
        EntryKind::BranchSummary(it) => Message::BranchSummary { summary: it.summary, from_id: it.from_id },
        EntryKind::CustomMessage(it) => Message::custom(it.custom_type, it.content),
        _ => return None,
    };
    Some((message, None))
}

impl ContextEdit {
    /// Returns whether every reader of a session lets an edit give a message another body: not if
    /// it is made of a command and its output, whose edits only we apply, or of a digest alone.
    pub fn applies_to(message: &Message) -> bool {
        match message {
            Message::User { .. }
            | Message::Custom { .. }
            | Message::Assistant { .. }
            | Message::ToolResult { .. } => true,
            Message::BashExecution { .. }
            | Message::BranchSummary { .. }
            | Message::CompactionSummary { .. } => false,
        }
    }
}

/// Puts another body into a message; one that is made of something else is left alone.
pub(crate) fn replace(message: &mut Message, new: &Content) {
    match message {
        Message::User { content, .. } | Message::Custom { content, .. } => *content = new.clone(),
        Message::Assistant { content, .. } | Message::ToolResult { content, .. } => {
            *content = match new.clone() {
                Content::Text(text) => vec![Block::Text { text }],
                Content::Blocks(blocks) => blocks,
            };
        }
        Message::BashExecution { output, .. } => {
            *output = match new {
                Content::Text(text) => text.clone(),
                Content::Blocks(blocks) => joined_text(blocks).into_owned(),
            };
        }
        Message::BranchSummary { .. } | Message::CompactionSummary { .. } => {}
    }
}

fn is_failure(request: Option<&(Request, bool)>) -> bool {
    request.is_some_and(|(request, _)| request.stop_reason.is_failure())
}

/// The parts of a context that no provider takes.
struct Lost {
    /// Calls that will not be answered any more, as (message, block).
    calls: HashSet<(usize, usize)>,
    /// Results that answer no call of the context or one that is answered, ascending.
    results: Vec<u32>,
    /// The notes about them.
    notes: Vec<LogNote>,
}

impl Lost {
    fn new(draft: &Draft, unpaired: Unpaired) -> Self {
        let Draft { messages, requests, hidden, .. } = draft;
        let pairing = Pairing::new(messages);
        // What extensions and commands say, a provider takes for the user's words.
        let last_said = messages.iter().rposition(|message| !matches!(message, Message::ToolResult { .. }));
        let is_hidden = |(at, block): (usize, usize)| match messages[at].blocks().get(block) {
            Some(Block::ToolCall { id, .. }) => hidden.contains(id),
            _ => false,
        };
        let is_left_out = unpaired == Unpaired::LeftOut;
        let is_lost = |call: (usize, usize)| {
            let is_past = Some(call.0) < last_said || is_hidden(call);
            is_left_out && is_past || is_failure(requests[call.0].as_ref())
        };
        let places = pairing.dangling().iter().map(|call| (call.message as usize, call.block as usize));
        let calls: HashSet<_> = places.filter(|call| is_lost(*call)).collect();
        let orphans = if is_left_out { pairing.orphans() } else { &[] };
        let repeated = pairing.pairs().iter().filter(|pair| pair.repeated && is_left_out);
        let repeated: Vec<u32> = repeated.map(|pair| pair.result).collect();
        // A program that hides a result knows its call.
        let n_unanswered = calls.iter().filter(|call| !is_hidden(**call)).count();
        let notes = [
            (orphans.len(), LogNote::OrphanResults { n: orphans.len() }),
            (repeated.len(), LogNote::RepeatedResults { n: repeated.len() }),
            (n_unanswered, LogNote::UnansweredCalls { n: n_unanswered }),
        ];
        let notes = notes.into_iter().filter(|(n, _)| *n > 0).map(|(_, note)| note).collect();
        let mut results = [orphans, &repeated].concat();
        results.sort_unstable();
        Self { calls, results, notes }
    }

    /// Removes lost parts from a message and returns whether the rest has content.
    fn keep(&self, message: &mut Message, at: usize, is_failure: bool) -> bool {
        let is_lost = || u32::try_from(at).is_ok_and(|at| self.results.binary_search(&at).is_ok());
        match message {
            Message::ToolResult { .. } => !is_lost(),
            Message::Assistant { content, .. } => {
                let n_blocks = content.len();
                let mut block = 0;
                content.retain(|_| {
                    block += 1;
                    !self.calls.contains(&(at, block - 1))
                });
                (content.len() == n_blocks && !is_failure) || content.iter().any(says_something)
            }
            _ => true,
        }
    }
}

fn says_something(block: &Block) -> bool {
    match block {
        Block::Text { text } => !text.trim().is_empty(),
        Block::Thinking { .. } => false,
        _ => true,
    }
}
