//! What a host decides: the model, the budget, and what the engine may assume.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy, ModelCard, Tariff, Weigher};
use wb_message::ToolVocabulary;
use wb_passes::DEFAULT_KEEP_RECENT;
use wb_summarize::ModelInvoker;

pub use wb_summarize::timer::DEFAULT_TIMEOUT;
/// The most files that a compaction gives back (seed 0).
pub const DEFAULT_MAX_RESTORED: usize = 5;

/// What one compaction is asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CondenseOpts {
    /// Folds everything before the last prompt, whatever the gate says (a manual `/compact`).
    pub force: bool,
    /// The model that the invoker is asked to use.
    pub model: Option<String>,
    /// Tokens that the context really holds now, as the provider reported; 0 where unknown. A figure of more than a
    /// sixteenth above the window is refused. What it has over the estimate counts as fixed; a host whose estimates are
    /// far off sets `Ledger::calibrated` as the weigher.
    pub context_tokens: u64,
}

/// The seed's dependencies of a condenser; all of them are optional.
#[derive(Clone, Default)]
pub struct CondenserDeps {
    /// The model; none gives local digests.
    pub invoke: Option<Arc<dyn ModelInvoker>>,
    /// The card of the model whose window is budgeted; none means that there is no window to measure.
    pub card: Option<ModelCard>,
    /// The policy; [`AUTO_CONDENSE_POLICY`] where none is given.
    pub policy: Option<BudgetPolicy>,
}

impl fmt::Debug for CondenserDeps {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CondenserDeps");
        shown.field("invoke", &self.invoke.is_some()).field("card", &self.card).field("policy", &self.policy);
        shown.finish()
    }
}

/// Everything that a host can decide, with defaults that work without a model, a key or a network.
#[derive(Clone)]
pub struct CondenseSettings {
    pub(crate) invoke: Option<Arc<dyn ModelInvoker>>,
    pub(crate) card: Option<ModelCard>,
    pub(crate) policy: BudgetPolicy,
    pub(crate) weigher: Arc<dyn Weigher>,
    pub(crate) vocabulary: ToolVocabulary,
    pub(crate) overhead_tokens: u64,
    pub(crate) cancel: Option<CancellationToken>,
    pub(crate) timeout: Option<Duration>,
    /// Whether stale results are cleared, files restored and giant bodies previewed.
    pub(crate) passes: bool,
    /// Whether the gate has been passed already.
    pub(crate) due: bool,
    /// The card that a model's input is fitted to, where that is not the budget's.
    pub(crate) input_card: Option<ModelCard>,
}

impl Default for CondenseSettings {
    fn default() -> Self {
        Self {
            invoke: None,
            card: None,
            policy: AUTO_CONDENSE_POLICY,
            weigher: Arc::new(Tariff::SEED),
            vocabulary: ToolVocabulary::default(),
            overhead_tokens: 0,
            cancel: None,
            timeout: Some(DEFAULT_TIMEOUT),
            passes: true,
            due: false,
            input_card: None,
        }
    }
}

impl fmt::Debug for CondenseSettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("CondenseSettings");
        shown.field("invoke", &self.invoke.is_some()).field("card", &self.card).field("policy", &self.policy);
        shown.field("overhead_tokens", &self.overhead_tokens).field("timeout", &self.timeout);
        shown.finish_non_exhaustive()
    }
}

impl From<CondenserDeps> for CondenseSettings {
    fn from(deps: CondenserDeps) -> Self {
        let CondenserDeps { invoke, card, policy } = deps;
        let card = card.filter(has_window);
        Self { invoke, card, policy: policy.unwrap_or(AUTO_CONDENSE_POLICY), ..Self::default() }
    }
}

fn has_window(card: &ModelCard) -> bool {
    card.context_window > 0
}

impl CondenseSettings {
    /// Starts from the defaults: no model, no window, [`AUTO_CONDENSE_POLICY`].
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the model that writes digests.
    #[must_use]
    pub fn invoke(mut self, invoke: Arc<dyn ModelInvoker>) -> Self {
        self.invoke = Some(invoke);
        self
    }

    /// Sets the card of the model whose window is budgeted; a window of 0 is an unknown one.
    #[must_use]
    pub fn card(mut self, card: ModelCard) -> Self {
        self.card = Some(card).filter(has_window);
        self
    }

    /// Sets the policy.
    #[must_use]
    pub fn policy(mut self, policy: BudgetPolicy) -> Self {
        self.policy = policy;
        self
    }

    /// Sets what messages are weighed with.
    #[must_use]
    pub fn weigher(mut self, weigher: Arc<dyn Weigher>) -> Self {
        self.weigher = weigher;
        self
    }

    /// Sets how the agent's tools are called.
    #[must_use]
    pub fn vocabulary(mut self, vocabulary: ToolVocabulary) -> Self {
        self.vocabulary = vocabulary;
        self
    }

    /// Sets the tokens of what is sent beside the transcript: system prompt and tool schemas.
    #[must_use]
    pub fn overhead_tokens(mut self, overhead_tokens: u64) -> Self {
        self.overhead_tokens = overhead_tokens;
        self
    }

    /// Sets the token that cancels a compaction; the input comes back as it was.
    #[must_use]
    pub fn cancel(mut self, cancel: CancellationToken) -> Self {
        self.cancel = Some(cancel);
        self
    }

    /// Sets how long a model may take for one digest; none waits as long as it takes.
    #[must_use]
    pub fn timeout(mut self, timeout: Option<Duration>) -> Self {
        self.timeout = timeout;
        self
    }

    /// Leaves out the free passes around the fold, as the bare condenser of the seed does.
    #[must_use]
    pub(crate) fn bare(mut self) -> Self {
        self.passes = false;
        self
    }

    pub(crate) fn keep_recent_results(&self) -> usize {
        if self.passes { DEFAULT_KEEP_RECENT } else { usize::MAX }
    }
}
