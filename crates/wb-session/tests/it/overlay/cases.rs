//! Single cases of the overlay.

use std::borrow::Cow;

use serde_json::{Value, json};
use wb_budget::TokenHeuristic;
use wb_message::{Block, Edit, Message, Patch, PatchError};
use wb_session::overlay::{
    BLOCK_EVENT_TYPE, BlockEvent, BlockId, Explanation, Overlay, OverlayError, ProjectedFrom,
};
use wb_session::{EntryKind, build_context};
use wb_testkit::script;

use super::world::World;
use crate::support::log_of;

fn fold(range: std::ops::Range<usize>, digest: &str) -> Patch {
    Patch::new(vec![Edit::Fold { range, with: vec![Message::user(digest)] }])
}

fn cut(at: usize) -> Patch {
    Patch::new(vec![Edit::Body { at, content: vec![Block::text("[cut]")] }])
}

fn insert(at: usize, text: &str) -> Patch {
    fold(at..at, text)
}

fn id(n: usize) -> BlockId {
    BlockId::from(format!("block-{n}"))
}

/// Ten prompts and replies with blocks applied to them, named `block-1` and on.
fn world(patches: Vec<Patch>) -> World {
    let mut world = World::new(script("[u a]x5"), usize::MAX);
    for patch in patches {
        world.apply(patch).unwrap();
        world.check();
    }
    world
}

fn explained(world: &World, at: usize) -> (Option<usize>, Vec<String>) {
    let projection = world.overlay.project(world.log()).unwrap();
    let names = |ids: Vec<&BlockId>| ids.into_iter().map(ToString::to_string).collect();
    match projection.explain(at).unwrap() {
        Explanation::Visible { at, changed_by } => (Some(at), names(changed_by)),
        Explanation::Hidden { by } => (None, names(by)),
    }
}

#[test]
fn the_log_is_borrowed_and_only_what_blocks_touch_is_new() {
    let world = world(vec![fold(1..4, "[digest]"), cut(3)]);
    let projection = world.overlay.project(world.log()).unwrap();
    let is_owned: Vec<_> =
        projection.messages.iter().map(|message| matches!(message, Cow::Owned(_))).collect();
    assert_eq!(is_owned, [false, false, false, true, false, false, false, false]);
    assert!(std::ptr::eq(&raw const *projection.messages[2], &raw const world.all[4]));
    assert_eq!(projection.origins[1], ProjectedFrom::Block { id: &id(1) });
    assert_eq!(projection.origins[2], ProjectedFrom::Log { at: 4 });
}

#[test]
fn a_nested_block_stands_on_those_it_folds_and_the_chain_is_told_outermost_first() {
    let world = world(vec![cut(2), fold(1..4, "[one]"), fold(1..4, "[two]"), fold(0..2, "[three]"), cut(1)]);
    let parents: Vec<Vec<BlockId>> =
        world.overlay.blocks().iter().map(|block| block.parents.clone()).collect();
    assert_eq!(parents, [vec![], vec![id(1)], vec![id(2)], vec![id(3)], vec![]]);
    let covers: Vec<_> = world.overlay.blocks().iter().map(|block| block.covers.clone()).collect();
    assert_eq!(covers, [2..3, 1..4, 1..6, 0..6, 6..7]);
    assert_eq!(explained(&world, 0), (None, vec!["block-4".into()]));
    let chain = ["block-4", "block-3", "block-2", "block-1"].map(String::from);
    assert_eq!(explained(&world, 2), (None, chain.to_vec()));
    assert_eq!(explained(&world, 6), (Some(1), vec!["block-5".into()]));
    assert_eq!(explained(&world, 7), (Some(2), vec![]));
}

