//! Blocks over sessions that are rewritten and over sessions that only grow: how they nest, what
//! each hides, and what becomes of that when operations are undone and redone.

use std::collections::HashSet;

use wb_message::markers::DIGEST_HEADER;
use wb_message::{Edit, Message, Patch};
use wb_record::{
    Blocks, ChangeSet, CompactionBlock, Document, Explanation, History, MemoryParts, OperationKind,
    RecordRef, Stamp, items,
};

use crate::support::of_parts;

/// A session in memory with its list of operations.
struct World {
    document: Box<dyn Document>,
    history: History,
    is_pi: bool,
    now_ms: i64,
    n_said: usize,
}

impl World {
    fn new(is_pi: bool, n_messages: usize) -> Self {
        let head = if is_pi { pi_header() } else { native_header() };
        let first = if is_pi { pi_entry(0, "null") } else { native_line(0) };
        let document = of_parts(MemoryParts::from_bytes(head + &first));
        let history = History::open(Box::new(MemoryParts::default())).unwrap();
        let mut world = Self { document, history, is_pi, now_ms: 0, n_said: 1 };
        (1..n_messages).for_each(|_| world.say());
        world
    }

    /// Appends a message as the agent does.
    fn say(&mut self) {
        let end = self.document.parts().len("").unwrap().unwrap();
        let line = if self.is_pi { pi_entry(self.n_said, &self.leaf()) } else { native_line(self.n_said) };
        self.document.parts_mut().commit(&ChangeSet::append("", end, line.into_bytes())).unwrap();
        self.document.refresh().unwrap();
        self.n_said += 1;
    }

    fn leaf(&self) -> String {
        let text = String::from_utf8(self.document.parts().whole("").unwrap()).unwrap();
        let last: serde_json::Value = serde_json::from_str(text.lines().last().unwrap()).unwrap();
        last["id"].to_string()
    }

    fn stamp(&mut self) -> Stamp {
        self.now_ms += 1_000;
        let seed = self.now_ms.unsigned_abs();
        Stamp { now_ms: self.now_ms, seed, tokens_before: 900, tokens_after: 90, by_hand: true }
    }

    /// Folds messages of the view into a digest.
    fn fold(&mut self, range: std::ops::Range<usize>) -> u64 {
        let stamp = self.stamp();
        let digest = format!("{DIGEST_HEADER}\n# Goal\nStep {}.\n# Done\n- all", self.now_ms);
        let edit = Edit::Fold { range, with: vec![Message::user(digest.as_str())] };
        let view = self.document.view("").unwrap();
        let patch = Patch::new(vec![edit]);
        let set = self.document.render("", &view, &items(&patch, view.messages.len()), &stamp).unwrap();
        self.history
            .change(OperationKind::Compact, self.document.as_mut(), "", &view, &set, &stamp)
            .unwrap()
            .0
    }

    fn undo(&mut self, id: Option<u64>) -> bool {
        let stamp = self.stamp();
        self.history.undo(self.document.as_mut(), id, &stamp).is_ok()
    }

    fn redo(&mut self, id: Option<u64>) -> bool {
        let stamp = self.stamp();
        self.history.redo(self.document.as_mut(), id, &stamp).is_ok()
    }

    fn n_messages(&self) -> usize {
        self.document.view("").unwrap().messages.len()
    }

    /// Returns the records of the view.
    fn visible_records(&self) -> Vec<RecordRef> {
        let view = self.document.view("").unwrap();
        let spans = (0..view.messages.len()).flat_map(|at| view.provenance.places(at));
        let kept = |span: &wb_record::Span| RecordRef {
            span: span.clone(),
            hash: self.document.parts().fingerprint(span).unwrap(),
        };
        spans.map(|place| kept(&place.record)).collect()
    }

    fn explain(&self, record: &RecordRef) -> Explanation {
        let view = self.document.view("").unwrap();
        Blocks::new(&self.history).explain(self.document.parts(), &view, record).unwrap()
    }
}

