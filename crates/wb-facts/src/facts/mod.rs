//! The facts of a session, collected as its messages arrive: the user's words, actions and
//! outcomes, open work, and the names that a next step may need.
//!
//! The cost of a message depends on its size alone, and a compaction reads nothing twice.
//! Everything is replayed to the end, so that nothing outdated is reported as current.

pub mod names;
mod lines;
mod mention_source;
mod defined_names;
mod edited_definitions;
pub mod mentions;
mod stale_lines;
pub mod files;
pub mod turns;
pub(crate) mod ledger;
mod failures;
mod sources;
mod wording;
mod git_state;
pub mod calls;
mod apply_result;
mod approved_plan;
mod user_rules;
mod observe;
mod from_digest;

use std::borrow::Borrow;

use serde::{Deserialize, Serialize};
use wb_message::Untrusted;
use wb_message::markers::is_prompt;
use wb_message::{Message, ToolVocabulary};

use self::calls::OpenCall;
pub use self::failures::{Failure, Failures};
pub use self::files::{Change, FileFact, Files};
pub use self::git_state::GitState;
use self::ledger::Ledger;
pub(crate) use self::ledger::{Activity, LastOutcomes};
use self::sources::Sources;
pub use self::turns::{ChangedFile, RequestSource, Run, Turn, Turns};
use crate::facts::mentions::Mentions;
use wb_digest::labels::Elided;
use wb_digest::{OmittedRequests, Section};
use wb_language::tasks::Tasks;

/// The version of the form in which facts are written.
pub const FACTS_VERSION: u32 = 1;

/// The newest messages and bytes that are read without collected facts, and the requests before
/// them.
const PARTIAL_MESSAGES: usize = 300;
const PARTIAL_BYTES: usize = 256 << 10;
const PARTIAL_REQUESTS: usize = 64;

/// The facts of a session: plain data that a host may store next to it.
///
/// ```
/// use wb_message::{Message, ToolVocabulary};
/// use wb_facts::Facts;
///
/// let mut facts = Facts::default();
/// let request = Message::user("Port src/cart.rs, but never touch its API.");
/// for message in [request, Message::assistant("Now I read it.")] {
///     facts.observe(&message, &ToolVocabulary::default());
/// }
/// let constraint = facts.constraints().next().map(|it| it.text.as_str());
/// assert_eq!(constraint, Some("Port src/cart.rs, but never touch its API."));
/// assert!(facts.names().get("src/cart.rs").is_some() && !facts.is_partial());
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Facts {
    version: u32,
    /// True if messages of the session were not read.
    is_partial: bool,
    n_messages: u32,
    n_bytes: u64,
    turns: Turns,
    constraints: Vec<Constraint>,
    failures: Failures,
    files: Files,
    git: Vec<Noted>,
    #[serde(default)]
    git_state: GitState,
    tasks: Tasks,
    decided: Vec<Noted>,
    /// The plan that the user approved last.
    #[serde(default)]
    approved: Option<Noted>,
    /// The list of tasks in a file that the agent ticks off, and which one it ticked off last.
    #[serde(default)]
    ticked: Option<Noted>,
    mentions: Mentions,
    open_calls: Vec<OpenCall>,
    sources: Sources,
    elided: Elided,
    /// The requests that earlier digests left out.
    #[serde(default)]
    omitted: OmittedRequests,
    /// True if the first request of the session is among the turns.
    has_first: bool,
    /// Sentences of others in earlier digests.
    foreign: Vec<(Section, String)>,
    /// The evidence for checking a summary.
    ledger: Ledger,
}

/// Something the user asks for or forbids in all that is done, in the user's own words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Constraint {
    /// The whole sentence.
    pub text: String,
    /// True for a ban.
    pub forbids: bool,
    /// True if it concerns the current step, so that it expires some turns later.
    #[serde(default)]
    pub passing: bool,
    /// True if the user gave another value later.
    #[serde(default)]
    pub is_updated: bool,
    /// The number of the message that says it.
    pub at: u32,
}

/// A line, and the number of the message that shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Noted {
    /// The line.
    pub text: Untrusted,
    /// The number of the message.
    pub at: u32,
}

impl Noted {
    pub(crate) fn new(text: impl Into<String>, at: u32) -> Self {
        Self { text: Untrusted::new(text.into()), at }
    }
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            version: FACTS_VERSION,
            is_partial: false,
            n_messages: 0,
            n_bytes: 0,
            turns: Turns::default(),
            constraints: Vec::new(),
            failures: Failures::default(),
            files: Files::default(),
            git: Vec::new(),
            git_state: GitState::default(),
            tasks: Tasks::default(),
            decided: Vec::new(),
            approved: None,
            ticked: None,
            mentions: Mentions::default(),
            open_calls: Vec::new(),
            sources: Sources::default(),
            elided: Elided::default(),
            omitted: OmittedRequests::default(),
            has_first: false,
            foreign: Vec::new(),
            ledger: Ledger::default(),
        }
    }
}

impl Facts {
    /// Creates empty facts that will not hold every word of a session: a digest needs no more, but
    /// an audit with them finds no unknown names and no false quotes.
    pub fn without_words() -> Self {
        let mut facts = Self::default();
        facts.ledger.known.leave_out();
        facts
    }

