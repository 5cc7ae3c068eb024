//! The budget: resolved once from model, policy and overhead, and passed to every stage.

use crate::card::ModelCard;
use crate::gate::{
    DIGEST_TOKENS, Irreducible, MOST_DIGEST_TOKENS, RESTORED_TOKENS, RESTORED_WITH_RECALL, budget_limit,
};
use crate::policy::{AUTO_CONDENSE_POLICY, BudgetPolicy, PolicyError};

/// The limits of a transcript and of each part of a compacted one, in tokens.
///
/// ```
/// use wb_budget::{AUTO_CONDENSE_POLICY, Budget, ModelCard};
///
/// let card = ModelCard::with_window(12_000);
/// // 1 000 tokens of system prompt and tool schemas are sent with the transcript.
/// let budget = Budget::resolve(Some(&card), &AUTO_CONDENSE_POLICY, 1_000)?;
/// assert_eq!((budget.limit, budget.target), (7_464, 6_531));
/// assert!(budget.is_over(6_465) && !budget.is_over(6_464));
/// # Ok::<(), wb_budget::PolicyError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The model's window, if known.
    pub window: Option<u64>,
    /// The size above which a transcript is over budget, overhead included.
    pub limit: u64,
    /// The most that a compacted transcript should weigh, overhead included.
    pub target: u64,
    /// The weight of system prompt and tool schemas, which are sent with the transcript.
    pub overhead: u64,
    /// The most that the verbatim tail may weigh.
    pub tail: u64,
    /// The most that a digest may weigh.
    pub digest: u64,
    /// The most that the user's requests, constraints and open tasks may weigh in addition to the
    /// digest: a quarter of the limit; nothing without a window.
    pub floor: u64,
    /// The most that restored files may weigh together.
    pub restored: u64,
    /// True if a result must reach the target.
    has_target: bool,
    /// True if what is folded can be looked up.
    has_recall: bool,
    /// The excess of the transcript's estimate over the provider's count.
    surplus: u64,
}

/// The division of a budget, given the weight of a transcript's pinned messages; in tokens.
///
/// Overhead and pinned messages leave a part of the target. Of that part, the tail gets at most
/// three sevenths, restored files and the lines of a digest three, the rest of the digest one
/// (measured: `docs/evaluation/retention.md`). Where folded messages can be looked up, files and
/// lines get one seventh, and the rest of the digest three. If nothing is left, no result can fit;
/// an eighth of the limit is divided then, so that the result is still useful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BudgetSplit {
    /// The most that all but the pinned messages may weigh.
    pub room: u64,
    /// The most that the verbatim tail may weigh.
    pub tail: u64,
    /// The most that the digest may weigh.
    pub digest: u64,
    /// The most that restored files may weigh together.
    pub restored: u64,
    /// True if overhead and pinned messages alone reach the target.
    pub is_hopeless: bool,
}

/// Returns seven eighths of a limit, so that the next message does not trigger again.
fn target_below(limit_tokens: u64) -> u64 {
    limit_tokens - limit_tokens.div_ceil(8)
}

/// Returns the most that a digest may weigh: a twentieth of the limit, within bounds (measured:
/// `docs/evaluation/retention.md`).
fn digest_within(limit_tokens: u64) -> u64 {
    (limit_tokens / 20).clamp(DIGEST_TOKENS, MOST_DIGEST_TOKENS)
}

impl Budget {
    /// Resolves the budget of a model under a policy; without a model or a known window, only the
    /// policy's tail counts.
    pub fn resolve(
        model: Option<&ModelCard>,
        policy: &BudgetPolicy,
        overhead: u64,
    ) -> Result<Self, PolicyError> {
        let policy = policy.validated()?;
        let (tail, digest, restored) = (policy.keep_recent, DIGEST_TOKENS, RESTORED_TOKENS);
        let caps = Self {
            window: None,
            limit: tail,
            target: tail,
            overhead,
            tail,
            digest,
            floor: 0,
            restored,
            has_target: false,
            has_recall: false,
            surplus: 0,
        };
        let Some(card) = model.filter(|card| card.context_window > 0) else { return Ok(caps) };
        let limit = floor(budget_limit(card, &policy));
        Ok(Self {
            window: Some(card.context_window),
            digest: digest_within(limit),
            floor: limit / 4,
            limit,
            target: target_below(limit),
            has_target: true,
            ..caps
        })
    }

