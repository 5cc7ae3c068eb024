//! What holds of a window after any sequence of calls.

use std::collections::HashSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::Index;
use wb_budget::{ContextWindow, WindowMessage};
use wb_message::pairing::CallAt;
use wb_message::{Message, Pairing};
use wb_testkit::{laws, strategies};

/// A message that is told apart from its equals.
#[derive(Clone, Debug, PartialEq)]
struct Tagged {
    tag: usize,
    message: Message,
}

impl WindowMessage for Tagged {
    fn call_ids(&self) -> impl Iterator<Item = &str> {
        WindowMessage::call_ids(&self.message)
    }

    fn answered_ids(&self) -> impl Iterator<Item = &str> {
        self.message.answered_ids()
    }

    fn is_pinned(&self) -> bool {
        WindowMessage::is_pinned(&self.message)
    }
}

/// One call; indices are taken modulo what there is.
#[derive(Clone, Debug)]
enum Op {
    /// Pushes the pool's next messages in order, so that pairs arise.
    Push(usize, u32),
    Protect(Index),
    Unprotect(Index),
    ProtectRecent(usize),
    Update(Index, u32),
    /// Inserts the pool's next message, whose calls and results are paired where they stand then.
    InsertSummary(u32),
    Compact,
    ForceFit,
    TryForceFit,
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        8 => (1..12_usize, 0..100_u32).prop_map(|(n, tokens)| Op::Push(n, tokens)),
        2 => any::<Index>().prop_map(Op::Protect),
        2 => any::<Index>().prop_map(Op::Unprotect),
        2 => (0..9_usize).prop_map(Op::ProtectRecent),
        1 => (any::<Index>(), 0..3_000_u32).prop_map(|(at, tokens)| Op::Update(at, tokens)),
        1 => (0..100_u32).prop_map(Op::InsertSummary),
        2 => Just(Op::Compact),
        4 => Just(Op::ForceFit),
        2 => Just(Op::TryForceFit),
    ]
}

/// A window beside what its messages' tags were told.
struct Bed {
    window: ContextWindow<Tagged>,
    pool: std::vec::IntoIter<Message>,
    n_tags: usize,
    kept: HashSet<usize>,
    exempt: HashSet<usize>,
    n_recent: usize,
}

impl Bed {
    fn tagged(&mut self, message: Message) -> Tagged {
        self.n_tags += 1;
        Tagged { tag: self.n_tags, message }
    }

    fn push(&mut self, n: usize, tokens: u32) {
        for message in self.pool.by_ref().take(n).collect::<Vec<_>>() {
            let tagged = self.tagged(message);
            if tagged.is_pinned() {
                self.kept.insert(tagged.tag);
            }
            self.window.push(tagged, tokens);
        }
    }

    fn tag(&self, at: Index) -> Option<(usize, usize)> {
        let at = at.index(self.window.len().max(1));
        Some((at, self.window.iter().nth(at)?.tag))
    }

    fn does(&mut self, op: &Op) {
        match op {
            Op::Push(n, tokens) => self.push(*n, *tokens),
            Op::Protect(at) => {
                let Some((at, tag)) = self.tag(*at) else { return };
                self.window.protect(at);
                self.kept.insert(tag);
            }
            Op::Unprotect(at) => {
                let Some((at, tag)) = self.tag(*at) else { return };
                self.window.unprotect(at);
                self.kept.remove(&tag);
                self.exempt.insert(tag);
            }
            Op::ProtectRecent(n) => {
                self.window.protect_recent(*n);
                self.n_recent = *n;
                for message in self.window.iter().rev().take(*n) {
                    self.exempt.remove(&message.tag);
                }
            }
            Op::Update(at, tokens) => {
                let Some((at, _)) = self.tag(*at) else { return };
                self.window.update_token_count(at, *tokens);
            }
            Op::InsertSummary(tokens) => {
                let Some(message) = self.pool.next() else { return };
                let summary = self.tagged(message);
                self.window.insert_summary(summary, *tokens);
            }
            Op::Compact => self.removes(|window| Some(window.compact()), u64::MAX),
            Op::ForceFit => self.removes(|window| Some(window.force_fit()), excess(&self.window)),
            Op::TryForceFit => self.try_force_fit(),
        }
    }

    /// Checks one removal against the naive walk.
    fn removes(&mut self, remove: impl Fn(&mut ContextWindow<Tagged>) -> Option<Vec<Tagged>>, excess: u64) {
        let before = self.window.clone();
        let stays = naive(&before, excess);
        let removed = remove(&mut self.window).unwrap();
        let (mut gone, mut here) = (removed.iter(), self.window.iter());
        for (message, stays) in before.iter().zip(stays) {
            let next = if stays { here.next() } else { gone.next() };
            assert_eq!(next, Some(message));
        }
        assert_eq!((gone.next(), here.next()), (None, None));
        assert!(removed.iter().all(|message| !self.kept.contains(&message.tag)));
        laws::pairs_intact(&plain(&before), &plain(&self.window));
    }

