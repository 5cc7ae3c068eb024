//! The times of a session's records.

use std::io;

use memchr::memmem;
use wb_message::Message;
use wb_record::{Lines, PartReader, Parts};
use wb_session::parse_iso_ms;

/// Keys of a record's time, as text or in milliseconds.
const KEYS: [&str; 3] = ["\"timestamp\":", "\"created\":", "\"completed\":"];
/// The maximum length of a time in bytes.
const MAX_BYTES: usize = 40;
/// The smallest number that is a time in milliseconds.
const FIRST_MS: i64 = 1_000_000_000_000;
/// The time in which a host writes the records of one prompt.
const SAME_PROMPT_MS: i64 = 2_000;

/// Reads the times in the parts of a session, in order.
pub(crate) fn read_times(parts: &dyn Parts) -> io::Result<Vec<i64>> {
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
            let end = bytes.len().min(at + MAX_BYTES);
            let text = String::from_utf8_lossy(bytes.get(at..end)?).trim_start().to_owned();
            match text.strip_prefix('"') {
                Some(text) => parse_iso_ms(text.split('"').next()?),
                None => text.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok(),
            }
        })
        .filter(|time| *time > FIRST_MS)
}

/// Returns the idle time before a message in milliseconds, if the message has a time.
pub(crate) fn idle_ms(message: &Message, times_ms: &[i64]) -> Option<i64> {
    let time = message.timestamp()?;
    let n_before = times_ms.partition_point(|other| *other < time - SAME_PROMPT_MS);
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
    fn records_of_the_same_prompt_do_not_end_an_idle_time() {
        let prompt = Message::User { content: "Go on.".into(), timestamp: 1_735_690_000_000 };
        let times = [1_735_689_000_000, 1_735_689_999_000, 1_735_690_000_000];
        assert_eq!(idle_ms(&prompt, &times), Some(1_000_000));
        assert_eq!((idle_ms(&prompt, &[]), idle_ms(&Message::user("Go on."), &times)), (None, None));
    }
}
