//! Compacts what other libraries send: requests of genai and async-openai, messages of rig-core,
//! conversations of rig-memory.
//!
//! [`compact`] takes any of them. What it keeps is the library's own value, unchanged; only the
//! digest, and messages that the engine shortened, are written anew.
//!
//! ```
//! # #[cfg(feature = "genai")]
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), wb_interop::InteropError> {
//! use genai::chat::{ChatMessage, ChatRequest};
//! use wb_conductor::{Compactor, CondenseOpts, ModelCard};
//!
//! let said = (0..60).map(|n| ChatMessage::user(format!("step {n} {}", "x".repeat(900))));
//! let mut request = ChatRequest::from_messages(said.collect()).with_system("Be brief.");
//! let compactor = Compactor::new().card(ModelCard::with_window(12_000));
//! let report = wb_interop::compact(&mut request, &compactor, &CondenseOpts::default()).await?;
//! assert!(report.is_changed() && request.messages.len() < 60);
//! # Ok(())
//! # }
//! # #[cfg(not(feature = "genai"))]
//! # fn main() {}
//! ```

#[cfg(feature = "genai")]
pub mod genai;
#[cfg(feature = "async-openai")]
pub mod openai;
#[cfg(feature = "rig")]
pub mod rig;

use wb_conductor::{CompactionReport, Compactor, CondenseOpts, compact_in_place};
use wb_message::{Message, Origin};

/// The reason that a transcript cannot be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InteropError {
    /// The library's value cannot be read.
    #[error("the transcript cannot be read: {0}")]
    Read(String),
    /// The library has no form for the result.
    #[error("the result cannot be written: {0}")]
    Write(String),
}

/// A transcript in the types of another library.
pub trait Transcript {
    /// Returns its messages; system texts are [`Message::Custom`] of the type `system`.
    fn messages(&self) -> Result<Vec<Message>, InteropError>;

    /// Replaces it by the result of a compaction; what is kept unchanged stays the library's own.
    fn replace(&mut self, change: &Compacted<'_>) -> Result<(), InteropError>;
}

/// The result of a compaction.
#[derive(Clone, Copy, Debug)]
pub struct Compacted<'a> {
    /// The messages before.
    pub before: &'a [Message],
    /// The messages after.
    pub after: &'a [Message],
    /// For each message after, where it comes from.
    pub origins: &'a [Origin],
}

/// Compacts a transcript, with the summarizer of the compactor if it has one.
///
/// After an error, or if the future is dropped, the transcript is unchanged.
pub async fn compact(
    transcript: &mut impl Transcript,
    compactor: &Compactor,
    opts: &CondenseOpts,
) -> Result<CompactionReport, InteropError> {
    let before = transcript.messages()?;
    let mut after = before.clone();
    let report = compact_in_place(&mut after, compactor, opts).await;
    if let Some(undo) = &report.undo {
        let origins = undo.origins(before.len());
        transcript.replace(&Compacted { before: &before, after: &after, origins: &origins })?;
    }
    Ok(report)
}

/// The type of a message with a system text.
#[cfg(any(feature = "genai", feature = "rig"))]
pub(crate) const SYSTEM: &str = "system";

/// Messages with, for each, the index of the library's message that holds it.
#[cfg(any(feature = "genai", feature = "rig"))]
pub(crate) struct Owned {
    pub(crate) messages: Vec<Message>,
    pub(crate) owners: Vec<usize>,
}

#[cfg(any(feature = "genai", feature = "rig"))]
impl Owned {
    pub(crate) fn new(parts: impl IntoIterator<Item = Vec<Message>>) -> Self {
        let mut owned = Self { messages: Vec::new(), owners: Vec::new() };
        for (owner, part) in parts.into_iter().enumerate() {
            owned.owners.extend(part.iter().map(|_| owner));
            owned.messages.extend(part);
        }
        owned
    }

    /// Returns the library's messages after a compaction: one that is kept whole is cloned, all
    /// else is written anew.
    pub(crate) fn rebuilt<T: Clone>(
        &self,
        native: &[T],
        change: &Compacted<'_>,
        mut write: impl FnMut(&Message) -> Result<T, InteropError>,
    ) -> Result<Vec<T>, InteropError> {
        let mut n_of = vec![0; native.len()];
        self.owners.iter().for_each(|owner| n_of[*owner] += 1);
        let kept = |at: usize| {
            let from = change.origins[at].input_index()?;
            (change.before[from] == change.after[at]).then(|| self.owners[from])
        };
        let mut rebuilt = Vec::new();
        let mut at = 0;
        while at < change.after.len() {
            let owner = kept(at);
            let run = (at..change.after.len()).take_while(|next| kept(*next) == owner).count();
            let whole = owner.filter(|owner| n_of[*owner] == run);
            if let Some(owner) = whole {
                rebuilt.push(native[owner].clone());
            } else {
                for message in &change.after[at..at + run] {
                    rebuilt.push(write(message)?);
                }
            }
            at += run;
        }
        Ok(rebuilt)
    }
}
