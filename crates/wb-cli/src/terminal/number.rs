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

/// Returns numbers as a list, runs of them joined: `3, 12-14`.
pub(crate) fn listed(numbers: &[u64]) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => runs.push((*number, *number)),
        }
    }
    let run = |(first, last): &(u64, u64)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    runs.iter().map(run).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_numbers_are_joined() {
        assert_eq!((listed(&[3, 12, 13, 14]), listed(&[])), ("3, 12-14".to_owned(), String::new()));
    }

    #[test]
    fn one_is_no_plural() {
        assert_eq!((messages(1), messages(1_000)), ("1 message".to_owned(), "1,000 messages".to_owned()));
    }
}