fn native_header() -> String {
    "{\"type\":\"window-budget\",\"version\":1}\n".to_owned()
}

fn native_line(n: usize) -> String {
    format!("{}\n", serde_json::json!({"role": "user", "content": format!("message {n}")}))
}

fn pi_header() -> String {
    "{\"type\":\"session\",\"version\":3,\"id\":\"s\",\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"cwd\":\"/\"}\n"
        .to_owned()
}

fn pi_entry(n: usize, parent: &str) -> String {
    let message = serde_json::json!({"role": "user", "content": format!("message {n}"), "timestamp": n});
    format!(
        "{{\"type\":\"message\",\"id\":\"{n:08x}\",\"parentId\":{parent},\"timestamp\":\"2026-01-01T00:00:00.000Z\",\"message\":{message}}}\n"
    )
}

fn hashes(records: &[RecordRef]) -> HashSet<u64> {
    records.iter().map(|it| it.hash).collect()
}

#[test]
fn a_block_over_another_one_hides_what_that_hid_and_gives_it_back() {
    for is_pi in [false, true] {
        let mut world = World::new(is_pi, 6);
        let all = world.visible_records();
        let first = world.fold(0..3);
        let digest = world.visible_records()[0].clone();
        world.say();
        let second = world.fold(0..2);
        let blocks = Blocks::new(&world.history);
        let parents: Vec<_> = blocks.iter().map(|block| block.parents.clone()).collect();
        assert_eq!(parents, [vec![], vec![first]]);
        let view = world.document.view("").unwrap();
        let titles: Vec<_> = blocks.sections(&view, second).into_iter().map(|it| it.heading).collect();
        assert_eq!(titles, ["Goal", "Done"]);
        assert_eq!(blocks.sections(&view, first), [], "its digest is folded");
        assert_eq!(world.explain(&all[0]), Explanation::Hidden { by: vec![first, second] });
        assert_eq!(world.explain(&all[3]), Explanation::Hidden { by: vec![second] });
        assert_eq!(world.explain(&digest), Explanation::Hidden { by: vec![second] });
        assert_eq!(world.explain(&all[4]), Explanation::Seen { at: 1, brought_by: None });
        assert!(world.undo(None));
        assert_eq!(world.explain(&all[0]), Explanation::Hidden { by: vec![first] });
        assert_eq!(world.explain(&digest), Explanation::Seen { at: 0, brought_by: Some(first) });
        assert!(world.undo(None));
        assert_eq!(world.explain(&all[0]), Explanation::Seen { at: 0, brought_by: None });
        assert_eq!(world.explain(&digest), Explanation::Outside);
        assert!(Blocks::new(&world.history).iter().all(|block| !block.is_in_force));
    }
}

#[test]
fn adjacent_blocks_have_no_parents() {
    let mut world = World::new(false, 9);
    let all = world.visible_records();
    let (head, middle) = (world.fold(0..2), world.fold(3..5));
    let blocks = Blocks::new(&world.history);
    assert!(blocks.iter().all(|block| block.parents.is_empty()));
    let covered = |id| blocks.get(id).unwrap().covers.iter().map(|it| it.hash).collect::<Vec<_>>();
    assert_eq!(covered(head), [all[0].hash, all[1].hash]);
    assert_eq!(covered(middle), [all[4].hash, all[5].hash]);
    assert_eq!(world.explain(&all[4]), Explanation::Hidden { by: vec![middle] });
    assert_eq!(world.explain(&all[8]), Explanation::Seen { at: 6, brought_by: None });
}

#[test]
fn equal_messages_are_distinguished_by_their_position() {
    let mut world = World::new(false, 1);
    let again = "{\"role\":\"user\",\"content\":\"go on\"}\n";
    for _ in 0..4 {
        let end = world.document.parts().len("").unwrap().unwrap();
        world.document.parts_mut().commit(&ChangeSet::append("", end, again.into())).unwrap();
        world.document.refresh().unwrap();
    }
    let all = world.visible_records();
    let id = world.fold(1..3);
    for (record, is_hidden) in all.iter().zip([false, true, true, false, false]) {
        let is_now = matches!(world.explain(record), Explanation::Hidden { by } if by == [id]);
        assert_eq!(is_now, is_hidden);
    }
}

