//! Results that came after their call had been folded.
//!
//! A tool may answer when its call is no longer in the projection. A provider refuses such a result, so it is hidden
//! with its call, and comes back with it.

use std::collections::{BTreeMap, HashMap};

use wb_message::{Block, Content, Message, Pairing};

use super::layout::{Layout, Source};

/// A message of the log that answers folded calls, though no block folds it.
#[derive(Debug)]
pub(crate) struct LateResult {
    /// The block that folded the first of the calls.
    pub(crate) hider: usize,
    /// What is left of it without these answers; nothing if it held nothing else.
    pub(crate) left: Option<Message>,
}

/// Finds the late messages of a log, by index.
pub(crate) fn late_results(log: &[Message], layout: &Layout) -> BTreeMap<usize, LateResult> {
    let mut is_seen = vec![false; log.len()];
    for run in layout.runs().iter().filter(|run| run.source == Source::Log) {
        is_seen[run.range.start.min(log.len())..run.range.end.min(log.len())].fill(true);
    }
    let pairing = Pairing::of(log);
    let mut answers: BTreeMap<usize, Answers<'_>> = BTreeMap::new();
    let is_late = |call: usize, result: usize| !is_seen[call] && is_seen[result];
    let pairs = pairing.pairs().iter().map(|pair| (pair.call, pair.result as usize));
    let mut touched: Vec<usize> =
        pairs.clone().filter(|(call, at)| is_late(call.message as usize, *at)).map(|(_, at)| at).collect();
    touched.dedup();
    for (call, at) in pairs.filter(|(_, at)| touched.binary_search(at).is_ok()) {
        let Some((id, _, _)) = call.find(log) else { continue };
        let hider = layout.folded_by(call.message as usize).filter(|_| !is_seen[call.message as usize]);
        answers.entry(at).or_default().entry(id).or_default().push(hider);
    }
    answers.into_iter().filter_map(|(at, answers)| Some((at, reduced(&log[at], &answers)?))).collect()
}

/// For each id that a message answers, in order: the block that folded the call, where one did.
type Answers<'a> = HashMap<&'a str, Vec<Option<usize>>>;

fn reduced(message: &Message, answers: &Answers<'_>) -> Option<LateResult> {
    let hider = answers.values().flatten().flatten().copied().min()?;
    let Message::User { content: Content::Blocks(blocks), timestamp } = message else {
        return Some(LateResult { hider, left: None });
    };
    let mut nth: HashMap<&str, usize> = HashMap::new();
    let mut left = Vec::new();
    for block in blocks {
        if let Block::ToolResult { call_id, .. } = block {
            // Equal ids of one message answer in order, so the nth block of an id is its nth answer.
            let nth = nth.entry(call_id).or_default();
            let answer = answers.get(call_id.as_str()).and_then(|hiders| hiders.get(*nth));
            *nth += 1;
            if matches!(answer, Some(Some(_))) {
                continue;
            }
        }
        left.push(block.clone());
    }
    let left =
        (!left.is_empty()).then(|| Message::User { content: Content::Blocks(left), timestamp: *timestamp });
    Some(LateResult { hider, left })
}
