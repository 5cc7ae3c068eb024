//! Forgets lines that do not hold any more. The names that stood in them stay.

use wb_message::pairing::id_key;

use super::lines::{line_number, number_bytes};
use super::mentions::{Mention, Mentions, Span, length};
use super::names::each_name;

impl Mentions {
    /// Forgets the lines that hold one of those that were replaced.
    pub(crate) fn replaced(&mut self, gone: &[String]) {
        let mut stale = Vec::new();
        for line in gone {
            each_name(line, |at| {
                let known = self.places.get(&id_key(&line[at])).and_then(|at| self.kept.get(*at as usize));
                if let Some(mention) =
                    known.filter(|it| it.line.1 > 0 && self.at(it.line).contains(line.as_str()))
                {
                    stale.push(mention.line);
                }
            });
        }
        if !stale.is_empty() {
            for mention in self.kept.iter_mut().filter(|mention| stale.contains(&mention.line)) {
                mention.line = Span::default();
            }
        }
    }

    /// Forgets the lines that are such; the names stay.
    pub(crate) fn overtake_lines(&mut self, is_such: impl Fn(&str) -> bool) {
        // Names of one line mostly stand next to each other.
        let (mut last, mut is_gone) = (Span::default(), false);
        for at in 0..self.kept.len() {
            let line = self.kept[at].line;
            if line != last {
                (last, is_gone) = (line, line.1 > 0 && is_such(self.at(line)));
            }
            if is_gone {
                self.kept[at].line = Span::default();
            }
        }
    }

    /// Takes the numbers from the lines of messages that showed a file, from a number on: they do not hold any more.
    pub(crate) fn unnumber(&mut self, messages: &[u32], from: u32) {
        for mention in with_lines(&mut self.kept, messages) {
            let Span(start, n_bytes) = mention.line;
            let line =
                self.text.get(start as usize..start as usize + usize::from(n_bytes)).unwrap_or_default();
            if line_number(line).is_some_and(|number| number >= from) {
                let number = length(number_bytes(line));
                mention.line = Span(start + u32::from(number), n_bytes - number);
            }
        }
    }

    /// Forgets the lines of messages that do not hold any more; the names stay.
    pub(crate) fn overtake(&mut self, messages: &[u32]) {
        for mention in with_lines(&mut self.kept, messages) {
            mention.line = Span::default();
        }
    }
}

/// Visits the mentions whose lines were kept of these messages.
fn with_lines<'m>(kept: &'m mut [Mention], messages: &'m [u32]) -> impl Iterator<Item = &'m mut Mention> {
    let kept = if messages.is_empty() { &mut [] } else { kept };
    let oldest = messages.iter().copied().min().unwrap_or(u32::MAX);
    let is_of = move |at: u32| at >= oldest && messages.contains(&at);
    kept.iter_mut().filter(move |it| it.line.1 > 0 && is_of(it.message))
}
