//! What a local digest notes of a transcript.
//!
//! Every list is bounded and holds the newest: each reading starts at the last message and ends when its list is
//! full. What is noted borrows from the messages.

use std::borrow::{Borrow, Cow};
use std::fmt;

use serde_json::Value;
use wb_message::markers::{Visibility, is_pinned, is_prompt, visibility};
use wb_message::pairing::id_key;
use wb_message::text::one_line;
use wb_message::tools::{Roles, field, normal_path};
use wb_message::{Block, CallAt, Content, Message, Pair, Pairing, ToolRole, ToolVocabulary};

use crate::digest_merge::{N_ENTRIES, UNRESOLVED, is_acknowledgement};
use crate::line_classifier::{identifiers_back, is_constraint, is_decision, line_with_cause, says_something};

/// Requests kept besides the first one.
const N_REQUESTS: usize = 4;
/// Errors and decisions kept.
const N_ERRORS: usize = 6;
/// Paths kept of each kind.
pub(crate) const N_PATHS: usize = 40;

/// The newest entries up to a bound, newest first; of equal ones the newest.
#[derive(Debug)]
pub(crate) struct Newest<T> {
    entries: Vec<T>,
    bound: usize,
}

impl<T: PartialEq> Newest<T> {
    fn up_to(bound: usize) -> Self {
        Self { entries: Vec::new(), bound }
    }

    /// Takes the newest of entries that come newest first.
    fn of(entries: impl Iterator<Item = T>, bound: usize) -> Self {
        let mut newest = Self::up_to(bound);
        for entry in entries {
            newest.add(entry);
            if newest.is_full() {
                break;
            }
        }
        newest
    }

    /// Adds an entry that is older than those before it.
    fn add(&mut self, entry: T) {
        if !self.is_full() && !self.entries.contains(&entry) {
            if self.entries.capacity() == 0 {
                self.entries.reserve_exact(self.bound);
            }
            self.entries.push(entry);
        }
    }

    fn is_full(&self) -> bool {
        self.entries.len() == self.bound
    }

    /// Visits the entries, newest first.
    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.entries.iter()
    }
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Outcome {
    Ok,
    Failed,
    Exit(i32),
    Unknown,
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ok => f.write_str("ok"),
            Self::Failed => f.write_str("failed"),
            Self::Exit(code) => write!(f, "exit {code}"),
            Self::Unknown => f.write_str("exit n/a"),
        }
    }
}

/// What failed, on which file, and a line that tells why.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Failure<'a> {
    pub(crate) what: &'a str,
    pub(crate) path: Option<Cow<'a, str>>,
    pub(crate) line: &'a str,
}

const REQUEST_FAILED: &str = "request failed";

/// What was said.
#[derive(Debug)]
pub(crate) struct Words<'a> {
    pub(crate) first_request: Option<&'a Message>,
    pub(crate) requests: Newest<&'a Message>,
    pub(crate) constraints: Newest<&'a str>,
    pub(crate) said: Option<&'a str>,
    pub(crate) decided: Newest<&'a str>,
    pub(crate) todos: Option<&'a Value>,
    pub(crate) names: Newest<&'a str>,
}

impl<'a> Words<'a> {
    pub(crate) fn of<M: Borrow<Message>>(messages: &'a [M], vocabulary: &ToolVocabulary) -> Self {
        let first = messages.iter().position(|message| is_prompt(message.borrow()));
        let back = || messages.iter().rev().map(Borrow::borrow);
        let constraints = back().filter_map(prompt).flat_map(|prompt| prompt.texts().rev());
        let constraints = constraints.flat_map(|text| text.lines().rev()).filter(|line| is_constraint(line));
        let names = back().flat_map(|message| {
            prompt(message).into_iter().flat_map(|prompt| prompt.texts().rev()).chain(said_back(message))
        });
        Self {
            first_request: first.map(|at| messages[at].borrow()),
            requests: Newest::of(requests_back(messages, first), N_REQUESTS),
            constraints: Newest::of(constraints, N_ENTRIES),
            said: last_said(back().flat_map(said_back)),
            decided: Newest::of(back().flat_map(decided_back), N_ERRORS),
            todos: last_plan(back(), Roles::new(vocabulary)),
            names: Newest::of(names.flat_map(identifiers_back), N_ENTRIES),
        }
    }
}

