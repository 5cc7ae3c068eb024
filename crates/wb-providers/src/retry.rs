//! Retries: when, and after which delay.

use std::time::Duration;

use reqwest::header::{DATE, HeaderMap, HeaderName, RETRY_AFTER};

/// The number and delays of retries after a transient failure.
///
/// Transient failures are the statuses 429, 500, 502, 503, 504 and 529, an overload reported in the
/// stream before the model's first output, and a failed connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RetryPolicy {
    /// The maximum number of retries; 0 is none.
    pub max_retries: u32,
    /// The maximum delay before the first retry; it doubles with each further one.
    pub first_delay: Duration,
    /// The maximum delay. A server that asks for more gets no retry.
    pub max_delay: Duration,
    /// A seed for the random part of delays. Hosts that start at the same time need different
    /// seeds, or they retry at the same time.
    pub seed: u64,
}

impl Default for RetryPolicy {
    /// Three retries: the first after up to half a second, none after more than a minute.
    fn default() -> Self {
        let (first_delay, max_delay) = (Duration::from_millis(500), Duration::from_mins(1));
        Self { max_retries: 3, first_delay, max_delay, seed: 0 }
    }
}

impl RetryPolicy {
    /// No retries.
    pub const NEVER: Self =
        Self { max_retries: 0, first_delay: Duration::ZERO, max_delay: Duration::ZERO, seed: 0 };

    /// Returns the delay before the nth retry, counted from 0, or `None` for no retry.
    ///
    /// A delay requested by the server is extended by up to a tenth; else the delay is between half
    /// and all of the doubling one. `request` distinguishes the requests of one host.
    pub(crate) fn delay(&self, nth: u32, requested: Option<Duration>, request: u64) -> Option<Duration> {
        if nth >= self.max_retries || requested.is_some_and(|requested| requested > self.max_delay) {
            return None;
        }
        let share = share(self.seed ^ request.wrapping_mul(0x9E37_79B9_7F4A_7C15) ^ (u64::from(nth) << 56));
        Some(if let Some(requested) = requested {
            requested + requested.mul_f64(share / 10.0)
        } else {
            let doubled = self.first_delay.saturating_mul(1 << nth.min(16));
            doubled.min(self.max_delay).mul_f64(0.5 + share / 2.0)
        })
    }
}

/// Returns a pseudo-random number in [0, 1) (the mixing of `SplitMix64`).
fn share(seed: u64) -> f64 {
    let mut mixed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Returns the delay that a server asks for, in milliseconds, in seconds, or until a date, which is
/// compared with the date of the response rather than a local clock.
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

    fn requested(headers: &[(&'static str, &'static str)]) -> Option<Duration> {
        let headers = headers.iter();
        retry_after(
            &headers.map(|(name, value)| (HeaderName::from_static(name), value.parse().unwrap())).collect(),
        )
    }

    #[test]
    fn requested_delays_are_read_in_every_form() {
        assert_eq!(requested(&[("retry-after", "7")]), Some(7 * SECOND));
        assert_eq!(requested(&[("retry-after", "1.5")]), Some(Duration::from_millis(1500)));
        assert_eq!(
            requested(&[("retry-after", "7"), ("retry-after-ms", "20")]),
            Some(Duration::from_millis(20))
        );
        let date = |date| requested(&[("date", "Sun, 22 Nov 2026 10:00:00 GMT"), ("retry-after", date)]);
        assert_eq!(date("Sun, 22 Nov 2026 10:00:30 GMT"), Some(30 * SECOND));
        assert_eq!(date("Sun, 22 Nov 2026 09:00:00 GMT"), Some(Duration::ZERO));
    }

    #[test]
    fn invalid_delays_are_ignored() {
        for value in ["", "soon", "-3", "inf", "1e400", "Sun, 22 Nov 2026 10:00:30 GMT"] {
            assert_eq!(requested(&[("retry-after", value)]), None, "{value}");
        }
        assert_eq!(requested(&[]), None);
    }

    #[test]
    fn delays_double_vary_and_end() {
        let policy = RetryPolicy { max_retries: 9, max_delay: 4 * SECOND, ..RetryPolicy::default() };
        for request in 0..50 {
            for nth in 0..9 {
                let most = (Duration::from_millis(500) * (1 << nth)).min(4 * SECOND);
                let delay = policy.delay(nth, None, request).unwrap();
                assert!(most / 2 <= delay && delay <= most, "{delay:?} of {most:?}");
            }
            assert_eq!(policy.delay(9, None, request), None);
        }
        let first_delay = |seed| RetryPolicy { seed, ..policy }.delay(0, None, 0);
        assert_eq!(first_delay(1), first_delay(1));
        assert_ne!(first_delay(1), first_delay(2));
        assert_ne!(policy.delay(0, None, 1), policy.delay(0, None, 2));
    }

    #[test]
    fn requested_delays_are_kept_up_to_the_maximum() {
        let policy = RetryPolicy::default();
        let delay = policy.delay(0, Some(10 * SECOND), 3).unwrap();
        assert!(10 * SECOND <= delay && delay <= 11 * SECOND);
        assert_eq!(policy.delay(0, Some(61 * SECOND), 3), None);
        assert_eq!(policy.delay(0, Some(Duration::ZERO), 3), Some(Duration::ZERO));
        assert_eq!(RetryPolicy::NEVER.delay(0, None, 0), None);
    }
}
