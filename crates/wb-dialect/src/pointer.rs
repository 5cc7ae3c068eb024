//! JSON pointers into a request.

use std::fmt;

/// The pointer to a message or to one of its parts, written where something is found there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Pointer {
    /// The key of the messages.
    messages: &'static str,
    message: usize,
    part: Option<(&'static str, usize)>,
}

impl Pointer {
    pub(crate) fn to_message(messages: &'static str, message: usize) -> Self {
        Self { messages, message, part: None }
    }

    /// Returns the pointer to an element of one of the message's lists.
    pub(crate) fn element(self, list: &'static str, nth: usize) -> Self {
        Self { part: Some((list, nth)), ..self }
    }
}

impl fmt::Display for Pointer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "/{}/{}", self.messages, self.message)?;
        self.part.map_or(Ok(()), |(list, nth)| write!(f, "/{list}/{nth}"))
    }
}

impl From<Pointer> for String {
    fn from(pointer: Pointer) -> Self {
        pointer.to_string()
    }
}

/// Returns the indices of the message and of the part that a pointer leads into.
pub(crate) fn message_and_part(at: &str) -> (Option<usize>, Option<usize>) {
    let mut steps = at.split('/').skip(1);
    let is_message = matches!(steps.next(), Some("messages" | "input" | "contents"));
    let message = steps.next().and_then(|step| step.parse().ok()).filter(|_| is_message);
    let part = message.and_then(|_| steps.nth(1)?.parse().ok());
    (message, part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_yields_its_message_and_part() {
        for (at, expected) in [
            ("/messages/3", (Some(3), None)),
            ("/messages/3/content/1/content/0", (Some(3), Some(1))),
            ("/contents/0/parts/2", (Some(0), Some(2))),
            ("/system/0", (None, None)),
            ("", (None, None)),
        ] {
            assert_eq!(message_and_part(at), expected, "{at}");
        }
    }
}