/// Returns the body of a message with the user's own words.
fn prompt(message: &Message) -> Option<&Content> {
    match message {
        Message::User { content, .. } if is_prompt(message) => Some(content),
        _ => None,
    }
}

/// Visits the texts that an assistant wrote, the last one first.
fn said_back(message: &Message) -> impl Iterator<Item = &str> {
    let content: &[Block] = match message {
        Message::Assistant { content, .. } => content,
        _ => &[],
    };
    content.iter().rev().filter_map(Block::as_text)
}

/// Visits the requests from the newest back; of those that say no more than "ok" only the transcript's first.
fn requests_back<M: Borrow<Message>>(messages: &[M], first: Option<usize>) -> impl Iterator<Item = &Message> {
    messages.iter().enumerate().rev().filter_map(move |(at, message)| {
        let is_request = |prompt: &&Content| Some(at) == first || !is_acknowledgement(prompt.texts());
        prompt(message.borrow()).filter(is_request).map(|_| message.borrow())
    })
}

/// Returns the last text that says something, else the last that is not blank.
fn last_said<'a>(texts_back: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let mut texts = texts_back.filter(|text| !text.trim().is_empty()).peekable();
    let last = texts.peek().copied();
    texts.find(|text| says_something(text)).or(last)
}

/// Visits the lines of an assistant that give a reason, or what a host noted, the last one first.
fn decided_back(message: &Message) -> impl Iterator<Item = &str> {
    let noted = match message {
        Message::Custom { content, .. } if !is_pinned(message) && visibility(message) == Visibility::All => {
            Some(content.texts().rev().filter(|text| !text.trim().is_empty()))
        }
        _ => None,
    };
    let reasons = said_back(message).flat_map(|text| text.lines().rev()).filter(|line| is_decision(line));
    noted.into_iter().flatten().chain(reasons)
}

/// Returns the input of the last call that keeps the list of tasks.
fn last_plan<'a>(
    messages_back: impl Iterator<Item = &'a Message>,
    mut roles: Roles<'a, '_>,
) -> Option<&'a Value> {
    messages_back
        .flat_map(|message| message.calls().rev())
        .find_map(|(_, name, input)| (roles.of(name) == Some(ToolRole::Plan)).then_some(input))
}

/// A call as the digest names it.
#[derive(Clone, Copy, Debug)]
struct Call<'a> {
    name: &'a str,
    input: &'a Value,
}

impl<'a> Call<'a> {
    fn find<M: Borrow<Message>>(messages: &'a [M], at: CallAt) -> Option<Self> {
        at.find(messages).map(|(_, name, input)| Self { name, input })
    }

    fn command(self) -> &'a str {
        field(self.input, "command").and_then(Value::as_str).unwrap_or(self.name)
    }

    fn path(self, vocabulary: &ToolVocabulary) -> Option<Cow<'a, str>> {
        vocabulary.path(self.input).map(normal_path)
    }
}

/// How something that may fail ended.
#[derive(Clone, Copy, Debug)]
enum End<'a> {
    Worked,
    /// With what it printed, and what stands for the line that tells why where it printed nothing.
    Failed(&'a str, Option<&'a str>),
}

