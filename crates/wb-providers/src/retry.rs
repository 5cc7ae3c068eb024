//! When a request is made again, and how long to wait before.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// How often a request that failed for the moment is made again, and how long is waited before.
///
/// That is after 429, 500, 502, 503, 504, 529, an overload that the stream itself tells before the model has said
/// anything, and where no connection comes about. After other errors nothing is made again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// How often a request is made again at most; 0 is never.
    pub max_retries: u32,
    /// How long is waited before the first time, at most; twice as long before each further one.
    pub first_delay: Duration,
    /// The longest that is waited. A server that asks for more is not waited for.
    pub max_delay: Duration,
    /// From it follows by how much each wait is shortened. Hosts that start at the same time and give the same seed
    /// come back at the same time, too: give each its own.
    pub seed: u64,
}

impl Default for RetryPolicy {
    /// Three times, after half a second at first, never more than a minute.
    fn default() -> Self {
        let (first_delay, max_delay) = (Duration::from_millis(500), Duration::from_mins(1));
        Self { max_retries: 3, first_delay, max_delay, seed: 0 }
    }
}

impl RetryPolicy {
    /// Never makes a request again.
    pub const NEVER: Self =
        Self { max_retries: 0, first_delay: Duration::ZERO, max_delay: Duration::ZERO, seed: 0 };

    /// Returns how long to wait before a request is made for the nth time again, counted from 0; nothing if it is not.
    ///
    /// What the server asks for is waited for in full, and up to a tenth more; else between a half and the whole of the
    /// delay, which doubles. `request` tells the requests of one host apart.
    pub(crate) fn delay(&self, nth: u32, asked: Option<Duration>, request: u64) -> Option<Duration> {
        if nth >= self.max_retries || asked.is_some_and(|asked| asked > self.max_delay) {
            return None;
        }
        let share = share(self.seed ^ request.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::from(nth) << 56));
        Some(if let Some(asked) = asked {
            asked + asked.mul_f64(share / 10.0)
        } else {
            let doubled = self.first_delay.saturating_mul(1 << nth.min(16));
            doubled.min(self.max_delay).mul_f64(0.5 + share / 2.0)
        })
    }
}

/// Returns a number in [0, 1) that looks like chance (the mixing of `SplitMix64`).
fn share(seed: u64) -> f64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns how long a server asks to wait: in milliseconds, in seconds, or until a date, which is held against the date of
/// the answer, so that no clock of ours is needed.
pub(crate) fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: HeaderName| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    let number = |text: &str| text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    let millis = text(HeaderName::from_static("retry-after-ms")).and_then(number);
    if let Some(millis) = millis {
        return Duration::try_from_secs_f64(millis / 1000.0).ok();
    }
    let after = text(RETRY_AFTER)?;
    if let Some(seconds) = number(after) {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    let until = httpdate::parse_http_date(after).ok()?;
    let now = httpdate::parse_http_date(text(DATE)?).ok()?;
    Some(until.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn asked(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers.iter();
        retry_after(
            &headers.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect(),
        )
    }

    #[test]
    fn a_server_asks_to_wait_in_several_ways() {
        assert_eq!(asked(&[("retry-after", "7")]), Some(7 * SECOND));
        assert_eq!(asked(&[("retry-after", "1.5")]), Some(Duration::from_millis(1500)));
        assert_eq!(asked(&[("retry-after", "7"), ("retry-after-ms", "20")]), Some(Duration::from_millis(20)));
        let date = |date| asked(&[("date", "Sun, 22 Nov 2026 10:00:00 GMT"), ("retry-after", date)]);
        assert_eq!(date("Sun, 22 Nov 2026 10:00:30 GMT"), Some(30 * SECOND));
        assert_eq!(date("Sun, 22 Nov 2026 09:00:00 GMT"), Some(Duration::ZERO));
    }

    #[test]
    fn what_says_nothing_asks_for_nothing() {
        for value in ["", "soon", "-3", "inf", "1e400", "Sun, 22 Nov 2026 10:00:30 GMT"] {
            assert_eq!(asked(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(asked(&[]), None);
    }

    #[test]
    fn waits_double_are_shortened_by_chance_and_end() {
        let policy = RetryPolicy { max_retries: 9, max_delay: 4 * SECOND, ..RetryPolicy::default() };
        for request in 0..50 {
            for nth in 0..9 {
                let most = (Duration::from_millis(500) * (1 << nth)).min(4 * SECOND);
                let delay = policy.delay(nth, None, request).unwrap();
                assert!(most / 2 <= delay && delay <= most, "{delay:?} of {most:?}");
            }
            assert_eq!(policy.delay(9, None, request), None);
        }
        let of_seed = |seed| RetryPolicy { seed, ..policy }.delay(0, None, 0);
        assert_eq!(of_seed(1), of_seed(1));
        assert_ne!(of_seed(1), of_seed(2));
        assert_ne!(policy.delay(0, None, 1), policy.delay(0, None, 2));
    }

    #[test]
    fn what_the_server_asks_for_is_waited_for_unless_it_is_too_long() {
        let policy = RetryPolicy::default();
        let delay = policy.delay(0, Some(10 * SECOND), 3).unwrap();
        assert!(10 * SECOND <= delay && delay <= 11 * SECOND);
        assert_eq!(policy.delay(0, Some(61 * SECOND), 3), None);
        assert_eq!(policy.delay(0, Some(Duration::ZERO), 3), Some(Duration::ZERO));
        assert_eq!(RetryPolicy::NEVER.delay(0, None, 0), None);
    }
}
