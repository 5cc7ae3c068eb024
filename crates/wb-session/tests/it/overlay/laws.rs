//! What holds for every log and every chain of blocks.

use std::borrow::Cow;

use proptest::collection::vec;
use proptest::prelude::*;
use wb_budget::TokenHeuristic;
use wb_message::{Block, Edit, Message, Patch};
use wb_session::overlay::{BlockEvent, Overlay};
use wb_testkit::strategies::transcript;

use super::world::{Act, World, act};

fn apply() -> impl Strategy<Value = Act> {
    act().prop_filter("an application", |act| matches!(act, Act::Apply(..)))
}

/// Returns what of an overlay can be seen from outside.
fn face(world: &World) -> (Vec<Message>, String) {
    (world.seen(), serde_json::to_string(&world.overlay.active().collect::<Vec<_>>()).unwrap())
}

proptest! {
    #[test]
    fn undo_after_apply_and_redo_after_undo_are_the_identity(
        (all, n) in (transcript(), 0..60_usize),
        acts in vec(act(), 0..12),
        last in apply(),
    ) {
        let mut world = World::new(all, n);
        world.run_all(&acts);
        let before = face(&world);
        world.run(&last);
        let after = face(&world);
        world.overlay.undo().unwrap();
        prop_assert_eq!(face(&world), before);
        world.overlay.redo().unwrap();
        prop_assert_eq!(face(&world), after);
    }

    #[test]
    fn undo_in_any_order_and_redo_of_all_comes_back_to_the_same(
        (all, n) in (transcript(), 0..60_usize),
        applies in vec(apply(), 1..8),
        undos in vec(any::<proptest::sample::Index>(), 1..8),
    ) {
        let mut world = World::new(all, n);
        world.run_all(&applies);
        let before = face(&world);
        for at in &undos {
            world.run(&Act::UndoBlock(*at));
        }
        world.check();
        while world.overlay.redo().is_ok() {}
        prop_assert_eq!(face(&world), before);
    }

    #[test]
    fn the_events_give_the_overlay_back_also_through_json(
        (all, n) in (transcript(), 0..40_usize),
        acts in vec(act(), 0..30),
    ) {
        let mut world = World::new(all, n);
        let mut stored = Vec::new();
        for act in &acts {
            let n_events = world.overlay.events().len();
            let old = serde_json::to_string(&world.overlay).unwrap();
            world.run(act);
            let fresh = world.overlay.events().skip(n_events);
            stored.extend(fresh.map(|event| serde_json::to_value(event).unwrap()));
            let new = serde_json::to_string(&world.overlay).unwrap();
            prop_assert!(new.starts_with(old.trim_end_matches(']')), "events are only appended");
        }
        let events = stored.into_iter().map(|event| serde_json::from_value::<BlockEvent<'static>>(event).unwrap());
        let replayed = World { overlay: Overlay::replay(events).unwrap(), ..world.clone() };
        replayed.check();
        prop_assert_eq!(face(&replayed), face(&world));
        let json = serde_json::to_string(&world.overlay).unwrap();
        let read: Overlay = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), json);
        let mut read = World { overlay: read, ..world.clone() };
        let mut world = world;
        // What can still be taken back or applied again is the same too.
        prop_assert_eq!(read.overlay.redo().is_ok(), world.overlay.redo().is_ok());
        prop_assert_eq!(face(&read), face(&world));
        prop_assert_eq!(read.overlay.undo().is_ok(), world.overlay.undo().is_ok());
        prop_assert_eq!(face(&read), face(&world));
    }

    #[test]
    fn a_preview_tells_what_the_block_does(
        (all, n) in (transcript(), 0..60_usize),
        acts in vec(act(), 0..10),
        cuts in vec((any::<proptest::sample::Index>(), any::<proptest::sample::Index>(), 0..4_u8), 0..4),
        bodies in vec(any::<proptest::sample::Index>(), 0..3),
    ) {
        let mut world = World::new(all, n);
        world.run_all(&acts);
        let tokens = |world: &World| world.overlay.project(world.log()).unwrap().tokens(&TokenHeuristic::DEFAULT);
        let visible = |world: &World| {
            let projection = world.overlay.project(world.log()).unwrap();
            let visible = |at: &usize| {
                matches!(projection.explain(*at), Some(wb_session::overlay::Explanation::Visible { .. }))
            };
            (0..world.n_log).filter(visible).count()
        };
        let before = (tokens(&world), world.seen().len(), visible(&world));
        let plan = world.plan(super::world::legal_patch(&world.seen(), &cuts, &bodies));
        let preview = world.overlay.preview(world.log(), &plan, &TokenHeuristic::DEFAULT).unwrap();
        let json = serde_json::to_string(&plan).unwrap();
        prop_assert_eq!(&serde_json::from_str::<wb_session::overlay::BlockPlan>(&json).unwrap(), &plan);
        let block = world.overlay.seal(world.log(), plan, &TokenHeuristic::DEFAULT).unwrap();
        prop_assert_eq!(
            (block.provenance.tokens_before, block.provenance.tokens_after),
            (preview.tokens_before, preview.tokens_after)
        );
        drop(world.overlay.apply(&world.all[..world.n_log], block).unwrap());
        prop_assert_eq!((preview.tokens_before, preview.messages_before), (before.0, before.1));
        prop_assert_eq!(preview.tokens_after, tokens(&world));
        prop_assert_eq!(preview.messages_after, world.seen().len());
        prop_assert_eq!(preview.hidden, before.2 - visible(&world));
    }
}

