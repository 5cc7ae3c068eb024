//! Points in time: ISO 8601 text to milliseconds since the Unix epoch and back, without a calendar
//! library.

/// Reads a time such as `2026-01-31T23:59:59.123Z` or `2026-01-31T23:59:59+02:00` as milliseconds
/// since the Unix epoch, digits below a millisecond cut off.
///
/// A date without a time, a time without a zone (taken as UTC) and a blank for the `T` are accepted
/// too. Anything else returns none.
///
/// ```
/// assert_eq!(wb_session::parse_iso_ms("1970-01-02T00:00:00.5Z"), Some(86_400_500));
/// assert_eq!(wb_session::parse_iso_ms("yesterday"), None);
/// ```
pub fn parse_iso_ms(text: &str) -> Option<i64> {
    let between = text.bytes().position(|byte| matches!(byte, b'T' | b't' | b' '));
    let (date, clock) = between.map_or((text, "00:00:00"), |at| (&text[..at], &text[at + 1..]));
    let (clock, offset_ms) = split_zone(clock)?;
    Some(days(date)? * 86_400_000 + clock_ms(clock)? - offset_ms)
}

/// Writes milliseconds since the Unix epoch as JavaScript does, such as `2026-01-31T23:59:59.123Z`.
///
/// Years outside of 0 to 9999 get a sign and six digits.
///
/// ```
/// assert_eq!(wb_session::iso_ms(86_400_500), "1970-01-02T00:00:00.500Z");
/// ```
pub fn iso_ms(ms: i64) -> String {
    let (year, month, day) = date(ms.div_euclid(86_400_000));
    let ms = ms.rem_euclid(86_400_000);
    let (hours, minutes, seconds, ms) = (ms / 3_600_000, ms / 60_000 % 60, ms / 1000 % 60, ms % 1000);
    let year = match year {
        0..=9999 => format!("{year:04}"),
        _ => format!("{year:+07}"),
    };
    format!("{year}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{ms:03}Z")
}

/// Returns year, month and day of a day counted from the Unix epoch; the inverse of [`days`].
fn date(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * day_of_year + 2) / 153;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year_of_era + i64::from(month <= 2);
    (year, month, day_of_year - (153 * from_march + 2) / 5 + 1)
}

/// Returns the days from the Unix epoch to a date of the Gregorian calendar.
fn days(date: &str) -> Option<i64> {
    let [_, _, _, _, b'-', _, _, b'-', _, _] = date.as_bytes() else { return None };
    let (year, month) = (number(date.get(..4)?, 4)?, number(date.get(5..7)?, 2)?);
    let day = number(date.get(8..)?, 2)?;
    let is_leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let n_days = match month {
        2 if is_leap => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        1..=12 => 31,
        _ => return None,
    };
    if day == 0 || day > n_days {
        return None;
    }
    // Years begin in March, so that the leap day is the last of its year.
    let year = if month > 2 { year } else { year - 1 };
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let era = year.div_euclid(400);
    let year_of_era = year.rem_euclid(400);
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    Some(era * 146_097 + day_of_era - 719_468)
}

fn clock_ms(clock: &str) -> Option<i64> {
    let (hours, rest) = (number(clock.get(..2)?, 2)?, clock.get(2..)?.strip_prefix(':')?);
    let (minutes, rest) = (number(rest.get(..2)?, 2)?, rest.get(2..)?);
    let (seconds, rest) = match rest.strip_prefix(':') {
        Some(rest) => (number(rest.get(..2)?, 2)?, rest.get(2..)?),
        None if rest.is_empty() => (0, rest),
        None => return None,
    };
    let fraction = if rest.is_empty() { rest } else { rest.strip_prefix('.')? };
    if hours > 24 || minutes > 59 || seconds > 60 || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let digits = fraction.bytes().chain(*b"000").take(3);
    let ms = digits.fold(0, |ms, digit| ms * 10 + i64::from(digit - b'0'));
    Some(((hours * 60 + minutes) * 60 + seconds) * 1000 + ms)
}

/// Cuts the zone off a clock time and returns how far it is ahead of UTC.
fn split_zone(clock: &str) -> Option<(&str, i64)> {
    if let Some(clock) = clock.strip_suffix(['Z', 'z']) {
        return Some((clock, 0));
    }
    let Some(at) = clock.find(['+', '-']) else { return Some((clock, 0)) };
    let (clock, zone) = clock.split_at(at);
    let (sign, zone) = zone.split_at(1);
    let (hours, minutes) = zone.split_once(':').or_else(|| zone.split_at_checked(2))?;
    let minutes = if minutes.is_empty() { 0 } else { number(minutes, 2)? };
    let ahead = (number(hours, 2)? * 60 + minutes) * 60_000;
    Some((clock, if sign == "-" { -ahead } else { ahead }))
}

/// Reads exactly `n_digits` decimal digits, at most nine.
fn number(text: &str, n_digits: usize) -> Option<i64> {
    let is_number = text.len() == n_digits && (1..=9).contains(&n_digits);
    let value = |byte: u8| byte.is_ascii_digit().then(|| i64::from(byte - b'0'));
    let add = |number: i64, byte: u8| Some(number * 10 + value(byte)?);
    if is_number { text.bytes().try_fold(0, add) } else { None }
}

#[cfg(test)]
mod tests {
    use super::{date, iso_ms, parse_iso_ms};

    #[test]
    fn known_instants_are_read_to_the_millisecond() {
        for (text, ms) in [
            ("1970-01-01T00:00:00Z", 0),
            ("1969-12-31T23:59:59.999Z", -1),
            ("2000-02-29T12:00:00.000Z", 951_825_600_000),
            ("2024-12-31T23:59:59.123456Z", 1_735_689_599_123),
            ("2025-12-09T00:53:29.825Z", 1_765_241_609_825),
            ("2025-12-09T02:53:29.825+02:00", 1_765_241_609_825),
            ("2025-12-08T19:23:29.825-0530", 1_765_241_609_825),
            ("2025-12-09 00:53:29", 1_765_241_609_000),
            ("2025-12-09", 1_765_238_400_000),
        ] {
            assert_eq!(parse_iso_ms(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_is_nothing() {
        for text in [
            "",
            "T",
            "Z",
            "now",
            "2025-13-01T00:00:00Z",
            "2025-02-30T00:00:00Z",
            "2025-1-1T00:00:00Z",
            "2025-01-01T00:00:00.1x3Z",
            "2025-01-01T99:00:00Z",
            "2025-01-01T00:00:00+é",
            "١٩٧٠-01-01",
            "99999999999-01-01",
            "2025-01-01T",
            "2025-01-01T00",
            "[trimmed for fixture]",
        ] {
            assert_eq!(parse_iso_ms(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_written_is_read_back() {
        let day = 86_400_000;
        for ms in (-800_000 * day..2_000_000 * day).step_by(977 * 86_411_003).chain([0, -1, 951_782_400_000])
        {
            assert_eq!(
                parse_iso_ms(&iso_ms(ms)),
                (0..=9999).contains(&date(ms.div_euclid(day)).0).then_some(ms)
            );
        }
        assert_eq!(iso_ms(1_735_689_599_123), "2024-12-31T23:59:59.123Z");
        assert!(iso_ms(i64::MIN).starts_with('-') && iso_ms(i64::MAX).starts_with('+'));
    }
}
