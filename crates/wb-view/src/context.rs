//! The context of a session, and what is known about it.

use std::collections::{BTreeMap, BTreeSet};

use wb_message::{Message, outline};

use crate::kind::Kind;

/// The context of a session as it is read: what fills the window.
#[derive(Clone, Debug, Default)]
pub struct Context {
    /// The file, as the user named it.
    pub file: String,
    /// The name of the format.
    pub format: String,
    /// The model, if the session names it.
    pub model: Option<String>,
    /// The window and its use.
    pub budget: Budget,
    /// The messages, in order.
    pub items: Vec<Item>,
    /// Notes of the reader.
    pub notes: Vec<String>,
}

/// A window and its use, in tokens.
#[derive(Clone, Copy, Debug, Default)]
pub struct Budget {
    /// The whole window.
    pub window: u64,
    /// The size above which a compaction is due.
    pub limit: u64,
    /// The size of the context.
    pub used: u64,
    /// The part of it that is outside of the messages.
    pub outside: u64,
    /// True if the provider counted it.
    pub is_counted: bool,
}

/// A message of the context.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its kind.
    pub kind: Kind,
    /// A line about it.
    pub label: String,
    /// Its weight in tokens.
    pub tokens: u64,
}

/// The details of a context, which take longer: preview, texts and sources.
#[derive(Clone, Debug, Default)]
pub struct Details {
    /// The messages of the items.
    pub messages: Vec<Message>,
    /// The number of each item in the whole session, as `wb recall` counts; none for a digest.
    pub numbers: Vec<Option<usize>>,
    /// The messages of the whole session.
    pub n_said: usize,
    /// The effect of the next compaction.
    pub preview: Preview,
    /// The digest: the one that the next compaction would write, or else the present one.
    pub digest: Vec<DigestLine>,
    /// The sources of the digest that are not in the context, by number.
    pub folded: BTreeMap<usize, FoldedMessage>,
    /// The numbers of the messages that are pinned.
    pub pinned: BTreeSet<usize>,
    /// The numbers of the messages that are dropped.
    pub dropped: BTreeSet<usize>,
    /// The operations on the session.
    pub operations: Vec<Operation>,
    /// The growth of the context since the start; empty if it was not asked for.
    pub growth: Vec<Growth>,
    /// True if credentials are shown.
    pub shows_credentials: bool,
}

/// The effect of a compaction.
#[derive(Clone, Debug, Default)]
pub struct Preview {
    /// The fate of each item.
    pub fates: Vec<Fate>,
    /// The weight of each item after it.
    pub tokens_after: Vec<u64>,
    /// The new messages, each with the number of items before it.
    pub added: Vec<Added>,
    /// The tokens of the context after it.
    pub used_after: u64,
    /// The tokens of the digest.
    pub digest_tokens: u64,
    /// The reason why nothing would change.
    pub unchanged: Option<String>,
    /// True if the context is within its limit, so that it is compacted on demand only.
    pub is_early: bool,
}

/// A message that a compaction would add.
#[derive(Clone, Debug)]
pub struct Added {
    /// The number of items before it.
    pub before: usize,
    /// A line about it.
    pub label: String,
    /// Its weight in tokens.
    pub tokens: u64,
}

/// The fate of a message in a compaction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fate {
    /// The message stays as it is.
    #[default]
    Kept,
    /// The digest takes its place.
    Folded,
    /// Its body becomes a mark.
    Cleared,
    /// Its body becomes shorter.
    Shortened,
}

/// A line of a digest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DigestLine {
    /// The line.
    pub text: String,
    /// The number of the message that says it, if one does.
    pub source: Option<usize>,
}

/// A message that the model does not see any more.
#[derive(Clone, Debug)]
pub struct FoldedMessage {
    /// A line about it.
    pub label: String,
    /// Its text.
    pub text: String,
}

/// An operation on a session.
#[derive(Clone, Debug)]
pub struct Operation {
    /// Its number.
    pub id: u64,
    /// The action.
    pub what: String,
    /// The time.
    pub at: String,
    /// True if it was undone.
    pub is_undone: bool,
    /// The tokens of the context before it.
    pub tokens_before: u64,
    /// The tokens of the context after it.
    pub tokens_after: u64,
}

