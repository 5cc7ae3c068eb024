//! How full a window is against a threshold, without rounding.

/// Tells whether `total` is more than `threshold` of `budget`.
///
/// What counts is the decimal that was written, the shortest that reads back as the same `f32`: 560 of 800 are not
/// above 0.7, although the `f32` lies a little below it. Nothing is above a threshold that is no number.
pub(super) fn is_above(total_tokens: u64, budget_tokens: u32, threshold: f32) -> bool {
    if threshold.is_nan() || threshold < 0.0 || threshold.is_infinite() {
        return threshold < 0.0;
    }
    if total_tokens == 0 {
        return false;
    }
    // total / budget > digits × 10^exponent, with the power on the side where it is whole.
    let Some((digits, exponent)) = decimal(threshold) else { return false };
    let (total, limit) = (u128::from(total_tokens), u128::from(budget_tokens) * u128::from(digits));
    let power = 10_u128.checked_pow(exponent.unsigned_abs());
    if exponent < 0 {
        power.and_then(|power| total.checked_mul(power)).is_none_or(|total| total > limit)
    } else {
        power.and_then(|power| limit.checked_mul(power)).is_some_and(|limit| total > limit)
    }
}

/// Returns the shortest decimal of a finite number that is not negative, as whole digits and a power of ten.
fn decimal(number: f32) -> Option<(u64, i32)> {
    let text = format!("{number:e}");
    let (mantissa, exponent) = text.split_once('e')?;
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = [whole, fraction].concat().parse().ok()?;
    Some((digits, exponent.parse::<i32>().ok()? - i32::try_from(fraction.len()).ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_written_decimal_counts_and_equal_is_not_above() {
        for percent in 1..100_u32 {
            let threshold: f32 = format!("0.{percent:02}").parse().unwrap();
            let equal = u64::from(percent) * 8;
            assert!(!is_above(equal, 800, threshold), "{percent} %");
            assert!(is_above(equal + 1, 800, threshold), "{percent} %");
        }
    }

    #[test]
    fn one_token_is_seen_beyond_the_precision_of_a_float() {
        assert!(is_above(16_777_217, 16_777_216, 1.0));
        assert!(!is_above(16_777_216, 16_777_216, 1.0));
        assert!(is_above(u64::from(u32::MAX) + 1, u32::MAX, 1.0));
        assert!(is_above(33_554_434, 33_554_433, 1.0));
    }

    #[test]
    fn thresholds_out_of_the_ordinary_have_an_answer() {
        assert!(is_above(0, 1, -0.1) && is_above(0, 1, f32::NEG_INFINITY));
        assert!(!is_above(0, 1, -0.0) && is_above(1, u32::MAX, 0.0));
        assert!(!is_above(u64::MAX, 1, f32::NAN) && !is_above(u64::MAX, 1, f32::INFINITY));
        assert!(!is_above(u64::MAX, 1, f32::MAX) && is_above(1, u32::MAX, f32::MIN_POSITIVE));
        assert!(is_above(1, u32::MAX, f32::from_bits(1)) && !is_above(0, 1, f32::from_bits(1)));
        assert!(is_above(161, 80, 2.0) && !is_above(160, 80, 2.0));
    }
}
