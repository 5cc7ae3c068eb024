//! Decodes server-sent events from a byte stream.

use std::collections::VecDeque;

/// The maximum size of an event, larger than any model's.
const MAX_EVENT_BYTES: usize = 32 << 20;

/// One event of a stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct SseEvent {
    /// The name, empty if there is none.
    pub(crate) name: String,
    /// The joined lines of data.
    pub(crate) data: String,
}

/// The error for an event that exceeds the maximum size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct TooLong;

/// Assembles events from pieces that may end anywhere, even inside a character.
#[derive(Debug, Default)]
pub(crate) struct SseDecoder {
    /// The unfinished line.
    line: Vec<u8>,
    /// True if the last byte was a carriage return; a line feed after it ends no line.
    after_return: bool,
    has_begun: bool,
    event: SseEvent,
    has_data: bool,
    whole: VecDeque<SseEvent>,
}

impl SseDecoder {
    /// Adds a piece of the stream.
    pub(crate) fn push(&mut self, mut bytes: &[u8]) -> Result<(), TooLong> {
        while let Some(end) = bytes.iter().position(|byte| matches!(byte, b'\n' | b'\r')) {
            let is_rest_of_end = end == 0 && bytes[0] == b'\n' && self.after_return;
            self.after_return = bytes[end] == b'\r';
            if !is_rest_of_end {
                self.line.extend_from_slice(&bytes[..end]);
                self.take_line();
            }
            bytes = &bytes[end + 1..];
        }
        self.after_return &= bytes.is_empty();
        self.line.extend_from_slice(bytes);
        let n_bytes = self.line.len() + self.event.data.len();
        if n_bytes > MAX_EVENT_BYTES { Err(TooLong) } else { Ok(()) }
    }

    /// Returns the next complete event.
    pub(crate) fn next(&mut self) -> Option<SseEvent> {
        self.whole.pop_front()
    }

    fn take_line(&mut self) {
        let bytes = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&bytes);
        let is_first = !std::mem::replace(&mut self.has_begun, true);
        let line = if is_first { text.trim_start_matches('\u{feff}') } else { &text };
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.event.name),
            "data" => self.add_data(value),
            // Comments keep the connection open; ids and delays are for reconnecting readers.
            _ => {}
        }
    }

    fn add_data(&mut self, value: &str) {
        if std::mem::replace(&mut self.has_data, true) {
            self.event.data.push('\n');
        }
        self.event.data.push_str(value);
    }

    fn end_event(&mut self) {
        let event = std::mem::take(&mut self.event);
        if std::mem::take(&mut self.has_data) {
            self.whole.push_back(event);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decodes a stream in pieces of `n_bytes`.
    fn decoded(stream: &str, n_bytes: usize) -> Vec<(String, String)> {
        let mut decoder = SseDecoder::default();
        for piece in stream.as_bytes().chunks(n_bytes) {
            decoder.push(piece).unwrap();
        }
        std::iter::from_fn(|| decoder.next()).map(|event| (event.name, event.data)).collect()
    }

    fn check(stream: &str, expected: &[(&str, &str)]) {
        for n_bytes in [1, 2, 3, 7, 1000] {
            let found = decoded(stream, n_bytes);
            let found: Vec<_> = found.iter().map(|(name, data)| (name.as_str(), data.as_str())).collect();
            assert_eq!(found, expected, "in pieces of {n_bytes}");
        }
    }

    #[test]
    fn events_do_not_depend_on_the_pieces() {
        check(
            "event: a\ndata: {\"t\":\"größe 🦀\"}\n\ndata:x\n\n",
            &[("a", "{\"t\":\"größe 🦀\"}"), ("", "x")],
        );
    }

    #[test]
    fn lines_may_end_in_three_ways() {
        check("data: 1\r\n\r\ndata: 2\r\rdata: 3\n\n", &[("", "1"), ("", "2"), ("", "3")]);
        check("data: a\rdata: b\n\r\n", &[("", "a\nb")]);
    }

    #[test]
    fn comments_and_events_without_data_are_skipped() {
        check(": ping\n\nevent: ping\n\nid: 4\nretry: 1\ndata\n\n", &[("", "")]);
    }

    #[test]
    fn unfinished_events_are_dropped() {
        check("data: whole\n\ndata: cut", &[("", "whole")]);
        check("data: whole\n\ndata: cut\n", &[("", "whole")]);
    }

    #[test]
    fn a_byte_order_mark_is_skipped() {
        check("\u{feff}data: a\n\ndata: \u{feff}b\n\n", &[("", "a"), ("", "\u{feff}b")]);
    }

    #[test]
    fn an_endless_event_is_an_error() {
        let mut decoder = SseDecoder::default();
        let piece = vec![b'x'; 1 << 20];
        let n_taken = (0..100).take_while(|_| decoder.push(&piece).is_ok()).count();
        assert_eq!(n_taken, MAX_EVENT_BYTES / piece.len());
    }
}