    /// Takes in the next messages.
    #[must_use]
    pub fn with_messages<M: Borrow<Message>>(mut self, messages: &[M], vocabulary: &ToolVocabulary) -> Self {
        for message in messages {
            self.observe(message.borrow(), vocabulary);
        }
        self
    }

    /// Collects the facts of the newest messages, and of the requests before them;
    /// [`Self::is_partial`] if there are more.
    pub fn from_newest<M: Borrow<Message>>(messages: &[M], vocabulary: &ToolVocabulary) -> Self {
        let mut n_bytes = 0;
        let fits = |message: &&M| {
            n_bytes += observe::size(Borrow::<Message>::borrow(*message));
            n_bytes < PARTIAL_BYTES
        };
        let n_read = messages.iter().rev().take(PARTIAL_MESSAGES).take_while(fits).count();
        let (older, newest) = messages.split_at(messages.len() - n_read);
        // The words of some messages are no evidence that others do not have a name.
        let mut facts = if older.is_empty() { Self::default() } else { Self::without_words() };
        facts.is_partial = !older.is_empty();
        facts.observe_older(older);
        facts.with_messages(newest, vocabulary)
    }

    /// Reads the user's words in older messages, the first request and the newest ones, and
    /// digests.
    fn observe_older<M: Borrow<Message>>(&mut self, older: &[M]) {
        let is_other =
            |message: &Message| !matches!(message, Message::Assistant { .. } | Message::ToolResult { .. });
        let others = older.iter().map(Borrow::borrow).enumerate().filter(|(_, message)| is_other(message));
        let others: Vec<(usize, &Message, bool)> = others.map(|(at, it)| (at, it, is_prompt(it))).collect();
        let n_requests = others.iter().filter(|(_, _, is_request)| *is_request).count();
        let mut nth = 0;
        for (at, message, is_request) in others {
            nth += usize::from(is_request);
            if !is_request || nth == 1 || nth + PARTIAL_REQUESTS > n_requests {
                self.n_messages = u32::try_from(at).unwrap_or(u32::MAX);
                self.observe_words(message);
            }
        }
        self.n_messages = u32::try_from(older.len()).unwrap_or(u32::MAX);
    }

    /// Returns the version of the form in which they were written.
    pub fn version(&self) -> u32 {
        self.version
    }

    /// Reports whether messages of the session were not read.
    pub fn is_partial(&self) -> bool {
        self.is_partial
    }

    /// Returns the number of messages read; messages are numbered from 0.
    pub fn n_messages(&self) -> u32 {
        self.n_messages
    }

    /// Returns the turns.
    pub fn turns(&self) -> &Turns {
        &self.turns
    }

    /// Returns what the user asks for or forbids in all that is done, oldest first.
    pub fn constraints(&self) -> impl DoubleEndedIterator<Item = &Constraint> {
        self.constraints.iter()
    }

    /// Returns what failed and was not seen to work since.
    pub fn failures(&self) -> &Failures {
        &self.failures
    }

    /// Returns what became of files.
    pub fn files(&self) -> &Files {
        &self.files
    }

    /// Returns what was done with git, oldest first.
    pub fn git(&self) -> &[Noted] {
        &self.git
    }

    /// Returns the unfinished operation of git, and the last status of the working copy.
    pub fn git_state(&self) -> &GitState {
        &self.git_state
    }

    /// Returns the list of tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Returns the plan that the user approved last.
    pub fn approved(&self) -> Option<&Noted> {
        self.approved.as_ref()
    }

    /// Returns the task list in a file that the agent ticks off, with the task ticked off last.
    pub fn ticked(&self) -> Option<&Noted> {
        self.ticked.as_ref()
    }

    /// Returns the reasons that the agent gave, oldest first, each with its turn.
    pub fn decided(&self) -> &[Noted] {
        &self.decided
    }

    /// Returns the names.
    pub fn names(&self) -> &Mentions {
        &self.mentions
    }

    /// Reports whether the first request of the session is among the turns.
    pub fn has_first(&self) -> bool {
        self.has_first
    }

    /// Returns what earlier digests say in words of others, such as a model, by section.
    pub fn foreign(&self) -> &[(Section, String)] {
        &self.foreign
    }

    /// Returns how something of a kind ended last.
    pub(crate) fn ends(&self, activity: Activity) -> LastOutcomes {
        self.ledger.activities.ends(activity)
    }

    /// Returns the number of the message that last changed the list of tasks.
    pub fn tasks_at(&self) -> Option<u32> {
        self.ledger.tasks_at
    }

    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// Returns the requests that earlier digests left out.
    pub fn omitted(&self) -> &OmittedRequests {
        &self.omitted
    }

    /// Returns the number in the session of the message with a request, as lookups count; `None`
    /// for one that an earlier digest quotes.
    pub fn message_of(&self, turn: &Turn) -> Option<u32> {
        let elided = self.elided.n_before();
        // The digest is a message here and none there.
        let number = turn.start.saturating_add(elided).saturating_sub(u32::from(elided > 0));
        (turn.source == RequestSource::Message).then_some(number)
    }

    /// Returns the line that counts the messages behind a digest.
    pub fn elided_line(&self, n_elided: usize, n_in_all: usize) -> String {
        self.elided.line(n_elided, n_in_all)
    }
}