#[test]
fn a_block_is_taken_back_by_name_only_where_nothing_active_stands_on_it() {
    let mut world = world(vec![fold(1..3, "[one]"), fold(0..2, "[two]"), fold(2..4, "[other]")]);
    let refused = world.overlay.undo_block(&id(1)).err();
    assert_eq!(refused, Some(OverlayError::StoodOn { id: id(1), by: vec![id(2)] }));
    let before = world.seen();
    world.overlay.undo_block(&id(2)).unwrap();
    world.check();
    assert_eq!(world.seen().len(), 8);
    world.overlay.undo_block(&id(1)).unwrap();
    assert_eq!(world.overlay.undo_block(&id(1)).err(), Some(OverlayError::NotActive { id: id(1) }));
    assert_eq!(world.overlay.undo_block(&id(9)).err(), Some(OverlayError::UnknownBlock { id: id(9) }));
    let active: Vec<_> = world.overlay.active().map(|block| block.id.clone()).collect();
    assert_eq!(active, [id(3)]);
    assert!(world.seen().contains(&Message::user("[other]")));
    world.overlay.redo().unwrap();
    world.overlay.redo().unwrap();
    assert_eq!(world.seen(), before);
    assert_eq!(world.overlay.redo().err(), Some(OverlayError::NothingToRedo));
}

#[test]
fn a_fold_over_a_place_where_another_left_nothing_stands_on_it() {
    let drop = Patch::new(vec![Edit::Fold { range: 2..4, with: vec![] }]);
    let mut world = world(vec![drop, fold(1..3, "[over]"), insert(0, "[first]"), insert(3, "[between]")]);
    assert_eq!(world.overlay.blocks()[1].parents, [id(1)]);
    assert_eq!(world.overlay.blocks()[1].covers, 1..5);
    assert!(matches!(world.overlay.undo_block(&id(1)), Err(OverlayError::StoodOn { .. })));
    assert_eq!(explained(&world, 3), (None, vec!["block-2".into(), "block-1".into()]));
    world.overlay.undo_block(&id(3)).unwrap();
    assert_eq!(world.overlay.blocks()[3].parents, [id(2)]);
    world.check();
}

#[test]
fn a_new_block_ends_what_can_be_applied_again() {
    let mut world = world(vec![fold(1..3, "[one]")]);
    world.overlay.undo().unwrap();
    assert_eq!(world.overlay.undo().err(), Some(OverlayError::NothingToUndo));
    world.apply(cut(5)).unwrap();
    assert_eq!(world.overlay.redo().err(), Some(OverlayError::NothingToRedo));
    assert_eq!(world.overlay.next_id(), id(3));
}

#[test]
fn a_result_that_comes_after_its_call_was_folded_is_hidden_and_comes_back_with_it() {
    // The call of message 1 is answered by message 5, and by half of message 6.
    let mut all = script("u a:read#x,read#y u a u t#x u");
    let late = Block::ToolResult { call_id: "y".into(), output: json!("late"), is_error: None };
    all[6] = Message::user(vec![late, Block::text("and this?")]);
    let mut world = World::new(all.clone(), 5);
    world.apply(fold(1..3, "[digest]")).unwrap();
    world.n_log = 7;
    world.check();
    assert_eq!(explained(&world, 5), (None, vec!["block-1".into()]));
    assert_eq!(explained(&world, 6), (Some(4), vec!["block-1".into()]));
    assert_eq!(world.seen()[4], Message::user(vec![Block::text("and this?")]));
    // Whoever folds around them needs the first block, though it folds nothing of it.
    world.apply(fold(2..5, "[later]")).unwrap();
    world.check();
    assert_eq!(world.overlay.blocks()[1].parents, [id(1)]);
    assert_eq!(world.overlay.blocks()[1].basis.late, [5]);
    world.overlay.undo().unwrap();
    world.overlay.undo().unwrap();
    assert_eq!(world.seen(), all);
    world.overlay.redo().unwrap();
    world.overlay.redo().unwrap();
    world.check();
}

#[test]
fn a_patch_that_is_not_legal_is_refused_and_nothing_changes() {
    let mut world = World::new(script("s u a:read t u a:bash"), usize::MAX);
    let refused = |patch: Patch, why| {
        let refused = world.seal(patch).err();
        assert_eq!(refused, Some(OverlayError::Refused { id: id(1), why }));
    };
    refused(fold(1..3, "x"), PatchError::SplitPair { call: 2, result: 3 });
    refused(fold(0..2, "x"), PatchError::Pinned { at: 0 });
    refused(fold(4..6, "x"), PatchError::InFlight { call: 5 });
    refused(fold(5..9, "x"), PatchError::Misplaced { edit: 0 });
    refused(cut(2), PatchError::CallsChanged { at: 2 });
    world.apply(fold(1..4, "fine")).unwrap();
    assert_eq!(world.seen().len(), 4);
}

