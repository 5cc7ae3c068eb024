//! What a compaction is worth: whether it pays over the cost of all prompts until the end of a session.
//!
//! A compaction writes anew what stands behind the first message that it changes, and makes each later request cheaper by
//! what it removed. How many requests will come is unknown; the forecast is that a session goes on for as long as it
//! has gone on so far, at the rate that it had so far.

use std::fmt;

use crate::card::Prices;

/// How many places up to the limit are compared.
const PLACES: u32 = 8;

/// How many calls are made again after a compaction, since what they showed is gone; measured as a brake, see
/// `docs/evaluation/cost.md`.
const CALLS_AGAIN: f64 = 3.0;
/// What the result of such a call weighs, in tokens.
const RESULT_TOKENS: f64 = 1000.0;
/// What the model writes for such a call, in tokens.
const CALL_TOKENS: f64 = 150.0;

/// The part of what a session has cost that one early compaction may cost in vain. What several of them lose in sum is measured
/// (docs/evaluation/cost.md), and not bounded by it.
const MOST_LOST: f64 = 0.05;

/// What is known when a request is about to be sent; all but the number of requests is in tokens.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Prospect {
    /// What the context holds.
    pub tokens: u64,
    /// What it would hold after a compaction.
    pub compacted: u64,
    /// What a compaction leaves as it is, from the start of the context on.
    pub stable: u64,
    /// Above this a compaction comes in any case.
    pub limit: u64,
    /// Whether the cache has outlived its time, so that the whole prompt is written anyway.
    pub is_cold: bool,
    /// How many requests were made so far; as many are expected.
    pub n_requests: u64,
    /// By how much the context grows from one request to the next.
    pub growth: u64,
    /// What all requests so far have sent.
    pub sent: u64,
}

/// What was weighed: costs until the end of the forecast, in US dollars. They are those of the prompts, and of the calls
/// that are made again after a compaction. [`fmt::Display`] gives it in one line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Worth {
    /// With a compaction now, and one whenever the context is as large again.
    pub now: f64,
    /// With compactions at the best of the later places, the limit among them; nothing where the limit is passed.
    pub later: Option<f64>,
    /// Without any compaction, whether or not the window would hold that.
    pub never: f64,
    /// What a compaction now adds to the next request.
    pub premium: f64,
    /// What the session has cost so far.
    pub spent: f64,
    /// What this rests on.
    pub prospect: Prospect,
}

impl Prospect {
    /// Tells whether a compaction is near, so that it is to be weighed: two thirds of the limit are full, and the limit
    /// will be reached within a fifth of the forecast, or the cache is cold. Earlier ones save more than they cost, but
    /// too much of what they remove is needed again (measured: `docs/evaluation/cost.md`).
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
    /// let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
    /// let known = Prospect {
    ///     tokens: 120_000, compacted: 20_000, stable: 0, limit: 150_000, is_cold: false, n_requests: 100, growth: 1_200,
    ///     sent: 6_000_000,
    /// };
    /// assert!(known.weigh(&prices).pays_now());
    /// let almost_over = Prospect { n_requests: 2, ..known };
    /// assert!(!almost_over.weigh(&prices).pays_now());
    /// // After an idle hour all of it would be written again.
    /// assert!(Prospect { is_cold: true, ..almost_over }.weigh(&prices).pays_now());
    /// ```
    pub fn weigh(self, prices: &Prices) -> Worth {
        let course = Course { of: self, prices };
        let room = self.limit.checked_sub(self.tokens).map(|room| room as f64 / f64::from(PLACES));
        let place = |step: f64, n: u32| course.later(self.tokens as f64 + step * f64::from(n));
        let later = room.and_then(|step| (1..=PLACES).map(|n| place(step, n)).reduce(f64::min));
        let premium = (course.compaction(self.is_cold) - course.next_request()) / 1e6;
        let (now, never) = (course.now(), course.later(f64::INFINITY));
        Worth { now, later, never, premium, spent: course.spent() / 1e6, prospect: self }
    }
}

impl Worth {
    /// Tells whether a compaction now is cheaper than one at any later place, and adds so little that a session which ends
    /// at once, against the forecast, has lost at most a twentieth of its cost.
    pub fn pays_now(&self) -> bool {
        self.later.is_some_and(|later| self.now < later) && self.premium <= MOST_LOST * self.spent
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

/// The requests until the end of the forecast; costs are in millionths of a dollar but where they are summed up.
struct Course<'a> {
    of: Prospect,
    prices: &'a Prices,
}

impl Course<'_> {
    /// Compacts now, and whenever the context is as large again; in US dollars.
    fn now(&self) -> f64 {
        let Prospect { tokens, compacted, is_cold, .. } = self.of;
        (self.compaction(is_cold) + self.rest(compacted as f64, tokens as f64)) / 1e6
    }