/// Numbers that look random, the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(self.0 >> 33).unwrap() % n.max(1)
    }
}

/// Compares the blocks with what follows from the bytes alone, which all differ here.
fn check(world: &World, has_copies: bool) {
    let blocks: Vec<CompactionBlock<'_>> = Blocks::new(&world.history).iter().cloned().collect();
    let of = |records: &[&RecordRef]| records.iter().map(|it| it.hash).collect::<HashSet<u64>>();
    for (nth, block) in blocks.iter().enumerate() {
        let id = block.operation.id;
        let (before, after) = (hashes(&block.operation.before), hashes(world.history.records_after(id)));
        assert_eq!(of(&block.covers), &before - &after);
        assert_eq!(of(&block.brought), &after - &before);
        assert_eq!(block.is_in_force, !world.history.is_undone(id));
        let is_parent = |it: &&CompactionBlock<'_>| !of(&it.brought).is_disjoint(&of(&block.covers));
        let parents: Vec<u64> = blocks[..nth].iter().filter(is_parent).map(|it| it.operation.id).collect();
        assert_eq!(block.parents, parents);
    }
    let met =
        world.history.operations().flat_map(|it| it.before.iter().chain(world.history.records_after(it.id)));
    let seen = hashes(&world.visible_records());
    for record in met {
        match world.explain(record) {
            Explanation::Seen { .. } => assert!(seen.contains(&record.hash)),
            Explanation::Hidden { by } => {
                assert!(!seen.contains(&record.hash));
                let mut hidden = HashSet::from([record.hash]);
                for id in by {
                    let block = blocks.iter().find(|block| block.operation.id == id).unwrap();
                    assert!(block.is_in_force && !of(&block.covers).is_disjoint(&hidden));
                    hidden = of(&block.brought);
                }
                assert!(has_copies || !hidden.is_disjoint(&seen), "what stands for it is seen");
            }
            Explanation::Outside => {
                assert!(!seen.contains(&record.hash));
                let is_brought =
                    blocks.iter().any(|it| !it.is_in_force && of(&it.brought).contains(&record.hash));
                assert!(is_brought || has_copies, "an undo took it away or wrote it again");
            }
        }
    }
}

#[test]
fn blocks_say_what_the_bytes_say_after_any_chain_of_operations() {
    let (mut n_undone, mut n_redone, mut n_nested) = (0, 0, 0);
    for seed in 0..60 {
        let (mut dice, is_pi) = (Dice(seed), seed % 2 == 0);
        let mut world = World::new(is_pi, 5);
        let mut has_copies = false;
        for _ in 0..14 {
            let (n, n_operations) = (world.n_messages(), world.history.operations().count());
            let any = |dice: &mut Dice| u64::try_from(1 + dice.below(n_operations)).unwrap();
            match dice.below(9) {
                0..3 if n > 2 => {
                    let start = if is_pi { 0 } else { dice.below(n - 2) };
                    world.fold(start..start + 2 + dice.below(n - start - 2));
                }
                3 | 4 => {
                    let id = (dice.below(3) == 0).then(|| any(&mut dice));
                    let len = world.document.parts().len("").unwrap();
                    n_undone += usize::from(world.undo(id));
                    has_copies |= is_pi && world.document.parts().len("").unwrap() > len;
                }
                5 | 6 => {
                    let id = (dice.below(3) == 0).then(|| any(&mut dice));
                    n_redone += usize::from(world.redo(id));
                }
                _ => world.say(),
            }
            check(&world, has_copies);
        }
        n_nested += Blocks::new(&world.history).iter().filter(|block| !block.parents.is_empty()).count();
    }
    assert!(n_undone > 50 && n_redone > 20 && n_nested > 50, "{n_undone} {n_redone} {n_nested}");
}
