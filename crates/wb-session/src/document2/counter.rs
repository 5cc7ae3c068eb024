//! What the tokens of a session are counted with.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

use wb_budget::{TokenCounter, TokenHeuristic};

/// What tokens are counted with if no provider counted them: [`TokenHeuristic::DEFAULT`] by default, as everywhere.
#[derive(Clone)]
pub struct Counter(Arc<dyn TokenCounter>);

impl Counter {
    /// Counts with the given one, such as an exact tokenizer.
    pub fn new(counter: impl TokenCounter + 'static) -> Self {
        Self(Arc::new(counter))
    }
}

impl Default for Counter {
    fn default() -> Self {
        Self::new(TokenHeuristic::DEFAULT)
    }
}

impl From<Arc<dyn TokenCounter>> for Counter {
    fn from(counter: Arc<dyn TokenCounter>) -> Self {
        Self(counter)
    }
}

impl Deref for Counter {
    type Target = dyn TokenCounter;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Counter").finish_non_exhaustive()
    }
}
