//! The words of each message, and how well messages match a question.

use crate::words::{HASH_BITS, each_word};

/// The bits of an entry below the hash: how often the message has the word.
const COUNT_BITS: u32 = u32::BITS - HASH_BITS;
const MOST_COUNT: u32 = (1 << COUNT_BITS) - 1;

/// The weights of BM25 (Robertson and Zaragoza, 2009): saturation of repeated words and the share
/// of the length.
const K1: f32 = 1.2;
const B: f32 = 0.75;

/// The words of messages: for each message a sorted run of hashes with their counts.
///
/// A search looks up each word in each run. That is linear in the messages and needs no table of
/// words, which would be larger than the runs.
#[derive(Clone, Debug, Default)]
pub(crate) struct WordIndex {
    entries: Vec<u32>,
    ends: Vec<usize>,
    /// The number of words of each message.
    lengths: Vec<u32>,
    n_words: u64,
    scratch: Vec<u32>,
}

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
        let words = &mut self.scratch;
        words.clear();
        texts.into_iter().for_each(|text| each_word(text, |word| words.push(word)));
        words.sort_unstable();
        for run in words.chunk_by(|one, other| one == other) {
            let count = u32::try_from(run.len()).unwrap_or(MOST_COUNT).min(MOST_COUNT);
            self.entries.push(run[0] << COUNT_BITS | count);
        }
        self.ends.push(self.entries.len());
        self.lengths.push(u32::try_from(words.len()).unwrap_or(u32::MAX));
        self.n_words += words.len() as u64;
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
        let at = run.partition_point(|entry| entry >> COUNT_BITS < word);
        run.get(at).filter(|entry| **entry >> COUNT_BITS == word).map_or(0, |entry| entry & MOST_COUNT)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::words_of;

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