#[test]
fn a_plan_survives_what_is_appended_and_is_stale_after_another_block() {
    let mut world = world(vec![]);
    world.n_log = 6;
    let plan = world.plan(fold(0..2, "[late]"));
    world.n_log = 8;
    let block = world.overlay.seal(world.log(), plan.clone(), &TokenHeuristic::DEFAULT).unwrap();
    world.apply(cut(5)).unwrap();
    let stale = Some(OverlayError::DuplicateBlock { id: id(1) });
    assert_eq!(world.overlay.apply(&world.all.clone(), block).err(), stale);
    let renamed = wb_session::overlay::BlockPlan { id: "mine".into(), ..plan.clone() };
    let stale = Some(OverlayError::Stale { id: "mine".into() });
    assert_eq!(world.overlay.preview(world.log(), &renamed, &TokenHeuristic::DEFAULT).err(), stale);
    world.overlay.undo().unwrap();
    world.overlay.seal(world.log(), renamed, &TokenHeuristic::DEFAULT).unwrap();
}

#[test]
fn a_block_that_lies_about_itself_is_refused() {
    let mut world = world(vec![fold(1..3, "[one]")]);
    let block = world.seal(fold(0..2, "[two]")).unwrap();
    let all = world.all.clone();
    let mut lies = vec![("covers", block.clone()), ("parents", block.clone())];
    lies[0].1.covers = 0..2;
    lies[1].1.parents = vec![];
    for (what, lie) in lies {
        let misfit = Some(OverlayError::Misfit { id: id(2), what });
        assert_eq!(world.overlay.apply(&all, lie.clone()).err(), misfit);
        let first = BlockEvent::Applied { block: Cow::Owned(world.overlay.blocks()[0].clone()) };
        let replayed = Overlay::replay([first, BlockEvent::Applied { block: Cow::Owned(lie) }]);
        if what == "parents" {
            assert_eq!(replayed.err(), misfit);
        }
    }
    let mut other = block;
    other.provenance.covered[1] = other.provenance.covered[0];
    let changed = Some(OverlayError::LogChanged { id: id(2), first: 1..2 });
    assert_eq!(world.overlay.apply(&all, other).err(), changed);
    world.check();
}

#[test]
fn a_changed_log_is_told_with_the_block_and_the_place() {
    let world = world(vec![fold(1..3, "[one]"), fold(3..6, "[two]")]);
    let project = |change: &dyn Fn(&mut Vec<Message>)| {
        let mut log = world.all.clone();
        change(&mut log);
        world.overlay.project(&log).map(|projection| projection.len())
    };
    let changed = |n, first| Err(OverlayError::LogChanged { id: id(n), first });
    assert_eq!(project(&|log| log[6] = Message::assistant("x")), changed(2, 6..7));
    assert_eq!(project(&|log| log.rotate_left(1)), changed(1, 1..2));
    assert_eq!(project(&|log| log.insert(4, Message::user("x"))), changed(2, 4..5));
    assert_eq!(project(&|log| log[0] = Message::user("nothing covers this")), Ok(7));
    let short = OverlayError::LogTooShort { id: id(1), n_known: 10, n_log: 8 };
    assert_eq!(project(&|log| log.truncate(8)), Err(short.clone()));
    assert_eq!(short.to_string(), "the log has 8 messages and had 10 when block block-1 was made");
    let stood = OverlayError::StoodOn { id: id(1), by: vec![id(2)] };
    assert_eq!(stood.to_string(), "block block-1 cannot be taken back: block-2 stands on it");
}

