//! Numbers as people read them.

pub(crate) use wb_message::number::{grouped, grouped_in};

/// Returns `1 message`, `2 messages`.
pub(crate) fn count(n: usize, one: &str, several: &str) -> String {
    format!("{} {}", grouped(n as u64), if n == 1 { one } else { several })
}

/// Returns `1 message`, `2 messages`.
pub(crate) fn messages(n: usize) -> String {
    count(n, "message", "messages")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_is_no_plural() {
        assert_eq!((messages(1), messages(1_000)), ("1 message".to_owned(), "1,000 messages".to_owned()));
    }
}