/// What was done.
#[derive(Debug)]
pub(crate) struct Work<'a, 'v> {
    vocabulary: &'v ToolVocabulary,
    roles: Roles<'a, 'v>,
    pub(crate) read: Newest<Cow<'a, str>>,
    pub(crate) modified: Newest<Cow<'a, str>>,
    pub(crate) commands: Newest<(&'a str, Outcome)>,
    /// What failed and was not seen to work since.
    pub(crate) errors: Newest<Failure<'a>>,
    failing: Vec<Failing>,
    /// How many of what failed have an end that was not seen yet.
    n_unended: usize,
    /// What earlier digests say is in the way, as long as it is.
    pub(crate) unresolved: Vec<&'v str>,
}

impl<'a, 'v> Work<'a, 'v> {
    pub(crate) fn of<M: Borrow<Message>>(
        messages: &'a [M],
        pairing: &Pairing,
        vocabulary: &'v ToolVocabulary,
        unresolved: Vec<&'v str>,
    ) -> Self {
        let pairs = pairing.pairs();
        let pairs = &pairs[..pairs.partition_point(|pair| (pair.result as usize) < messages.len())];
        let failing = failing(messages, pairs, vocabulary);
        let mut work = Self {
            vocabulary,
            roles: Roles::new(vocabulary),
            read: Newest::up_to(N_PATHS),
            modified: Newest::up_to(N_PATHS),
            commands: Newest::up_to(N_ENTRIES),
            errors: Newest::up_to(N_ERRORS),
            n_unended: failing.len(),
            failing,
            unresolved,
        };
        let mut pairs = pairs.iter().rev().peekable();
        for (at, message) in messages.iter().enumerate().rev() {
            work.message(message.borrow());
            while let Some(pair) = pairs.next_if(|pair| pair.result as usize == at) {
                if let Some(call) = Call::find(messages, pair.call) {
                    work.answered(call, message.borrow());
                }
            }
            if work.is_complete() {
                break;
            }
        }
        work
    }

    fn is_complete(&self) -> bool {
        self.read.is_full()
            && self.modified.is_full()
            && self.commands.is_full()
            && (self.errors.is_full() || self.n_unended == 0)
            && self.unresolved.is_empty()
    }

    fn message(&mut self, message: &'a Message) {
        match message {
            Message::Assistant { error_message, .. } => {
                let failed = error_message.as_deref().map(|error| End::Failed("", Some(error)));
                self.ended(REQUEST_FAILED, None, failed.unwrap_or(End::Worked));
            }
            Message::BashExecution { command, exit_code, output } => {
                self.ran(command, exit_code.map_or(Outcome::Unknown, Outcome::Exit));
                match exit_code {
                    Some(0) => self.ended(command, None, End::Worked),
                    Some(_) => self.ended(command, None, End::Failed(output, None)),
                    None => {}
                }
            }
            _ => {}
        }
    }

    fn answered(&mut self, call: Call<'a>, result: &'a Message) {
        let Message::ToolResult { content, is_error, .. } = result else { return };
        let role = self.roles.of(call.name);
        let is_run = role == Some(ToolRole::Run);
        let end = if *is_error {
            let text = content.iter().find_map(Block::as_text).unwrap_or_default();
            // A command that failed without a word is among the commands.
            End::Failed(text, (!is_run).then_some("no output"))
        } else {
            End::Worked
        };
        self.ended(call.command(), Some(call), end);
        let list = match role {
            Some(ToolRole::Run) => {
                self.ran(call.command(), if *is_error { Outcome::Failed } else { Outcome::Ok });
                return;
            }
            Some(ToolRole::Read) if !is_error => &mut self.read,
            Some(ToolRole::Edit | ToolRole::Write) if !is_error => &mut self.modified,
            _ => return,
        };
        if !list.is_full()
            && let Some(path) = call.path(self.vocabulary)
        {
            list.add(path);
        }
    }

    fn ran(&mut self, command: &'a str, outcome: Outcome) {
        if !self.commands.iter().any(|(known, _)| *known == command) {
            self.commands.add((command, outcome));
        }
    }

