//! The requests that a digest has no room for, as an entry that the next digest parses.

use serde::{Deserialize, Serialize};

/// Begins the entry; the number of requests follows.
const LABEL: &str = "- Requests left out: ";
const OF_MESSAGES: &str = ", of messages ";

/// Requests that a digest has no room for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OmittedRequests {
    /// Their number.
    pub n_requests: u32,
    /// The numbers of the messages with the first of them.
    pub messages: Vec<u32>,
}

impl OmittedRequests {
    /// The most numbers of messages that an entry lists.
    const MOST_LISTED: usize = 40;
    /// The characters of an entry without a list.
    pub(crate) const LEAST_CHARS: usize = 30;
    /// The characters of an entry that lists them.
    pub const MOST_CHARS: usize = 280;

    /// Adds a request of a message; a message of an unknown number is only counted.
    pub fn add(&mut self, n_requests: u32, message: Option<u32>) {
        self.n_requests = self.n_requests.saturating_add(n_requests);
        let is_new = |message: &u32| !self.messages.contains(message);
        self.messages.extend(message.filter(is_new).filter(|_| self.messages.len() < Self::MOST_LISTED));
    }

    /// Adds those of another digest.
    pub fn join(&mut self, other: &Self) {
        self.add(other.n_requests, None);
        other.messages.iter().for_each(|message| self.add(0, Some(*message)));
    }

    /// Returns the entry; `None` if nothing is omitted.
    pub fn entry(&self) -> Option<String> {
        let numbers: Vec<String> = self.messages.iter().map(u32::to_string).collect();
        let of = if numbers.is_empty() { "" } else { OF_MESSAGES };
        let is_cut = !numbers.is_empty() && numbers.len() < self.n_requests as usize;
        let more = if is_cut { ", …" } else { "" };
        let entry = format!("{LABEL}{}{of}{}{more}", self.n_requests, numbers.join(", "));
        (self.n_requests > 0).then_some(entry)
    }

    /// Parses such an entry.
    pub fn parse(entry: &str) -> Option<Self> {
        let text = entry.strip_prefix(LABEL)?;
        let (n_requests, numbers) = text.split_once(OF_MESSAGES).unwrap_or((text, ""));
        let messages = numbers.split(", ").filter_map(|number| number.parse().ok()).collect();
        Some(Self { n_requests: n_requests.parse().ok()?, messages })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_parses_again() {
        let mut omitted = OmittedRequests::default();
        assert_eq!(omitted.entry(), None);
        for message in 1..60 {
            omitted.add(1, Some(message));
        }
        omitted.add(3, None);
        let entry = omitted.entry().expect("some are omitted");
        assert!(entry.starts_with("- Requests left out: 62, of messages 1, 2, 3,"), "{entry}");
        assert!(entry.ends_with(", 40, …"), "{entry}");
        assert_eq!(OmittedRequests::parse(&entry), Some(omitted));
        assert_eq!(
            OmittedRequests::parse("- Requests left out: 2"),
            Some(OmittedRequests { n_requests: 2, messages: vec![] })
        );
        assert_eq!(OmittedRequests::parse("- Left out: 2"), None);
    }
}
