//! The words of each message, and how well messages match a question.

use crate::word_hashes::{HASH_BITS, each_word};

/// The bits of an entry below the hash: how often the message has the word.
const COUNT_BITS: u32 = u32::BITS - HASH_BITS;
const MOST_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// The weights of BM25 (Robertson and Zaragoza, 2009): saturation of repeated words and the share
/// of the length.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The words of messages: for each message a run of hashes with their counts.
///
/// A search compares each word with all entries. That needs no table of words, which would be
/// larger than the runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordIndex {
    entries: Vec<u32>,
    ends: Vec<usize>,
    /// The number of words of each message.
    lengths: Vec<u32>,
    n_words: u64,
    /// The entries of the message that is being read, by hash.
    slots: Vec<Slot>,
    n_read: u32,
}

/// The entry of a word, if it is of the message of that number.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    /// The number of the message plus one.
    message: u32,
    entry: u32,
}

/// The slots that a message has at first.
const LEAST_SLOTS: usize = 1 << 12;

/// A message that has words of a question.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Match {
    pub(crate) message: usize,
    pub(crate) score: f32,
    /// True if it has all words.
    pub(crate) has_all: bool,
}

impl WordIndex {
    /// Adds the next message.
    pub(crate) fn push<'t>(&mut self, texts: impl IntoIterator<Item = &'t str>) {
        self.n_read = self.n_read.saturating_add(1);
        let (start, mut length) = (self.entries.len(), 0_u32);
        texts.into_iter().for_each(|text| {
            each_word(text, |word| {
                length = length.saturating_add(1);
                self.count_in(start, word);
            });
        });
        self.ends.push(self.entries.len());
        self.lengths.push(length);
        self.n_words += u64::from(length);
    }

    /// Counts a word of the message whose entries begin at `start`.
    fn count_in(&mut self, start: usize, word: u32) {
        if (self.entries.len() - start) * 2 >= self.slots.len() {
            self.grow(start);
        }
        let at = self.slot_of(word);
        let slot = &mut self.slots[at];
        if slot.message == self.n_read {
            let entry = &mut self.entries[slot.entry as usize];
            *entry += u32::from(*entry & MOST_COUNT < MOST_COUNT);
            return;
        }
        *slot = Slot { message: self.n_read, entry: u32::try_from(self.entries.len()).unwrap_or(u32::MAX) };
        self.entries.push(word << COUNT_BITS | 1);
    }

    /// Returns the slot with the word of this message, or the free one for it.
    fn slot_of(&self, word: u32) -> usize {
        let mask = self.slots.len() - 1;
        let mut at = word as usize & mask;
        loop {
            let slot = self.slots[at];
            if slot.message != self.n_read || self.entries[slot.entry as usize] >> COUNT_BITS == word {
                return at;
            }
            at = (at + 1) & mask;
        }
    }

    /// Doubles the slots of a message with many words.
    fn grow(&mut self, start: usize) {
        let n_slots = (self.slots.len() * 2).max(LEAST_SLOTS);
        self.slots = vec![Slot::default(); n_slots];
        for entry in start..self.entries.len() {
            let at = self.slot_of(self.entries[entry] >> COUNT_BITS);
            self.slots[at] = Slot { message: self.n_read, entry: u32::try_from(entry).unwrap_or(u32::MAX) };
        }
    }

    /// Returns the bytes that the index takes.
    pub(crate) fn n_bytes(&self) -> usize {
        size_of_val(self.entries.as_slice())
            + size_of_val(self.ends.as_slice())
            + size_of_val(self.lengths.as_slice())
    }

    /// Returns the messages that have any of the words, and the weight of each word.
    pub(crate) fn matches(&self, words: &[u32]) -> (Vec<Match>, Vec<f32>) {
        let mut counts = Vec::new();
        let mut n_with = vec![0_u32; words.len()];
        for message in 0..self.ends.len() {
            let first = counts.len();
            counts.extend(words.iter().map(|word| self.count(message, *word)));
            let found = &counts[first..];
            if found.iter().all(|count| *count == 0) {
                counts.truncate(first);
                continue;
            }
            n_with.iter_mut().zip(found).for_each(|(n, count)| *n += u32::from(*count > 0));
            counts.push(u32::try_from(message).unwrap_or(u32::MAX));
        }
        let weights: Vec<f32> = n_with.iter().map(|n| self.weight(*n)).collect();
        let matches = counts.chunks_exact(words.len() + 1).map(|row| self.scored(row, &weights)).collect();
        (matches, weights)
    }

    fn scored(&self, row: &[u32], weights: &[f32]) -> Match {
        let (message, counts) = row.split_last().unwrap_or((&0, &[]));
        let message = *message as usize;
        let average = self.n_words as f32 / self.ends.len().max(1) as f32;
        let length = self.lengths[message] as f32 / average.max(1.0);
        let of = |(count, weight): (&u32, &f32)| {
            let count = *count as f32;
            weight * count * (K1 + 1.0) / (count + K1 * (1.0 - B + B * length))
        };
        let score = counts.iter().zip(weights).map(of).sum();
        Match { message, score, has_all: counts.iter().all(|count| *count > 0) }
    }

    /// Returns how rare a word is.
    fn weight(&self, n_with: u32) -> f32 {
        let (n, n_with) = (self.ends.len() as f32, n_with as f32);
        ((n - n_with + 0.5) / (n_with + 0.5)).ln_1p()
    }

    fn count(&self, message: usize, word: u32) -> u32 {
        let start = message.checked_sub(1).map_or(0, |before| self.ends[before]);
        let run = &self.entries[start..self.ends[message]];
        // At most one entry has the word; a sum is found faster than the entry.
        run.iter().map(|entry| if entry >> COUNT_BITS == word { entry & MOST_COUNT } else { 0 }).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::word_hashes::words_of;

    #[test]
    fn rare_words_and_short_messages_score_higher() {
        let mut index = WordIndex::default();
        for text in ["the port of the server", "the server, the server and the rest of it all", "the end", ""]
        {
            index.push([text]);
        }
        let (matches, weights) = index.matches(&words_of("port the"));
        assert!(weights[0] > weights[1]);
        let best = matches.iter().max_by(|one, two| one.score.total_cmp(&two.score)).unwrap();
        assert_eq!((best.message, best.has_all, matches.len()), (0, true, 3));
    }
}
