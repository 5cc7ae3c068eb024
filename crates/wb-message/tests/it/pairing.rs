//! Pairing against a naive, quadratic implementation of its rules.

use proptest::prelude::*;
use wb_message::{Block, CallPosition, Message, Pair, Pairing};
use wb_testkit::strategies;

#[derive(Debug, Default, PartialEq)]
struct Naive {
    pairs: Vec<Pair>,
    orphans: Vec<u32>,
    dangling: Vec<CallPosition>,
    in_flight: Option<usize>,
}

struct Known {
    id: String,
    at: CallPosition,
    answered: bool,
}

/// Pairs each result by a search through all earlier calls: the first open one of the nearest
/// message, else the last call of the id.
fn naive(messages: &[Message]) -> Naive {
    let mut naive = Naive::default();
    let mut known: Vec<Known> = Vec::new();
    for (message, at) in messages.iter().zip(0..) {
        if let Message::Assistant { content, .. } = message {
            for (block, nth) in content.iter().zip(0..) {
                if let Block::ToolCall { id, .. } = block {
                    known.push(Known {
                        id: id.clone(),
                        at: CallPosition { message: at, block: nth },
                        answered: false,
                    });
                }
            }
        }
        for id in message.answered_ids() {
            let open = |call: &&mut Known| call.id == id && !call.answered;
            let nearest = known.iter_mut().filter(|call| open(call)).map(|call| call.at.message).max();
            let call = known.iter_mut().find(|call| open(call) && Some(call.at.message) == nearest);
            if let Some(call) = call {
                call.answered = true;
                naive.pairs.push(Pair { call: call.at, result: at, repeated: false });
            } else if let Some(call) = known.iter().rfind(|call| call.id == id) {
                naive.pairs.push(Pair { call: call.at, result: at, repeated: true });
            } else {
                naive.orphans.push(at);
            }
        }
    }
    naive.dangling = known.iter().filter(|call| !call.answered).map(|call| call.at).collect();
    let last = messages.iter().rposition(|message| matches!(message, Message::Assistant { .. }));
    naive.in_flight = last.filter(|last| naive.dangling.iter().any(|call| call.message as usize == *last));
    naive
}

/// Returns whether no pair crosses the cut, no call before it is in flight, and no result follows
/// it.
fn naive_legal(messages: &[Message], pairs: &[Pair], in_flight: Option<usize>, cut: usize) -> bool {
    let across = |pair: &Pair| (pair.call.message as usize) < cut && cut <= pair.result as usize;
    let starts_with_result = matches!(messages.get(cut), Some(Message::ToolResult { .. }));
    cut == 0 || !(pairs.iter().any(across) || in_flight.is_some_and(|at| at < cut) || starts_with_result)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(400), ..ProptestConfig::default() })]

    #[test]
    fn pairs_match_the_naive_implementation(messages in strategies::transcript()) {
        let (pairing, naive) = (Pairing::new(&messages), naive(&messages));
        prop_assert_eq!(pairing.pairs(), &naive.pairs);
        prop_assert_eq!(pairing.orphans(), &naive.orphans);
        prop_assert_eq!(pairing.dangling(), &naive.dangling);
        prop_assert_eq!(pairing.in_flight(), naive.in_flight);
        prop_assert_eq!((pairing.len(), pairing.is_empty()), (messages.len(), messages.is_empty()));
    }

    #[test]
    fn a_grown_pairing_equals_that_of_the_whole_transcript(messages in strategies::transcript()) {
        let mut grown = Pairing::default();
        for (n, message) in messages.iter().enumerate() {
            prop_assert_eq!(&grown, &Pairing::new(&messages[..n]));
            prop_assert_eq!(grown.dangling(), &naive(&messages[..n]).dangling);
            grown.push(message);
        }
        let references: Vec<&Message> = messages.iter().collect();
        prop_assert_eq!(&grown, &Pairing::new(&references));
        for message in &messages {
            grown.push(message);
        }
        let twice: Vec<&Message> = messages.iter().chain(&messages).collect();
        prop_assert_eq!(&grown, &Pairing::new(&twice));
        prop_assert_eq!(grown.pairs(), &naive(&[messages.clone(), messages.clone()].concat()).pairs);
    }

    #[test]
    fn legal_cuts_match_the_naive_implementation(messages in strategies::transcript()) {
        let pairing = Pairing::new(&messages);
        let legal = |cut| naive_legal(&messages, pairing.pairs(), pairing.in_flight(), cut);
        for cut in 0..=messages.len() {
            prop_assert_eq!(pairing.is_legal(cut), legal(cut), "cut {}", cut);
            prop_assert_eq!(pairing.legal_at_or_after(cut), (cut..messages.len()).find(|&cut| legal(cut)));
            let before = (0..messages.len().min(cut + 1)).rev().find(|&cut| legal(cut));
            prop_assert_eq!(pairing.legal_at_or_before(cut), before);
        }
        prop_assert!(!pairing.is_legal(messages.len() + 1));
    }

    #[test]
    fn a_legal_cut_leaves_no_new_orphan_or_dangling_call(messages in strategies::transcript()) {
        let whole = Pairing::new(&messages);
        for cut in (0..messages.len()).filter(|&cut| whole.is_legal(cut)) {
            let tail = Pairing::new(&messages[cut..]);
            let old = |at: &u32| whole.orphans().contains(&(at + u32::try_from(cut).expect("small")));
            prop_assert!(tail.orphans().iter().all(old), "cut {}", cut);
            prop_assert!(tail.dangling().len() <= whole.dangling().len());
        }
    }
}