    /// Sends the context as it is, and compacts whenever it is above a place; in US dollars.
    fn later(&self, place: f64) -> f64 {
        (self.next_request() + self.rest(self.of.tokens as f64, place)) / 1e6
    }

    /// All requests so far.
    fn spent(&self) -> f64 {
        let Prospect { sent, growth, n_requests, .. } = self.of;
        let new = growth.saturating_mul(n_requests).min(sent);
        self.prices.cached * (sent - new) as f64 + self.prices.write * new as f64
    }

    /// The next request with the context as it is.
    fn next_request(&self) -> f64 {
        let Prospect { tokens, growth, is_cold, .. } = self.of;
        let new = if is_cold { tokens } else { growth.min(tokens) };
        self.prices.cached * (tokens - new) as f64 + self.prices.write * new as f64
    }

    /// The request that a compaction stands before, and the calls that are made again after it.
    fn compaction(&self, is_cold: bool) -> f64 {
        let Prices { cached, write, output, .. } = self.prices;
        let compacted = self.of.compacted;
        let stable = if is_cold { 0 } else { self.of.stable.min(compacted) };
        let again = cached * compacted as f64 + write * RESULT_TOKENS + output * CALL_TOKENS;
        cached * stable as f64 + write * (compacted - stable) as f64 + CALLS_AGAIN * again
    }

    /// All later requests from a context of that size on, compacted whenever it is above a place.
    fn rest(&self, tokens: f64, place: f64) -> f64 {
        let (growth, compacted) = (self.of.growth.max(1) as f64, self.of.compacted as f64);
        let until = |tokens: f64| ((place - tokens) / growth).floor().max(0.0);
        let left = self.of.n_requests as f64;
        let first = until(tokens).min(left);
        let cost = self.run(tokens, first, growth);
        // From the first compaction on, one cycle is as the other.
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

    /// So many requests without a compaction, each with what has come since the one before.
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

    /// A token costs a dollar to write and a tenth to read; calls again cost 3 × (what is read + 1 000).
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
    fn doing_nothing_reads_what_was_sent_and_writes_what_is_new() {
        let worth = known().weigh(&ROUND());
        // 900 read and 100 written, then 1000 and 100, then 1100 and 100.
        assert!((worth.never - (90.0 + 100.0 + 100.0 + 100.0 + 110.0 + 100.0)).abs() < 1e-6, "{worth:?}");
        assert_eq!(worth.later, Some(worth.never), "the limit is not reached");
    }

    #[test]
    fn a_compaction_writes_what_it_changed_and_makes_calls_again() {
        let worth = known().weigh(&ROUND());
        // 100 read and 300 written, three calls again; then 400 and 500 read, 100 written each time.
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
    fn an_early_compaction_risks_at_most_a_twentieth_of_what_was_spent() {
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
        // 100 read, 29 900 written, three calls made again, in place of 118 800 read and 1 200 written.
        let again = 3.0 * (0.03 * 30_000.0 + 3.0 * 1_000.0 + 15.0 * 150.0);
        let premium = 0.03 * 100.0 + 3.0 * 29_900.0 + again - (0.03 * 118_800.0 + 3.0 * 1_200.0);
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
    fn what_was_weighed_prints_as_one_line() {
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

    /// The same, request by request.
    fn walked(known: Prospect, prices: &Prices, now: bool, place: f64) -> f64 {
        let course = Course { of: known, prices };
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
        fn cycles_cost_what_a_walk_from_request_to_request_costs(known in prospects()) {
            let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
            let worth = known.weigh(&prices);
            for (told, place, now) in [(worth.now, known.tokens as f64, true), (worth.never, f64::INFINITY, false)] {
                let walked = walked(known, &prices, now, place);
                prop_assert!((told - walked).abs() <= 1e-9 * walked, "{told} {walked}");
            }
        }

        #[test]
        fn what_pays_now_is_never_dearer_than_nothing_where_nothing_was_possible(known in prospects()) {
            let prices = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, ..Prices::default() };
            let worth = known.weigh(&prices);
            let fits = known.tokens + known.n_requests * known.growth <= known.limit;
            prop_assert!(!fits || !worth.pays_now() || worth.now < worth.never);
            prop_assert!(!worth.pays_now() || worth.later.is_some_and(|later| worth.now < later));
        }
    }
}