proptest! {
    // Each case is fifty, and each step is checked from every side.
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn any_chain_of_fifty_steps_leaves_a_valid_projection_and_loses_nothing(
        (all, n) in (transcript(), 0..30_usize),
        acts in vec(act(), 50),
    ) {
        let mut world = World::new(all, n);
        for act in &acts {
            world.run(act);
            world.check();
        }
    }
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let message = prop_oneof![Just(Message::user("[x]")), Just(Message::tool_result("c1", "read", "x"))];
    prop_oneof![
        (0..14_usize).prop_map(|at| Edit::Body { at, content: vec![Block::text("[y]")] }),
        (0..14_usize, 0..14_usize, vec(message, 0..3))
            .prop_map(|(start, end, with)| Edit::Fold { range: start..end, with }),
    ]
}

proptest! {
    #[test]
    fn what_no_one_should_have_stored_is_refused_or_projected_without_a_panic(
        blocks in vec((vec(any_edit(), 0..5), 0..14_usize, vec(0..14_usize, 0..3), 0..14_usize), 1..5),
    ) {
        let mut world = World::new(wb_testkit::script("s u a:read,bash t t u n#c1 b a:read u a d"), usize::MAX);
        let mut overlay = Overlay::new();
        for (edits, n_log, late, start) in blocks {
            // Through the front door it is applied or refused.
            let patch = Patch { edits };
            if world.apply(patch.clone()).is_ok() {
                world.check();
            }
            // Through the back door it is read, or refused, and then projected or refused.
            let bare = World { overlay: overlay.clone(), ..world.clone() };
            let mut block = bare.seal(Patch::default()).unwrap();
            block.patch = patch;
            block.covers = start..n_log;
            (block.basis.n_log, block.basis.late) = (n_log, late);
            let events = overlay.events().map(owned).chain([BlockEvent::Applied { block: Cow::Owned(block) }]);
            if let Ok(read) = Overlay::replay(events.collect::<Vec<_>>()) {
                let is_told = read.project(world.log()).is_ok_and(|projection| projection.explain(0).is_some());
                if is_told {
                    overlay = read;
                }
            }
        }
    }
}

fn owned(event: BlockEvent<'_>) -> BlockEvent<'static> {
    match event {
        BlockEvent::Applied { block } => BlockEvent::Applied { block: Cow::Owned(block.into_owned()) },
        BlockEvent::Undone { id } => BlockEvent::Undone { id: Cow::Owned(id.into_owned()) },
        BlockEvent::Redone { id } => BlockEvent::Redone { id: Cow::Owned(id.into_owned()) },
    }
}
