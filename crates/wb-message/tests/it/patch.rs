//! The laws of patches, over generated transcripts with legal patches and with arbitrary ones.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wb_message::{Block, Edit, Message, Patch, PatchError};
use wb_testkit::{laws, strategies};

/// Generates a transcript and an arbitrary patch: out of range, overlapping, splitting pairs.
fn any_patch() -> impl Strategy<Value = (Vec<Message>, Patch)> {
    let fold = (any::<Index>(), 0..6_usize, 0..3_usize)
        .prop_map(|(start, len, n_with)| (start, Some((len, n_with))));
    let body = any::<Index>().prop_map(|at| (at, None));
    (strategies::transcript_with_steps(0..=8), vec(prop_oneof![fold, body], 0..4)).prop_map(
        |(messages, edits)| {
            let n = messages.len() + 2;
            let edits = edits.into_iter().map(|(at, fold)| match (at.index(n), fold) {
                (at, None) => Edit::Body { at, content: vec![Block::text("new")] },
                (at, Some((len, n_with))) => {
                    Edit::Fold { range: at..at + len, with: vec![Message::user("[digest]"); n_with] }
                }
            });
            let patch = Patch::new(edits.collect());
            (messages, patch)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: wb_testkit::depth::cases(300), ..ProptestConfig::default() })]

    #[test]
    fn a_legal_patch_keeps_every_law((messages, patch) in strategies::transcript_with_patch()) {
        let after = laws::patch_laws(&messages, &patch);
        let n_kept = patch.origins(messages.len()).len();
        prop_assert_eq!(after.len(), n_kept);
    }

    #[test]
    fn any_patch_is_lawful_or_refused_without_changes((messages, patch) in any_patch()) {
        let mut changed = messages.clone();
        if patch.clone().apply(&mut changed).is_ok() {
            laws::patch_laws(&messages, &patch);
        } else {
            prop_assert_eq!(changed, messages);
        }
    }

    #[test]
    fn a_weighed_patch_reports_the_weights_it_changed((messages, patch) in strategies::transcript_with_patch()) {
        let weigh = |message: &Message| serde_json::to_string(message).expect("JSON").len() as u64;
        let sum = |messages: &[Message]| messages.iter().map(weigh).sum::<u64>();
        let mut prefix = vec![0];
        for message in &messages {
            prefix.push(prefix[prefix.len() - 1] + weigh(message));
        }
        let pairing = wb_message::Pairing::new(&messages);
        let mut changed = messages.clone();
        match patch.apply_weighed(&mut changed, &pairing, &prefix, &weigh) {
            Ok(applied) => {
                prop_assert!(sum(&changed) < sum(&messages));
                prop_assert_eq!(sum(&changed), sum(&messages) - applied.removed_tokens + applied.added_tokens);
                applied.undo.revert(&mut changed);
                prop_assert_eq!(changed, messages);
            }
            Err(why) => {
                let heavier = matches!(why, PatchError::Heavier { .. });
                prop_assert!(heavier, "{}", why);
                prop_assert_eq!(changed, messages);
            }
        }
    }
}

#[test]
fn undo_after_a_truncation_takes_linear_time() {
    let n = 60_000;
    let before: Vec<Message> = (0..n).map(|at| Message::user(at.to_string())).collect();
    let mut messages = before.clone();
    let patch = Patch::new(vec![Edit::Fold { range: n / 2..n, with: vec![Message::user("digest")] }]);
    let undo = patch.apply(&mut messages).unwrap();
    messages.truncate(1);
    undo.revert(&mut messages);
    assert_eq!(messages.len(), 1 + n / 2);
    assert_eq!((&messages[0], &messages[1..]), (&before[0], &before[n / 2..]));
}