/// The growth of the context from the start, or a compaction, to the next one.
#[derive(Clone, Debug, Default)]
pub struct Growth {
    /// The context at each answer of the agent.
    pub points: Vec<Point>,
}

/// The context at a message.
#[derive(Clone, Copy, Debug)]
pub struct Point {
    /// The number of messages so far.
    pub n_messages: usize,
    /// The tokens of the context.
    pub tokens: u64,
}

impl Context {
    /// Adds up the tokens by kind, those of the largest first.
    pub fn by_kind(&self) -> Vec<(Kind, u64)> {
        let mut sums: BTreeMap<Kind, u64> = BTreeMap::new();
        for item in &self.items {
            *sums.entry(item.kind).or_default() += item.tokens;
        }
        let seen: u64 = sums.values().sum();
        let rest = self.budget.used.saturating_sub(seen);
        if self.budget.outside > 0 {
            sums.insert(Kind::Unseen, rest);
        }
        let mut sums: Vec<(Kind, u64)> = sums.into_iter().filter(|(_, tokens)| *tokens > 0).collect();
        sums.sort_by_key(|(_, tokens)| std::cmp::Reverse(*tokens));
        sums
    }

    /// Returns whether a compaction is due.
    pub fn is_over(&self) -> bool {
        self.budget.used > self.budget.limit
    }
}

impl Details {
    /// Returns the user's choice for a message, in words.
    pub(crate) fn choice(&self, number: usize) -> Option<&'static str> {
        match (self.pinned.contains(&number), self.dropped.contains(&number)) {
            (true, true) => Some("pinned, dropped"),
            (true, false) => Some("pinned"),
            (false, true) => Some("dropped"),
            (false, false) => None,
        }
    }

    /// Returns the fate of an item.
    pub fn fate(&self, at: usize) -> Fate {
        self.preview.fates.get(at).copied().unwrap_or_default()
    }

    /// Returns the number of an item in the whole session.
    pub fn number(&self, at: usize) -> Option<usize> {
        self.numbers.get(at).copied().flatten()
    }

    /// Finds the item of a number.
    pub fn item_of(&self, number: usize) -> Option<usize> {
        self.numbers.iter().position(|it| *it == Some(number))
    }

    /// Returns the text of an item, with credentials marked unless they are shown.
    pub fn text(&self, at: usize) -> String {
        self.messages.get(at).map_or_else(String::new, |message| self.text_of(message))
    }

    /// Returns the text of a message, with credentials marked unless they are shown.
    pub fn text_of(&self, message: &Message) -> String {
        let text = wb_recall::body(message);
        if self.shows_credentials { text.into_owned() } else { wb_digest::redact(&text).text.into_owned() }
    }

    /// Returns a message as one that the model does not see any more.
    pub fn folded_message(&self, message: &Message) -> FoldedMessage {
        FoldedMessage {
            label: self.without_credentials(&outline::line(message)),
            text: self.text_of(message),
        }
    }

    /// Returns a line with credentials marked unless they are shown.
    pub fn without_credentials(&self, line: &str) -> String {
        if self.shows_credentials { line.to_owned() } else { wb_digest::redact(line).text.into_owned() }
    }
}

impl Preview {
    /// Counts the items with a fate.
    pub fn count(&self, fate: Fate) -> usize {
        self.fates.iter().filter(|it| **it == fate).count()
    }

    /// Returns whether it would write a digest, not only clear or shorten results.
    pub fn has_digest(&self) -> bool {
        self.is_change() && self.digest_tokens > 0
    }

    /// Returns whether it would change something.
    pub fn is_change(&self) -> bool {
        self.unchanged.is_none() && !self.fates.is_empty()
    }
}

impl Fate {
    /// Returns the mark of a line in an outline.
    pub fn mark(self) -> char {
        match self {
            Self::Kept => ' ',
            Self::Folded => '-',
            Self::Cleared => '~',
            Self::Shortened => '<',
        }
    }

    /// Returns it in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Kept => "kept",
            Self::Folded => "folded into the digest",
            Self::Cleared => "cleared",
            Self::Shortened => "shortened",
        }
    }
}
