//! Passes one after the other: weighed once, each patch applied before the next pass plans.

use wb_budget::{View, Weigher, prefix_sums};
use wb_message::{Message, Origin, Pairing, Patch, PatchError, Undo};

use crate::pass::{Goal, Pass};

/// A transcript on its way down: its weights and pairs are kept up to date as passes change it.
pub struct Climb<'a> {
    messages: &'a mut Vec<Message>,
    weigher: &'a dyn Weigher,
    prefix: Vec<u64>,
    pairing: Pairing,
    done: Climbed,
}

/// What passes did to a transcript.
#[derive(Debug, Default)]
#[non_exhaustive]
pub struct Climbed {
    /// The steps that changed something, in order.
    pub steps: Vec<ClimbStep>,
    /// Messages of the input.
    pub n_before: usize,
    /// Weight of the input in tokens.
    pub tokens_before: u64,
    /// Weight of the output in tokens.
    pub tokens_after: u64,
    /// Where each message of the output comes from in the input.
    pub origins: Vec<Origin>,
    /// Indices in the input of messages whose body was replaced, ascending.
    pub replaced: Vec<usize>,
    /// What takes all of it back.
    pub undo: UndoStack,
}

/// One step that changed something.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClimbStep {
    /// The name of the pass.
    pub name: &'static str,
    /// Weight of the transcript after it, in tokens.
    pub tokens_after: u64,
    /// Messages after it.
    pub messages_after: usize,
}

/// Takes several patches back, the last one first.
#[derive(Debug, Default)]
pub struct UndoStack(Vec<Undo>);

impl UndoStack {
    /// Brings the transcript back to what it was before the first patch. Messages appended since stay at the end.
    pub fn revert(self, messages: &mut Vec<Message>) {
        for undo in self.0.into_iter().rev() {
            undo.revert(messages);
        }
    }

    /// Tells whether there is nothing to take back.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds what takes back a later patch.
    pub fn push(&mut self, undo: Undo) {
        self.0.push(undo);
    }
}

impl std::fmt::Debug for Climb<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Climb").field("done", &self.done).finish_non_exhaustive()
    }
}

impl<'a> Climb<'a> {
    /// Weighs and pairs a transcript.
    pub fn new(messages: &'a mut Vec<Message>, weigher: &'a dyn Weigher) -> Self {
        let prefix = prefix_sums(messages.iter().map(|message| weigher.weigh(message)));
        let pairing = Pairing::of(messages);
        let tokens_before = prefix[messages.len()];
        let n_before = messages.len();
        let origins = (0..n_before).map(Origin::Kept).collect();
        let done =
            Climbed { n_before, tokens_before, tokens_after: tokens_before, origins, ..Climbed::default() };
        Self { messages, weigher, prefix, pairing, done }
    }

    /// Returns the transcript as it is now.
    pub fn view(&self) -> View<'_> {
        View { messages: self.messages, prefix: &self.prefix, pairing: &self.pairing }
    }

    /// Returns the weight of the transcript as it is now, in tokens.
    pub fn total_tokens(&self) -> u64 {
        self.done.tokens_after
    }

    /// Lets a pass plan and applies its patch; false where it declines or its patch is refused.
    pub fn step(&mut self, pass: &dyn Pass, target_tokens: u64) -> bool {
        let patch = pass.plan(self.view(), Goal { target_tokens, weigher: self.weigher });
        patch.is_some_and(|patch| self.lighten(pass.name(), patch).is_ok())
    }

    /// Applies a patch that must make the transcript lighter.
    pub fn lighten(&mut self, name: &'static str, patch: Patch) -> Result<(), PatchError> {
        let weigher = self.weigher;
        let weigh = |message: &Message| weigher.weigh(message);
        let done = patch.apply_weighed(self.messages, &self.pairing, &self.prefix, &weigh)?;
        self.note(name, done.undo);
        Ok(())
    }

    /// Applies a patch that may add weight, such as a repair.
    pub fn apply(&mut self, name: &'static str, patch: Patch) -> Result<(), PatchError> {
        let undo = patch.apply_paired(self.messages, &self.pairing)?;
        self.note(name, undo);
        Ok(())
    }

    /// Lends the transcript to whoever changes it otherwise and returns what takes the change back.
    pub fn lend<R>(
        &mut self,
        name: &'static str,
        change: impl FnOnce(&mut Vec<Message>) -> (R, Option<Undo>),
    ) -> R {
        let (returned, undo) = change(self.messages);
        if let Some(undo) = undo {
            self.note(name, undo);
        }
        returned
    }

    /// Weighs what a patch brought and notes where everything comes from now.
    fn note(&mut self, name: &'static str, undo: Undo) {
        let n_messages = self.prefix.len() - 1;
        let origins = undo.origins(n_messages);
        let weights = origins.iter().zip(self.messages.iter()).map(|(origin, message)| match *origin {
            Origin::Kept(at) if !undo.replaced(at) => self.prefix[at + 1] - self.prefix[at],
            _ => self.weigher.weigh(message),
        });
        let prefix = prefix_sums(weights.collect::<Vec<_>>().into_iter());
        let changed = (0..n_messages).filter(|&at| undo.replaced(at));
        let replaced = changed.filter_map(|at| self.done.origins[at].kept());
        self.done.replaced.extend(replaced);
        self.done.origins = origins.into_iter().map(|origin| self.origin_of(origin)).collect();
        self.prefix = prefix;
        self.pairing = Pairing::of(self.messages);
        self.done.tokens_after = self.prefix[self.messages.len()];
        let (tokens_after, messages_after) = (self.done.tokens_after, self.messages.len());
        self.done.steps.push(ClimbStep { name, tokens_after, messages_after });
        self.done.undo.push(undo);
    }

    /// Follows an index of the transcript before the last patch back to the input.
    fn origin_of(&self, origin: Origin) -> Origin {
        origin.kept().map_or(Origin::New, |at| self.done.origins[at])
    }

    /// Ends the climb and tells what was done.
    pub fn done(mut self) -> Climbed {
        self.done.replaced.sort_unstable();
        self.done.replaced.dedup();
        self.done
    }
}