#[test]
fn events_are_stored_as_custom_entries_of_a_session() {
    let world = {
        let mut world = world(vec![fold(1..3, "[one]"), fold(0..2, "[two]")]);
        world.overlay.undo().unwrap();
        world.overlay.redo().unwrap();
        world.overlay.undo().unwrap();
        world
    };
    let mut lines: Vec<Value> = (0..10)
        .map(|n| {
            let Message::User { content, .. } = &world.all[n] else {
                let content = json!([{"type": "text", "text": world.all[n].blocks()[0].as_text()}]);
                return json!({"type": "message", "message": {"role": "assistant", "content": content}});
            };
            let text: String = content.texts().collect();
            json!({"type": "message", "message": {"role": "user", "content": text}})
        })
        .collect();
    lines.extend(
        world
            .overlay
            .events()
            .map(|event| json!({"type": "custom", "customType": BLOCK_EVENT_TYPE, "data": event})),
    );
    for (n, line) in lines.iter_mut().enumerate() {
        line["id"] = json!(format!("{n:08x}"));
        line["parentId"] = n.checked_sub(1).map_or(Value::Null, |n| json!(format!("{n:08x}")));
    }
    let lines: Vec<String> = lines.iter().map(Value::to_string).collect();
    let log = log_of(&lines.iter().map(String::as_str).collect::<Vec<_>>());
    let events = log.entries().iter().filter_map(|entry| match &entry.kind {
        EntryKind::Custom(custom) if custom.custom_type == BLOCK_EVENT_TYPE => {
            Some(serde_json::from_value::<BlockEvent<'static>>(custom.data.clone().unwrap()).unwrap())
        }
        _ => None,
    });
    let overlay = Overlay::replay(events).unwrap();
    let context = build_context(&log, log.leaf()).unwrap();
    assert_eq!(overlay.events().len(), 5);
    assert_eq!(overlay.project(&context.messages).unwrap().to_vec(), world.seen());
    assert_eq!(world.seen()[1], Message::user("[one]"));
}

#[test]
fn the_wire_form_of_an_event_is_pinned() {
    let world = world(vec![fold(1..3, "[one]")]);
    let event = world.overlay.events().next().unwrap();
    insta::assert_snapshot!(serde_json::to_string_pretty(&event).unwrap(), @r#"
    {
      "event": "applied",
      "block": {
        "id": "block-1",
        "parents": [],
        "covers": {
          "start": 1,
          "end": 3
        },
        "provenance": {
          "author": {
            "kind": "rule",
            "name": "test"
          },
          "createdAt": 7,
          "tokensBefore": 90,
          "tokensAfter": 80,
          "covered": [
            "010097d7517b5621",
            "bd230cd20d608b27"
          ]
        },
        "basis": {
          "active": "cbf29ce484222325",
          "nLog": 10
        },
        "patch": {
          "edits": [
            {
              "edit": "fold",
              "range": {
                "start": 1,
                "end": 3
              },
              "with": [
                {
                  "role": "user",
                  "content": "[one]",
                  "timestamp": 0
                }
              ]
            }
          ]
        }
      }
    }
    "#);
    let mut json = serde_json::to_value(&event).unwrap();
    json["block"]["unknown"] = json!(1);
    assert!(serde_json::from_value::<BlockEvent<'static>>(json).is_err());
}

#[test]
fn many_messages_under_fifty_blocks_are_projected() {
    let n = 4_000;
    let log: Vec<Message> = (0..n / 4).flat_map(|_| script("u a:read t a")).collect();
    let mut overlay = Overlay::new();
    for block in 0..50 {
        let projection = overlay.project(&log).unwrap();
        // Each folds to three messages, so that there are ever more runs, and cuts a body near the end.
        let (start, at) = (block * 3, projection.len() - 1 - 4 * block);
        let with = ["[a]", "[b]", "[c]"].map(Message::user).to_vec();
        let fold = Edit::Fold { range: start..start + 40, with };
        let patch = Patch::new(vec![fold, Edit::Body { at, content: vec![Block::text("[cut]")] }]);
        let plan = projection.plan(overlay.next_id(), super::world::author(), 0, patch);
        let sealed = overlay.seal(&log, plan, &TokenHeuristic::DEFAULT).unwrap();
        overlay.apply(&log, sealed).unwrap();
    }
    let projection = overlay.project(&log).unwrap();
    assert_eq!(projection.len(), n - 50 * 40 + 150);
    let n_new = projection.messages.iter().filter(|message| matches!(message, Cow::Owned(_))).count();
    assert_eq!((n_new, overlay.active().count()), (50, 50));
    assert_eq!(projection.explain(n / 2), Some(Explanation::Visible { at: 150, changed_by: vec![] }));
}