    fn try_force_fit(&mut self) {
        let mut forced = self.window.clone();
        forced.force_fit();
        if forced.needs_compaction(1.0) {
            let before = self.window.messages_owned();
            let why = self.window.try_force_fit().unwrap_err();
            assert_eq!(why.target_tokens, u64::from(self.window.input_budget()));
            assert_eq!(why.reached_tokens, sum(&forced));
            assert_eq!(self.window.messages_owned(), before);
            assert!(forced.compact().is_empty(), "nothing more could go");
        } else {
            self.removes(|window| window.try_force_fit().ok(), excess(&self.window));
        }
    }

    fn agrees(&self) {
        let total = sum(&self.window);
        assert_eq!(u64::from(self.window.total_tokens()), total);
        assert_eq!(self.window.needs_compaction(1.0), total > u64::from(self.window.input_budget()));
        let n = self.window.len();
        for (at, message) in self.window.iter().enumerate() {
            let is_recent = at + self.n_recent >= n && !self.exempt.contains(&message.tag);
            let expected = self.kept.contains(&message.tag) || is_recent;
            assert_eq!(self.window.is_protected(at), expected, "{at}");
        }
    }
}

fn plain(window: &ContextWindow<Tagged>) -> Vec<Message> {
    window.iter().map(|tagged| tagged.message.clone()).collect()
}

fn sum(window: &ContextWindow<Tagged>) -> u64 {
    (0..window.len()).map(|at| u64::from(window.token_count(at))).sum()
}

fn excess(window: &ContextWindow<Tagged>) -> u64 {
    sum(window).saturating_sub(u64::from(window.input_budget()))
}

/// Tells of each message whether it stays, by looking for the oldest group again and again.
fn naive(window: &ContextWindow<Tagged>, excess: u64) -> Vec<bool> {
    let messages = plain(window);
    let pairing = Pairing::of(&messages);
    let last_caller = messages.iter().rposition(|message| message.calls().next().is_some());
    let in_flight = |call: &CallAt| Some(call.message as usize) == last_caller;
    let mut holds: Vec<bool> = (0..messages.len()).map(|at| window.is_protected(at)).collect();
    for call in pairing.dangling().iter().filter(|call| in_flight(call)) {
        holds[call.message as usize] = true;
    }
    let (mut stays, mut gone) = (vec![true; messages.len()], 0);
    for at in 0..messages.len() {
        let group = naive_group(&pairing, at);
        if gone < excess && stays[at] && !group.iter().any(|&member| holds[member]) {
            for member in group {
                stays[member] = false;
                gone += u64::from(window.token_count(member));
            }
        }
    }
    stays
}

fn naive_group(pairing: &Pairing, at: usize) -> HashSet<usize> {
    let mut group = HashSet::from([at]);
    loop {
        let before = group.len();
        for pair in pairing.pairs() {
            let ends = [pair.call.message as usize, pair.result as usize];
            if ends.iter().any(|end| group.contains(end)) {
                group.extend(ends);
            }
        }
        if group.len() == before {
            return group;
        }
    }
}

proptest! {
    #[test]
    fn after_any_calls_sums_pairs_order_and_protection_are_right(
        pool in strategies::transcript(),
        budget in 1..1_500_u32,
        ops in vec(op(), 1..32),
    ) {
        let mut bed = Bed {
            window: ContextWindow::new(budget, 0),
            pool: pool.into_iter(),
            n_tags: 0,
            kept: HashSet::new(),
            exempt: HashSet::new(),
            n_recent: 0,
        };
        for op in &ops {
            bed.does(op);
            bed.agrees();
        }
    }

    #[test]
    fn after_a_removal_there_is_nothing_left_for_a_second_one(
        pool in strategies::transcript(),
        budget in 1..1_500_u32,
        n_recent in 0..6_usize,
    ) {
        let mut window = ContextWindow::new(budget, 0);
        window.protect_recent(n_recent);
        for message in &pool {
            window.push(message.clone(), 50);
        }
        window.force_fit();
        prop_assert!(window.force_fit().is_empty());
        if window.needs_compaction(1.0) {
            prop_assert!(window.clone().compact().is_empty());
        }
        window.compact();
        prop_assert!(window.compact().is_empty());
        let recent = &pool[pool.len().saturating_sub(n_recent)..];
        prop_assert!(window.messages_owned().ends_with(recent));
    }
}
