//! The weights of traits, as a table that the compiler fills from `weights.txt`.

use super::{Fnv, Trait, pair};

const TEXT: &[u8] = include_bytes!("weights.txt");

/// A power of two, so that the table is at most two thirds full.
const N_SLOTS: usize = 1 << 15;

/// Each trait with its weight, in the first free slot from that of its hash on; 0 is a free slot.
struct Table {
    traits: [Trait; N_SLOTS],
    weights: [i16; N_SLOTS],
}

static WEIGHTS: Table = table();

/// Returns the weight of a trait.
pub(super) fn weight(of: Trait) -> i32 {
    i32::from(WEIGHTS.weights[slot(&WEIGHTS.traits, of)])
}

/// Returns the index of a trait, or of the free slot for it.
#[expect(clippy::cast_possible_truncation, reason = "the lower bits choose the slot")]
const fn slot(traits: &[Trait; N_SLOTS], of: Trait) -> usize {
    let mut at = (of ^ (of >> 32)) as usize % N_SLOTS;
    while traits[at] != of && traits[at] != 0 {
        at = (at + 1) % N_SLOTS;
    }
    at
}

/// Reads the lines of the file: a weight, and the names of the traits that have it.
#[expect(clippy::large_stack_arrays, reason = "it runs in the compiler alone")]
const fn table() -> Table {
    let mut table = Table { traits: [0; N_SLOTS], weights: [0; N_SLOTS] };
    let (mut at, mut weight, mut n_traits) = (0, None, 0);
    while at < TEXT.len() {
        let start = at;
        while TEXT[at] != b' ' && TEXT[at] != b'\n' {
            at += 1;
        }
        match weight {
            None => weight = Some(number(start, at)),
            Some(weight) => {
                let of = named(start, at);
                let free = slot(&table.traits, of);
                table.traits[free] = of;
                table.weights[free] = weight;
                n_traits += 1;
            }
        }
        if TEXT[at] == b'\n' {
            weight = None;
        }
        at += 1;
    }
    assert!(n_traits * 3 <= N_SLOTS * 2, "the table needs more slots");
    table
}

const fn number(mut start: usize, end: usize) -> i16 {
    let is_negative = TEXT[start] == b'-';
    start += is_negative as usize;
    let mut value = 0;
    while start < end {
        value = value * 10 + (TEXT[start] - b'0') as i16;
        start += 1;
    }
    if is_negative { -value } else { value }
}

/// Returns the trait of a name: of a word, or of two as `+one+two`.
const fn named(start: usize, end: usize) -> Trait {
    let mut middle = start + 1;
    while TEXT[start] == b'+' && middle < end && TEXT[middle] != b'+' {
        middle += 1;
    }
    if TEXT[start] == b'+' && middle < end {
        pair(hash(start + 1, middle), hash(middle + 1, end))
    } else {
        hash(start, end)
    }
}

const fn hash(mut start: usize, end: usize) -> u64 {
    let mut hash = Fnv::EMPTY;
    while start < end {
        hash = hash.push(TEXT[start]);
        start += 1;
    }
    hash.0
}
