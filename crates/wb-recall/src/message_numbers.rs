//! The numbers of messages of a context, which are those of the whole session.

use std::borrow::Borrow;
use std::collections::HashMap;

use wb_message::markers::is_synthetic;
use wb_message::{Message, content_fingerprints};

/// Returns the number of each message of a context in the log of its session.
pub(crate) fn numbers_of<M: Borrow<Message>>(context: &[Message], log: &[M]) -> Vec<Option<usize>> {
    let mut places: HashMap<Option<u64>, Vec<usize>> = HashMap::new();
    for (at, message) in log.iter().enumerate() {
        places.entry(content(message.borrow())).or_default().push(at);
    }
    let mut next = log.len();
    let mut numbers: Vec<Option<usize>> = context
        .iter()
        .rev()
        .map(|message| {
            let places = places.get_mut(&content(message)).filter(|_| !is_synthetic(message));
            let known = places.and_then(|places| take_newest(places, next));
            // A result that was cleared since is the one before its successor.
            let before =
                next.checked_sub(1).filter(|at| is_of_call(message, log.get(*at).map(Borrow::borrow)));
            let found = known.or(before);
            next = found.unwrap_or(next);
            found
        })
        .collect();
    numbers.reverse();
    numbers
}

/// Returns the fingerprint of a message without its time.
fn content(message: &Message) -> Option<u64> {
    content_fingerprints(std::slice::from_ref(message)).pop()
}

/// Takes the newest place before another one, or else the newest: agents move what they keep.
fn take_newest(places: &mut Vec<usize>, before: usize) -> Option<usize> {
    let n_before = places.partition_point(|at| *at < before);
    let nth = n_before.checked_sub(1).or_else(|| places.len().checked_sub(1))?;
    Some(places.remove(nth))
}

fn is_of_call(message: &Message, other: Option<&Message>) -> bool {
    let ids = |message: &Message| message.answered_ids().map(str::to_owned).collect::<Vec<_>>();
    other.is_some_and(|other| !ids(message).is_empty() && ids(message) == ids(other))
}
