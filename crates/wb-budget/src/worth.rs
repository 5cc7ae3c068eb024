//! The value of a compaction: whether it pays over the cost of all prompts until the end of a
//! session.
//!
//! A compaction rewrites the prompt from the first changed message on, and makes each later request
//! cheaper by what it removed. The number of later requests is unknown; the forecast is as many as
//! so far, at the same growth.

use std::fmt;

use crate::card::Prices;

/// The number of later places to compare, up to the limit.
const PLACES: u32 = 8;

/// Calls repeated after a compaction, since their results are gone; measured as a brake, see
/// `docs/evaluation/cost.md`.
const REPEATED_CALLS: f64 = 3.0;
/// The weight of the result of a repeated call, in tokens.
const RESULT_TOKENS: f64 = 1000.0;
/// The tokens that the model writes for a repeated call.
const CALL_TOKENS: f64 = 150.0;

/// The part of a session's cost that one early compaction may waste. The sum over several
/// compactions is measured (`docs/evaluation/cost.md`), not bounded by it.
const MAX_LOSS: f64 = 0.05;

/// The facts known before a request; all but the number of requests in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospect {
    /// The size of the context.
    pub tokens: u64,
    /// The size of the context after a compaction.
    pub compacted: u64,
    /// The prefix of the context that a compaction leaves unchanged.
    pub stable: u64,
    /// The size above which a compaction happens in any case.
    pub limit: u64,
    /// True if the cache has expired, so that the whole prompt is written anyway.
    pub is_cold: bool,
    /// The number of requests so far, which is also the forecast.
    pub n_requests: u64,
    /// The growth of the context from one request to the next.
    pub growth: u64,
    /// The sum of all prompts so far.
    pub sent: u64,
}

/// The costs until the end of the forecast, in US dollars: of the prompts, and of the calls
/// repeated after a compaction. [`fmt::Display`] prints them as one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// The cost with a compaction now, and one whenever the context is as large again.
    pub now: f64,
    /// The cost with compactions at the best later place, the limit included; `None` above the
    /// limit.
    pub later: Option<f64>,
    /// The cost without any compaction, even if the window is too small for that.
    pub never: f64,
    /// The additional cost of the next request with a compaction now.
    pub premium: f64,
    /// The cost of the session so far.
    pub spent: f64,
    /// The input.
    pub prospect: Prospect,
}

impl Prospect {
    /// Returns whether a compaction is near enough to weigh it: two thirds of the limit are full,
    /// and the limit will be reached within a fifth of the forecast, or the cache is cold. Earlier
    /// compactions save more than they cost, but too much of what they remove is needed again
    /// (measured: `docs/evaluation/cost.md`).
    pub fn is_near(&self) -> bool {
        let soon = self.n_requests.saturating_mul(self.growth) / 5;
        let is_coming = self.is_cold || self.tokens.saturating_add(soon) >= self.limit;
        is_coming && self.tokens >= self.limit - self.limit / 3
    }

    /// Weighs a compaction now against later ones.
    ///
    /// ```
    /// use wb_budget::{Prices, Prospect};
    ///
    /// let prices =
    ///     Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
    /// let known = Prospect {
    ///     tokens: 120_000,
    ///     compacted: 20_000,
    ///     stable: 0,
    ///     limit: 150_000,
    ///     is_cold: false,
    ///     n_requests: 100,
    ///     growth: 1_200,
    ///     sent: 6_000_000,
    /// };
    /// assert!(known.weigh(&prices).pays_now());
    /// let almost_over = Prospect { n_requests: 2, ..known };
    /// assert!(!almost_over.weigh(&prices).pays_now());
    /// // After an idle hour all of it would be written again.
    /// assert!(Prospect { is_cold: true, ..almost_over }.weigh(&prices).pays_now());
    /// ```
    pub fn weigh(self, prices: &Prices) -> Worth {
        let course = Forecast { prospect: self, prices };
        let room = self.limit.checked_sub(self.tokens).map(|room| room as f64 / f64::from(PLACES));
        let place = |step: f64, n: u32| course.later(self.tokens as f64 + step * f64::from(n));
        let later = room.and_then(|step| (1..=PLACES).map(|n| place(step, n)).reduce(f64::min));
        let premium = (course.compaction(self.is_cold) - course.next_request()) / 1e6;
        let (now, never) = (course.now(), course.later(f64::INFINITY));
        Worth { now, later, never, premium, spent: course.spent() / 1e6, prospect: self }
    }
}

impl Worth {
    /// Returns whether a compaction now is cheaper than at any later place, and wastes at most a
    /// twentieth of the session's cost if the session ends at once, against the forecast.
    pub fn pays_now(&self) -> bool {
        self.later.is_some_and(|later| self.now < later) && self.premium <= MAX_LOSS * self.spent
    }
}

