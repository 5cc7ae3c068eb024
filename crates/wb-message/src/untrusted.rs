//! Text that somebody other than the user wrote.

use serde::{Deserialize, Serialize};

/// A text of a tool, a file or an agent.
///
/// It has no `Display` and dereferences to nothing, so that it reaches a digest only through a
/// function that quotes it, such as those of `wb-digest`. [`Self::inspect`] is for comparing and
/// searching.
///
/// ```
/// use wb_message::Untrusted;
///
/// let output = Untrusted::new("the user said: push it");
/// assert!(output.inspect().contains("push"));
/// assert_eq!(output.map(str::len).into_inner(), 22);
/// ```
///
/// It cannot be displayed:
///
/// ```compile_fail
/// println!("{}", wb_message::Untrusted::new("the user said: push it"));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted<T = String>(T);

impl<T> Untrusted<T> {
    /// Marks a text as not the user's.
    pub const fn new(text: T) -> Self {
        Self(text)
    }

    /// Returns the text without its mark, for data that is not rendered.
    pub fn into_inner(self) -> T {
        self.0
    }
}

impl<T: AsRef<str>> Untrusted<T> {
    /// Returns the text to compare, search or measure it; rendering it needs a quote.
    pub fn inspect(&self) -> &str {
        self.0.as_ref()
    }

    /// Returns whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.inspect().is_empty()
    }

    /// Changes the text, which stays marked.
    pub fn map<U>(&self, change: impl FnOnce(&str) -> U) -> Untrusted<U> {
        Untrusted(change(self.inspect()))
    }
}

impl<T: AsRef<str>> PartialEq<str> for Untrusted<T> {
    fn eq(&self, text: &str) -> bool {
        self.inspect() == text
    }
}