    /// Builds the budget of a given limit, such as a request's, with a target of seven eighths.
    pub fn from_limit(limit: u64, policy: &BudgetPolicy, overhead: u64) -> Self {
        let (tail, digest, restored) = (policy.keep_recent, digest_within(limit), RESTORED_TOKENS);
        let (target, floor) = (target_below(limit), limit / 4);
        Self {
            window: None,
            limit,
            target,
            overhead,
            tail,
            digest,
            floor,
            restored,
            has_target: true,
            has_recall: false,
            surplus: 0,
        }
    }

    /// Builds the budget of a given target, whose shares are not capped, and at most `restored`
    /// tokens of restored files.
    pub fn without_caps(target: u64, restored: u64, overhead: u64) -> Self {
        let policy = BudgetPolicy { keep_recent: u64::MAX, ..AUTO_CONDENSE_POLICY };
        Self { digest: u64::MAX, restored, target, ..Self::from_limit(target, &policy, overhead) }
    }

    /// Gives the digest the share of files and lines, because the model can look those up.
    #[must_use]
    pub fn with_recall(self) -> Self {
        Self { restored: self.restored.min(RESTORED_WITH_RECALL), has_recall: true, ..self }
    }

    /// Replaces the overhead, in tokens.
    #[must_use]
    pub fn with_overhead(self, overhead: u64) -> Self {
        Self { overhead, ..self }
    }

    /// Replaces the target, for example by the limit for steps that include a margin.
    #[must_use]
    pub fn with_target(self, target: u64) -> Self {
        Self { target, ..self }
    }

    /// Lowers the limit and with it the target, overhead included; no change if the limit is lower
    /// already, or without a window.
    #[must_use]
    pub fn with_lower_limit(self, tokens: u64) -> Self {
        if !self.has_target || tokens >= self.limit {
            return self;
        }
        let (target, floor) = (self.target.min(target_below(tokens)), self.floor.min(tokens / 4));
        Self { limit: tokens, target, floor, ..self }
    }

    /// Lowers the limit by the possible error of the estimate, in thousandths.
    #[must_use]
    pub fn with_margin(self, margin_permille: u64) -> Self {
        let most = u128::from(self.limit) * 1000 / (1000 + u128::from(margin_permille));
        self.with_lower_limit(u64::try_from(most).unwrap_or(u64::MAX))
    }

    /// Returns whether a result must reach a target; without a window and a limit there is only a
    /// gate.
    pub fn has_target(&self) -> bool {
        self.has_target
    }

    /// Replaces the estimate of the transcript by the provider's count; an excess over the estimate
    /// is overhead, which no compaction can remove.
    #[must_use]
    pub fn with_counted_context(self, context_tokens: u64, estimate: u64) -> Self {
        let overhead = self.overhead.max(context_tokens.saturating_sub(estimate));
        let surplus = estimate.saturating_add(overhead).saturating_sub(context_tokens);
        Self { overhead, surplus, ..self }
    }

    /// Returns the tokens of the context with a transcript of the given weight.
    pub fn context_tokens(&self, transcript_tokens: u64) -> u64 {
        transcript_tokens.saturating_add(self.overhead).saturating_sub(self.surplus)
    }

    /// Returns whether a transcript of the given weight is over budget. Without a window only the
    /// tail counts.
    pub fn is_over(&self, transcript_tokens: u64) -> bool {
        if self.has_target {
            self.context_tokens(transcript_tokens) > self.limit
        } else {
            transcript_tokens > self.tail
        }
    }

    /// Returns whether the next request may not fit with a transcript of the given weight: it is
    /// more than halfway from the limit to the end of the window.
    pub fn is_tight(&self, transcript_tokens: u64) -> bool {
        let spare = self.window.map_or(0, |window| window.saturating_sub(self.limit) / 2);
        self.has_target && self.context_tokens(transcript_tokens) > self.limit.saturating_add(spare)
    }

    /// Reports a result that is too heavy: above the target if the transcript was over budget, else
    /// above the limit. Returns `None` without a window.
    pub fn irreducible(&self, transcript_tokens: u64, was_over: bool) -> Option<Irreducible> {
        if !self.has_target {
            return None;
        }
        let aim = if was_over { self.target } else { self.limit };
        Irreducible::from_weights(aim, transcript_tokens.saturating_add(self.overhead))
    }

    /// Divides the room that overhead and pinned messages leave.
    pub fn split(&self, pinned_tokens: u64) -> BudgetSplit {
        if !self.has_target {
            let Self { tail, digest, restored, .. } = *self;
            return BudgetSplit { room: tail, tail, digest, restored, is_hopeless: false };
        }
        let left = self.target.saturating_sub(self.overhead.saturating_add(pinned_tokens));
        let is_hopeless = left == 0;
        let room = if is_hopeless { self.limit / 8 } else { left };
        let (for_digest, for_restored) = if self.has_recall { (3, 1) } else { (1, 3) };
        BudgetSplit {
            room,
            tail: self.tail.min(sevenths(room, 3)),
            digest: self.digest.min(sevenths(room, for_digest)),
            restored: self.restored.min(sevenths(room, for_restored)),
            is_hopeless,
        }
    }
}