impl fmt::Display for Worth {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Prospect { n_requests, growth, is_cold, .. } = self.prospect;
        write!(f, "now ${:.4}", self.now)?;
        if let Some(later) = self.later {
            write!(f, ", later ${later:.4}")?;
        }
        write!(f, ", never ${:.4} for {n_requests} more requests of {growth} tokens", self.never)?;
        f.write_str(if is_cold { ", the cache is cold" } else { "" })
    }
}

/// The requests until the end of the forecast; costs are in millionths of a dollar unless noted.
struct Forecast<'a> {
    prospect: Prospect,
    prices: &'a Prices,
}

impl Forecast<'_> {
    /// Returns the cost of compacting now, and whenever the context is as large again, in US
    /// dollars.
    fn now(&self) -> f64 {
        let Prospect { tokens, compacted, is_cold, .. } = self.prospect;
        (self.compaction(is_cold) + self.rest(compacted as f64, tokens as f64)) / 1e6
    }

    /// Returns the cost of compacting whenever the context is above a place, from the second
    /// request on, in US dollars.
    fn later(&self, place: f64) -> f64 {
        (self.next_request() + self.rest(self.prospect.tokens as f64, place)) / 1e6
    }

    /// Returns the cost of all requests so far.
    fn spent(&self) -> f64 {
        let Prospect { sent, growth, n_requests, .. } = self.prospect;
        let new = growth.saturating_mul(n_requests).min(sent);
        self.prices.cached * (sent - new) as f64 + self.prices.write * new as f64
    }

    /// Returns the cost of the next request without a compaction.
    fn next_request(&self) -> f64 {
        let Prospect { tokens, growth, is_cold, .. } = self.prospect;
        let new = if is_cold { tokens } else { growth.min(tokens) };
        self.prices.cached * (tokens - new) as f64 + self.prices.write * new as f64
    }

    /// Returns the cost of the first request after a compaction and of the calls repeated after it.
    fn compaction(&self, is_cold: bool) -> f64 {
        let Prices { cached, write, output, .. } = self.prices;
        let compacted = self.prospect.compacted;
        let stable = if is_cold { 0 } else { self.prospect.stable.min(compacted) };
        let repeated = cached * compacted as f64 + write * RESULT_TOKENS + output * CALL_TOKENS;
        cached * stable as f64 + write * (compacted - stable) as f64 + REPEATED_CALLS * repeated
    }

    /// Returns the cost of all later requests from a context of `tokens` on, compacted whenever it
    /// is above a place.
    fn rest(&self, tokens: f64, place: f64) -> f64 {
        let (growth, compacted) = (self.prospect.growth.max(1) as f64, self.prospect.compacted as f64);
        let until = |tokens: f64| ((place - tokens) / growth).floor().max(0.0);
        let left = self.prospect.n_requests as f64;
        let first = until(tokens).min(left);
        let cost = self.run(tokens, first, growth);
        // From the first compaction on, all cycles are equal.
        let (left, n) = (left - first, until(compacted));
        if left < 1.0 {
            return cost;
        }
        let cycles = (left / (n + 1.0)).floor();
        let last = left - cycles * (n + 1.0);
        let cost = cost + cycles * (self.compaction(false) + self.run(compacted, n, growth));
        if last > 0.0 {
            cost + self.compaction(false) + self.run(compacted, last - 1.0, growth)
        } else {
            cost
        }
    }

    /// Returns the cost of `n` requests without a compaction.
    fn run(&self, tokens: f64, n: f64, growth: f64) -> f64 {
        if n < 1.0 {
            return 0.0;
        }
        let read = n * tokens + growth * n * (n - 1.0) / 2.0;
        self.prices.cached * read + self.prices.write * growth * n
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A token costs a dollar to write and a tenth to read; repeated calls cost 3 × (what is read +
    /// 1 000).
    const ROUND: fn() -> Prices =
        || Prices { input: 1e6, cached: 1e5, write: 1e6, output: 0.0, ..Prices::default() };

    fn known() -> Prospect {
        Prospect {
            tokens: 1000,
            compacted: 400,
            stable: 100,
            limit: 2000,
            is_cold: false,
            n_requests: 2,
            growth: 100,
            sent: 1500,
        }
    }

    #[test]
    fn doing_nothing_reads_old_tokens_and_writes_new_ones() {
        let worth = known().weigh(&ROUND());
        // 900 read and 100 written, then 1000 and 100, then 1100 and 100.
        assert!((worth.never - (90.0 + 100.0 + 100.0 + 100.0 + 110.0 + 100.0)).abs() < 1e-6, "{worth:?}");
        assert_eq!(worth.later, Some(worth.never), "the limit is not reached");
    }

    #[test]
    fn a_compaction_rewrites_the_changed_part_and_repeats_calls() {
        let worth = known().weigh(&ROUND());
        // 100 read and 300 written, three repeated calls; then 400 and 500 read, 100 written each
        // time.
        let expected = 10.0 + 300.0 + 3.0 * (40.0 + 1000.0) + 40.0 + 100.0 + 50.0 + 100.0;
        assert!((worth.now - expected).abs() < 1e-6 && !worth.pays_now(), "{worth:?}");
    }

    #[test]
    fn a_cold_cache_is_written_whole_either_way() {
        let [cold, warm] = [true, false].map(|is_cold| Prospect { is_cold, ..known() }.weigh(&ROUND()));
        assert!((cold.never - warm.never - 900.0 * 0.9).abs() < 1e-6);
        assert!((cold.now - warm.now - 100.0 * 0.9).abs() < 1e-6);
    }

    #[test]
    fn a_compaction_is_near_if_the_limit_is_or_the_mark_cache_cold() {
        let known = Prospect { tokens: 1_600, n_requests: 20, ..known() };
        assert!(known.is_near() && !Prospect { n_requests: 19, ..known }.is_near());
        assert!(Prospect { n_requests: 0, is_cold: true, ..known }.is_near());
        assert!(!Prospect { tokens: 1_333, n_requests: 400, is_cold: true, ..known }.is_near());
    }

    #[test]
    fn an_early_compaction_risks_a_twentieth_of_the_cost_so_far() {
        let prices = Prices { input: 3.0, cached: 0.03, write: 3.0, output: 15.0, ..Prices::default() };
        let known = Prospect {
            tokens: 120_000,
            compacted: 30_000,
            limit: 150_000,
            n_requests: 100,
            growth: 1_200,
            sent: 6_000_000,
            ..known()
        };
        let worth = known.weigh(&prices);
        // 100 read, 29 900 written, three repeated calls, instead of 118 800 read and 1 200
        // written.
        let repeated = 3.0 * (0.03 * 30_000.0 + 3.0 * 1_000.0 + 15.0 * 150.0);
        let premium = 0.03 * 100.0 + 3.0 * 29_900.0 + repeated - (0.03 * 118_800.0 + 3.0 * 1_200.0);
        assert!((worth.premium * 1e6 - premium).abs() < 1.0, "{worth:?}");
        assert!((worth.spent * 1e6 - (0.03 * 5_880_000.0 + 3.0 * 120_000.0)).abs() < 1.0, "{worth:?}");
        assert!(
            !worth.pays_now() && Worth { spent: worth.premium * 20.0 + 1e-9, now: 0.0, ..worth }.pays_now()
        );
    }

    #[test]
    fn above_the_limit_there_is_no_later() {
        let worth = Prospect { limit: 900, ..known() }.weigh(&ROUND());
        assert!(worth.later.is_none() && !worth.pays_now());
    }

    #[test]
    fn a_worth_prints_as_one_line() {
        let line = Prospect { is_cold: true, ..known() }.weigh(&Prices {
            cached: 0.3,
            write: 3.0,
            ..Prices::default()
        });
        assert_eq!(
            line.to_string(),
            "now $0.0114, later $0.0042, never $0.0042 for 2 more requests of 100 tokens, the cache is cold"
        );
    }

    /// Returns the same costs, summed request by request.
    fn naive_cost(known: Prospect, prices: &Prices, now: bool, place: f64) -> f64 {
        let course = Forecast { prospect: known, prices };
        let (mut tokens, growth) = (known.tokens as f64, known.growth as f64);
        let mut cost = course.later(0.0) * 1e6 - course.rest(tokens, 0.0);
        if now {
            (cost, tokens) = (course.compaction(known.is_cold), known.compacted as f64);
        }
        for _ in 0..known.n_requests {
            if tokens + growth > place {
                cost += course.compaction(false);
                tokens = known.compacted as f64;
            } else {
                cost += prices.cached * tokens + prices.write * growth;
                tokens += growth;
            }
        }
        cost / 1e6
    }

    prop_compose! {
        fn prospects()(
            tokens in 1_000_u64..200_000, part in 0.05..1.0_f64, stable in 0_u64..50_000, limit in 1_000_u64..200_000,
            is_cold: bool, n_requests in 0_u64..400, growth in 1_u64..9_000, sent in 0_u64..9_000_000,
        ) -> Prospect {
            let compacted = (tokens as f64 * part).floor();
            #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is below the whole")]
            Prospect { tokens, compacted: compacted as u64, stable, limit, is_cold, n_requests, growth, sent }
        }
    }

    proptest! {
        #[test]
        fn costs_match_the_naive_sum_over_requests(known in prospects()) {
            let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
            let worth = known.weigh(&prices);
            let cases = [(worth.now, known.tokens as f64, true), (worth.never, f64::INFINITY, false)];
            for (cost, place, now) in cases {
                let expected = naive_cost(known, &prices, now, place);
                prop_assert!((cost - expected).abs() <= 1e-9 * expected, "{cost} {expected}");
            }
        }

        #[test]
        fn a_compaction_that_pays_is_cheaper_than_the_alternatives(known in prospects()) {
            let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
            let worth = known.weigh(&prices);
            let fits = known.tokens + known.n_requests * known.growth <= known.limit;
            prop_assert!(!fits || !worth.pays_now() || worth.now < worth.never);
            prop_assert!(!worth.pays_now() || worth.later.is_some_and(|later| worth.now < later));
        }
    }
}
