//! When a session was written, as its file tells it.

use std::io;

use memchr::memmem;
use wb_message::Message;
use wb_record::{Lines, PartReader, Parts};
use wb_session::parse_iso_ms;

/// Under these keys agents write the time of a record, as text or in milliseconds.
const KEYS: [&str; 3] = ["\"timestamp\":", "\"created\":", "\"completed\":"];
/// A time is no longer than that, in bytes.
const MOST_BYTES: usize = 40;
/// Numbers below are no milliseconds of this century.
const FIRST_MS: i64 = 1_000_000_000_000;
/// What a host writes beside a prompt is written within this time.
const BESIDE_MS: i64 = 2_000;

/// Returns the times in the parts of a session, in order.
pub(crate) fn times_of(parts: &dyn Parts) -> io::Result<Vec<i64>> {
    let mut times = Vec::new();
    for part in parts.list("")? {
        let mut lines = Lines::new(PartReader::new(parts, &part, 0)?);
        while let Some(line) = lines.next_line()? {
            times.extend(times_in(line.bytes));
        }
    }
    times.sort_unstable();
    Ok(times)
}

fn times_in(bytes: &[u8]) -> impl Iterator<Item = i64> {
    let places = KEYS.iter().flat_map(|key| memmem::find_iter(bytes, key).map(|at| at + key.len()));
    places
        .filter_map(|at| {
            let end = bytes.len().min(at + MOST_BYTES);
            let text = String::from_utf8_lossy(bytes.get(at..end)?).trim_start().to_owned();
            match text.strip_prefix('"') {
                Some(text) => parse_iso_ms(text.split('"').next()?),
                None => text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok(),
            }
        })
        .filter(|time| *time > FIRST_MS)
}

/// Returns for how long nothing was written before a message, in milliseconds; nothing if it tells no time.
pub(crate) fn idle_ms(message: &Message, times_ms: &[i64]) -> Option<i64> {
    let time = message.timestamp()?;
    let n_before = times_ms.partition_point(|other| *other < time - BESIDE_MS);
    Some(time - times_ms[..n_before].last()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_text_and_as_milliseconds() {
        let file =
            r#"{"timestamp":"2025-01-01T00:00:00.000Z","usage":{"created": 1735689600500},"timestamp": 12}"#;
        assert_eq!(times_in(file.as_bytes()).collect::<Vec<_>>(), [1_735_689_600_000, 1_735_689_600_500]);
    }

    #[test]
    fn a_prompt_comes_after_what_was_written_before_and_not_beside_it() {
        let prompt = Message::User { content: "Go on.".into(), timestamp: 1_735_690_000_000 };
        let times = [1_735_689_000_000, 1_735_689_999_000, 1_735_690_000_000];
        assert_eq!(idle_ms(&prompt, &times), Some(1_000_000));
        assert_eq!((idle_ms(&prompt, &[]), idle_ms(&Message::user("Go on."), &times)), (None, None));
    }
}
