//! The messages of a session in the next request, in order: those since the last completed
//! compaction, with the tail that it kept after its summary.

use std::collections::HashSet;

/// A message, as far as the order of a request depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) id: String,
    pub(crate) step: Step,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    /// A user message, which may ask for a compaction.
    Asks(Option<Compaction>),
    /// A summary for the compaction that the message of this id asks for.
    Sums { of: String, is_done: bool },
    /// Any other message.
    Says,
}

/// The settings of a part that compacts the session.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Compaction {
    /// The first message that stays as it is.
    pub(crate) tail: Option<String>,
}

impl Node {
    fn compaction(&self) -> Option<&Compaction> {
        match &self.step {
            Step::Asks(compaction) => compaction.as_ref(),
            _ => None,
        }
    }

    fn tail(&self) -> Option<&str> {
        self.compaction()?.tail.as_deref()
    }

    fn sums(&self, id: &str) -> bool {
        matches!(&self.step, Step::Sums { of, .. } if of == id)
    }
}

/// Returns the numbers of the messages that are sent, in the order in which they were written.
pub(crate) fn since_compaction(nodes: &[Node]) -> Vec<usize> {
    let mut done: HashSet<&str> = HashSet::new();
    let mut tail = None;
    let mut live = Vec::new();
    for (at, node) in nodes.iter().enumerate().rev() {
        live.push(at);
        match &node.step {
            _ if tail == Some(node.id.as_str()) => break,
            _ if tail.is_some() => {}
            Step::Sums { of, is_done: true } => drop(done.insert(of.as_str())),
            Step::Asks(Some(compaction)) if done.contains(node.id.as_str()) => match &compaction.tail {
                Some(id) if *id != node.id => tail = Some(id),
                _ => break,
            },
            _ => {}
        }
    }
    live.reverse();
    live
}

/// Moves the last compaction with a kept tail before that tail.
pub(crate) fn arranged(nodes: &[Node], live: Vec<usize>) -> Vec<usize> {
    let Some(asked) = live.iter().rposition(|at| nodes[*at].tail().is_some()) else { return live };
    let node = &nodes[live[asked]];
    let summed = (asked + 1..live.len()).find(|at| nodes[live[*at]].sums(&node.id));
    let tail = live[..asked].iter().position(|at| node.tail() == Some(nodes[*at].id.as_str()));
    let (Some(summed), Some(tail)) = (summed, tail) else { return live };
    [&live[asked..=summed], &live[tail..asked], &live[summed + 1..]].concat()
}

/// Returns the messages of the next request in their order.
pub(crate) fn live(nodes: &[Node]) -> Vec<usize> {
    arranged(nodes, since_compaction(nodes))
}

/// Returns each completed compaction: the message that requests it, and each summary for it.
pub(crate) fn pairs(nodes: &[Node]) -> Vec<Vec<usize>> {
    let asks = nodes.iter().enumerate().filter(|(_, node)| node.compaction().is_some());
    let pair = |(at, node): (usize, &Node)| {
        let sums = (0..nodes.len()).filter(|other| nodes[*other].sums(&node.id));
        std::iter::once(at).chain(sums).collect::<Vec<usize>>()
    };
    let is_done = |pair: &Vec<usize>| {
        pair[1..].iter().any(|at| matches!(nodes[*at].step, Step::Sums { is_done: true, .. }))
    };
    asks.map(pair).filter(is_done).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds nodes from words: `u1` a user, `a2` an assistant, `c3` or `c3>u1` a compaction,
    /// `s4=c3` its summary, `f4=c3` one that failed.
    fn nodes(words: &str) -> Vec<Node> {
        let node = |word: &str| {
            let (id, rest) = word.split_at(2);
            let rest = rest.get(1..).map(str::to_owned);
            let step = match &id[..1] {
                "u" => Step::Asks(None),
                "c" => Step::Asks(Some(Compaction { tail: rest })),
                "s" | "f" => Step::Sums { of: rest.unwrap(), is_done: id.starts_with('s') },
                _ => Step::Says,
            };
            Node { id: id.to_owned(), step }
        };
        words.split_whitespace().map(node).collect()
    }

    fn sent(words: &str) -> String {
        let nodes = nodes(words);
        live(&nodes).iter().map(|at| nodes[*at].id.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn the_last_compaction_that_ended_begins_the_request() {
        for (words, expected) in [
            ("u1 a2", "u1 a2"),
            ("u1 a2 c3 s4=c3 u5", "c3 s4 u5"),
            ("u1 a2 c3 f4=c3 u5", "u1 a2 c3 f4 u5"),
            ("u1 a2 c3 f4=c3 s5=c3 u6", "c3 f4 s5 u6"),
            ("u1 c3 s4=c3 u5 c6 s7=c6", "c6 s7"),
            ("u1 c3 s4=c3 u5 c6", "c3 s4 u5 c6"),
            ("u1 s4=c3 u5", "u1 s4 u5"),
        ] {
            assert_eq!(sent(words), expected, "{words}");
        }
    }

    #[test]
    fn a_kept_tail_follows_the_summary() {
        for (words, expected) in [
            ("u1 a2 u3 a4 c5>u3 s6=c5 u7", "c5 s6 u3 a4 u7"),
            // An unknown id: everything is sent unchanged.
            ("u1 a2 u3 a4 c5>u9 s6=c5 u7", "u1 a2 u3 a4 c5 s6 u7"),
            ("u1 a2 c5>c5 s6=c5 u7", "c5 s6 u7"),
            // An older compaction within the tail is sent with it.
            ("u1 a2 c3>a2 s4=c3 u5 c6>a2 s7=c6 u8", "c6 s7 a2 c3 s4 u5 u8"),
            ("u1 a2 c3>a2 s4=c3 u5 c6>u5 s7=c6 u8", "c6 s7 u5 u8"),
        ] {
            assert_eq!(sent(words), expected, "{words}");
        }
    }

    #[test]
    fn a_compaction_is_who_asks_for_it_and_every_summary() {
        assert_eq!(pairs(&nodes("u1 c3 s4=c3 c5 c6 f7=c6 s8=c6")), [vec![1, 2], vec![4, 5, 6]]);
    }
}