/// Returns `room × n / 7` without overflow.
fn sevenths(room: u64, n: u64) -> u64 {
    room / 7 * n + room % 7 * n / 7
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a float cast saturates")]
fn floor(limit: f64) -> u64 {
    limit as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::AUTO_CONDENSE_POLICY;

    fn resolve(window: u64, policy: &BudgetPolicy, overhead: u64) -> Budget {
        Budget::resolve(Some(&ModelCard::with_window(window)), policy, overhead)
            .expect("a policy that makes sense")
    }

    #[test]
    fn parts_are_three_three_and_one_eighth_of_the_limit() {
        let policy = BudgetPolicy { trigger_ratio: 1.0, keep_recent: u64::MAX, reserve_tokens: None };
        for window in 1..20_000 {
            let budget = resolve(window, &policy, 0);
            let BudgetSplit { tail, digest, restored, .. } = budget.split(0);
            let most = window * 3 / 8;
            assert!(tail <= most && restored <= most && digest <= window / 8, "{window}");
            assert!(tail + restored + digest <= budget.target && budget.target <= window * 7 / 8);
        }
    }

    #[test]
    fn a_large_window_is_limited_by_the_caps() {
        let BudgetSplit { tail, digest, restored, .. } = resolve(200_000, &AUTO_CONDENSE_POLICY, 0).split(0);
        assert_eq!((tail, restored, digest), (6000, RESTORED_TOKENS, 148_464 / 20));
    }

    #[test]
    fn with_recall_the_digest_has_the_share_of_lines_and_files() {
        let plain = Budget::without_caps(7_000, 7_000, 0);
        let [plain, with_recall] = [plain, plain.with_recall()].map(|budget| budget.split(0));
        assert_eq!((plain.digest, plain.restored), (1_000, 3_000));
        assert_eq!((with_recall.digest, with_recall.restored, with_recall.tail), (3_000, 1_000, plain.tail));
    }

    #[test]
    fn fixed_parts_shrink_the_room_and_never_underflow() {
        let policy = BudgetPolicy { reserve_tokens: None, ..AUTO_CONDENSE_POLICY };
        let budget = resolve(10_000, &policy, 2_000);
        let BudgetSplit { tail, digest, restored, .. } = budget.split(1_000);
        assert!(3_000 + tail + restored + digest <= budget.target);
        let hopeless = resolve(10_000, &policy, u64::MAX).split(u64::MAX);
        assert!(hopeless.is_hopeless);
        assert_eq!((hopeless.tail, hopeless.digest), (7_500 / 8 * 3 / 7, 7_500 / 8 / 7));
    }

    #[test]
    fn a_counted_context_decides_and_its_excess_is_overhead() {
        let budget = resolve(10_000, &AUTO_CONDENSE_POLICY, 500);
        let counted = budget.with_counted_context(9_000, 4_000);
        assert!(!budget.is_over(4_000) && counted.is_over(4_000));
        assert_eq!((counted.context_tokens(4_000), counted.overhead), (9_000, 5_000));
        let less = budget.with_counted_context(3_000, 6_000);
        assert_eq!((less.context_tokens(6_000), less.overhead), (3_000, 500));
        assert!(budget.is_over(6_000) && !less.is_over(6_000));
    }

    #[test]
    fn a_lower_limit_lowers_the_target() {
        let budget = resolve(10_000, &AUTO_CONDENSE_POLICY, 0);
        let early = budget.with_lower_limit(4_000);
        assert!(early.is_over(4_001) && !early.is_over(4_000) && !budget.is_over(4_001));
        assert_eq!((early.target, early.tail), (3_500, budget.tail));
        assert_eq!(budget.with_lower_limit(budget.limit), budget);
        assert_eq!(budget.with_margin(0), budget);
        let with_margin = budget.with_margin(146);
        assert_eq!((with_margin.limit, with_margin.target), (5_204, 4_553));
        assert!(with_margin.limit * 1146 / 1000 <= budget.limit);
    }

    #[test]
    fn without_a_window_only_the_tail_counts() {
        let budget = Budget::resolve(None, &AUTO_CONDENSE_POLICY, 9_000).expect("a policy that makes sense");
        assert!(budget.is_over(6_001) && !budget.is_over(6_000) && !budget.has_target());
        assert_eq!(budget.irreducible(u64::MAX, true), None);
    }
}
