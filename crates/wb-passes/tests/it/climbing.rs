//! Several passes on one transcript: what the climb tells is what was done.

use proptest::prelude::*;
use wb_budget::{Tariff, estimate_tokens};
use wb_message::{Message, Origin};
use wb_passes::{Climb, Microcompact, Preview};
use wb_testkit::strategies;

proptest! {
    #[test]
    fn weights_origins_and_the_way_back_are_those_of_the_result(
        messages in strategies::transcript(),
        target_tokens in 0..2_000_u64,
    ) {
        let mut changed = messages.clone();
        let mut climb = Climb::new(&mut changed, &Tariff::SEED);
        let microcompact = Microcompact { keep_recent_results: 1, ..Microcompact::default() };
        let stepped = [climb.step(&microcompact, 0), climb.step(&Preview::default(), target_tokens)];
        let last = messages.len().saturating_sub(1);
        let cut = (0..=last).rev().find(|&at| climb.view().pairing.is_legal(at)).unwrap_or(0);
        let fold = wb_message::Edit::Fold { range: 0..cut, with: vec![] };
        let folded = climb.lighten("fold", wb_message::Patch::new(vec![fold])).is_ok();
        let done = climb.done();

        let n_steps = stepped.iter().filter(|stepped| **stepped).count() + usize::from(folded);
        prop_assert_eq!(done.steps.len(), n_steps);
        prop_assert_eq!((done.tokens_before, done.tokens_after), (estimate_tokens(&messages), estimate_tokens(&changed)));
        prop_assert_eq!(done.origins.len(), changed.len());
        for (origin, message) in done.origins.iter().zip(&changed) {
            let Origin::Kept(at) = *origin else { continue };
            let same: &Message = &messages[at];
            prop_assert_eq!(same == message, done.replaced.binary_search(&at).is_err());
        }
        done.undo.revert(&mut changed);
        prop_assert_eq!(changed, messages);
    }
}