    /// Notes how something ended, unless a newer end of it is known.
    fn ended(&mut self, what: &'a str, call: Option<Call<'a>>, end: End<'a>) {
        let counts = self.n_unended > 0 && !self.errors.is_full() && self.ever_failed(what);
        let is_unresolved = self.unresolved.iter().any(|entry| may_name(entry, what));
        if !counts && !is_unresolved {
            return;
        }
        let line = match end {
            End::Worked => None,
            End::Failed(text, silent) => match line_with_cause(text).or(silent) {
                // Nothing tells that it failed.
                None => return,
                line => line,
            },
        };
        let path = call.and_then(|call| call.path(self.vocabulary));
        if is_unresolved {
            let entry_start = [UNRESOLVED, &place(what, path.as_ref()), ": "].concat();
            self.unresolved.retain(|entry| !entry.starts_with(&entry_start));
        }
        if counts
            && self.is_newest_end(what, path.as_deref())
            && let Some(line) = line
        {
            self.errors.add(Failure { what, path, line });
        }
    }

    fn ever_failed(&self, what: &str) -> bool {
        self.failing.binary_search_by_key(&id_key(what), |it| it.what).is_ok()
    }

    /// Returns whether no newer end of it was seen; always if it never failed.
    fn is_newest_end(&mut self, what: &str, path: Option<&str>) -> bool {
        let key = Failing::new(what, path);
        let Ok(at) = self.failing.binary_search_by_key(&(key.what, key.path), |it| (it.what, it.path)) else {
            return true;
        };
        let is_newest = !std::mem::replace(&mut self.failing[at].has_ended, true);
        self.n_unended -= usize::from(is_newest);
        is_newest
    }
}

/// Something that failed at least once, by the hashes of what it was and on which file.
#[derive(Clone, Copy, Debug)]
struct Failing {
    what: u64,
    path: u64,
    /// Whether its newest end was seen.
    has_ended: bool,
}

impl Failing {
    fn new(what: &str, path: Option<&str>) -> Self {
        Self { what: id_key(what), path: path.map_or(0, id_key), has_ended: false }
    }
}

/// Returns all that failed, in the order of its hashes, each once.
fn failing<M: Borrow<Message>>(messages: &[M], pairs: &[Pair], vocabulary: &ToolVocabulary) -> Vec<Failing> {
    let own = messages.iter().filter_map(|message| match message.borrow() {
        Message::Assistant { error_message: Some(_), .. } => Some(Failing::new(REQUEST_FAILED, None)),
        Message::BashExecution { command, exit_code: Some(code), .. } if *code != 0 => {
            Some(Failing::new(command, None))
        }
        _ => None,
    });
    let is_error = |pair: &&Pair| {
        matches!(messages[pair.result as usize].borrow(), Message::ToolResult { is_error: true, .. })
    };
    let calls = pairs.iter().filter(is_error).filter_map(|pair| Call::find(messages, pair.call));
    let called = calls.map(|call| Failing::new(call.command(), call.path(vocabulary).as_deref()));
    let n_failing = own.clone().count() + pairs.iter().filter(is_error).count();
    let mut failing = Vec::with_capacity(n_failing);
    failing.extend(own.chain(called));
    failing.sort_unstable_by_key(|it: &Failing| (it.what, it.path));
    failing.dedup_by_key(|it| (it.what, it.path));
    failing
}

/// Returns whether an entry on something that is in the way may name this; a quick look at its first word.
fn may_name(entry: &str, what: &str) -> bool {
    let named = entry.strip_prefix(UNRESOLVED).unwrap_or(entry);
    let word = what.split_whitespace().next().unwrap_or_default();
    word.len() > PLACE_CHARS || named.starts_with(word)
}

/// Characters of what failed and where.
const PLACE_CHARS: usize = 100;

/// Returns what failed and on which file, as an entry says it.
pub(crate) fn place(what: &str, path: Option<&Cow<'_, str>>) -> String {
    let path = path.map(|path| [" ", path].concat()).unwrap_or_default();
    one_line(&[what, path.as_str()].concat(), PLACE_CHARS)
}
