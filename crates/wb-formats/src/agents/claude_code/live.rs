//! The lines that the model sees, in order.

use std::collections::HashSet;
use std::io;
use std::ops::Range;

use super::body::Bodies;
use super::head::{Kind, Origin};
use super::line_maps::LineSet;
use super::rows::Rows;

/// The lines between two compactions or clearings.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct SegmentLines {
    pub(crate) lines: Range<usize>,
    /// The last line before the end that the conversation continues from.
    tip: Option<usize>,
}

/// The lines of one conversation in the order in which the model sees them.
#[derive(Debug, Default)]
pub(crate) struct Live {
    pub(crate) order: Vec<usize>,
    /// The line that the conversation continues from.
    pub(crate) tip: Option<usize>,
    /// The tokens before the compaction that they follow.
    pub(crate) tokens_before: Option<u64>,
    /// Lines of the conversation that the user went back over.
    pub(crate) n_abandoned: usize,
    /// The last line whose parent is not in the file: the agent may see nothing before it.
    pub(crate) lost: Option<usize>,
    /// The last line that follows a copy of a summarized one, and the last line before the copies.
    pub(crate) on_copy: Option<(usize, usize)>,
}

/// A walk from a line to its root or to a compaction.
#[derive(Debug, Default)]
struct Path<'a> {
    /// The lines that were passed, the last first.
    passed: Vec<usize>,
    boundary: Option<usize>,
    /// Lines that the compaction kept, and those after them that the user went back over.
    kept: &'a [usize],
    left: &'a [usize],
}

impl Rows {
    /// Returns the segments between compactions and clearings.
    pub(crate) fn segment_lines(&self) -> Vec<SegmentLines> {
        let (mut segment_lines, mut start, mut tip) = (Vec::new(), 0, None);
        for at in 0..self.all.len() {
            if matches!(self.all[at].kind, Kind::Compaction(_) | Kind::Clearing) && self.is_main(at) {
                segment_lines.push(SegmentLines { lines: start..at, tip });
                start = at;
            }
            if self.is_main_chat(at) || self.is_restored(at) {
                tip = Some(at);
            }
        }
        segment_lines.push(SegmentLines { lines: start..self.all.len(), tip });
        segment_lines
    }

    /// Returns whether a compaction has no digest, so that only the lines that it keeps remain.
    fn is_restored(&self, at: usize) -> bool {
        let is_own = |anchor: &String| self.all[at].uuid.as_deref() == Some(anchor);
        self.boundary(at).is_some_and(|it| !it.kept.is_empty() && it.anchor.as_ref().is_some_and(is_own))
    }

    /// Returns the conversation at the end of a segment.
    ///
    /// The walk from its tip to the root decides; parallel tool results and the other lines of an
    /// answer hang next to it and are added. A file whose lines name no parents is read in its
    /// order.
    pub(crate) fn live(&self, segment: &SegmentLines, bodies: &mut Bodies<'_>) -> io::Result<Live> {
        let Some(tip) = segment.tip else { return Ok(Live::default()) };
        let path = if self.has_links { self.walk(tip) } else { self.in_order(tip) };
        let lines = path.boundary.map_or(0, |at| at + 1)..segment.lines.end;
        let n_chat = lines.clone().filter(|at| self.is_main_chat(*at)).count();
        let (order, kept) = self.with_siblings(&path, lines, bodies)?;
        let n_abandoned = n_chat - order.iter().filter(|at| self.is_main_chat(**at)).count();
        let boundary = path.boundary.filter(|at| !self.is_restored(*at));
        let tokens_before = boundary.and_then(|at| self.boundary(at)).map(|it| it.tokens_before);
        let order = self.with_kept(order, kept, path.boundary);
        let lost = path.passed.iter().copied().find(|at| self.all[*at].is_lost);
        let on_copy = self.on_copy(&path.passed);
        Ok(Live { order, tip: Some(tip), tokens_before, n_abandoned, lost, on_copy })
    }

    /// Returns the last line of a walk that follows a copy of a summarized one, and the last line
    /// before the copies.
    fn on_copy(&self, passed: &[usize]) -> Option<(usize, usize)> {
        let of_pair = |pair: &[usize]| {
            let is_pair = self.all[pair[0]].parent == Some(pair[1]);
            let behind = is_pair.then(|| self.last_before_copies(pair[0], pair[1])).flatten()?;
            Some((pair[0], behind))
        };
        passed.windows(2).find_map(of_pair)
    }

    /// Walks from a line to its root or to a compaction. A line that a compaction kept follows what
    /// precedes it there instead of its parent.
    fn walk(&self, tip: usize) -> Path<'_> {
        let mut path = Path::default();
        let (mut at, mut child) = (Some(tip), tip);
        while let Some(here) = at {
            if self.boundary(here).is_some() {
                path.kept = self.kept_lines(here);
                return Path { boundary: Some(here), ..path };
            }
            if let Some((boundary, n)) = self.kept_between(here, child) {
                (path.kept, path.left) = self.kept_lines(boundary).split_at(n);
                self.walk_to(boundary, &mut path.passed);
                return Path { boundary: Some(boundary), ..path };
            }
            path.passed.push(here);
            (child, at) = (here, self.all[here].parent);
        }
        path
    }

    /// Walks from the anchor of a compaction to the compaction.
    fn walk_to(&self, boundary: usize, passed: &mut Vec<usize>) {
        let anchor = self.anchor(boundary).unwrap_or(boundary);
        let parents = std::iter::successors(Some(anchor), |at| self.all[*at].parent);
        passed.extend(parents.take_while(|at| *at > boundary));
    }

    /// Returns the last compaction between a line and its child that kept the line, and how many it
    /// kept up to it.
    fn kept_between(&self, at: usize, child: usize) -> Option<(usize, usize)> {
        let kept_by = |boundary: usize| {
            let n = self.boundary(boundary)?.kept.iter().position(|kept| *kept == at)?;
            Some((boundary, n + 1))
        };
        let first = self.boundaries.partition_point(|boundary| *boundary < at);
        let end = self.boundaries.partition_point(|boundary| *boundary < child);
        self.boundaries[first..end.max(first)].iter().rev().find_map(|boundary| kept_by(*boundary))
    }

    fn kept_lines(&self, boundary: usize) -> &[usize] {
        self.boundary(boundary).map_or(&[], |boundary| &boundary.kept)
    }

    fn anchor(&self, boundary: usize) -> Option<usize> {
        self.find(self.boundary(boundary)?.anchor.as_ref()?)
    }

    /// Takes every line of the main conversation after the last compaction.
    fn in_order(&self, tip: usize) -> Path<'_> {
        let boundary = self.boundaries.iter().copied().rfind(|at| *at <= tip && self.is_main(*at));
        let start = boundary.map_or(0, |at| at + 1);
        let kept = boundary.map_or(&[][..], |at| self.kept_lines(at));
        Path { passed: (start..=tip).rev().collect(), boundary, kept, left: &[] }
    }

    /// Adds the other lines of each answer, then the results of all its calls. Returns the lines of
    /// a range in their order, and those that the compaction kept.
    fn with_siblings(
        &self,
        path: &Path<'_>,
        lines: Range<usize>,
        bodies: &mut Bodies<'_>,
    ) -> io::Result<(Vec<usize>, Vec<usize>)> {
        let mut seen: LineSet = path.kept.iter().copied().collect();
        seen.extend(path.passed.iter().copied().filter(|at| self.is_main(*at)));
        let ids: HashSet<&str> = seen.iter().filter_map(|at| self.answer_id(*at)).collect();
        let near = || path.left.iter().copied().chain(lines.clone()).filter(|at| self.is_main(*at));
        seen.extend(near().filter(|at| self.answer_id(*at).is_some_and(|id| ids.contains(id))));
        let is_user = |at: &usize| matches!(self.all[*at].kind, Kind::User(_));
        let candidates: Vec<usize> = near().filter(|at| is_user(at) && !seen.contains(at)).collect();
        bodies.reserve(seen.len() + candidates.len());
        for at in seen.iter().chain(&candidates) {
            bodies.load(*at)?;
        }
        let calls: HashSet<&str> = seen.iter().flat_map(|at| bodies.get(*at).calls()).collect();
        let is_answer = |at: &usize| bodies.get(*at).results().any(|id| calls.contains(id));
        let answers: Vec<usize> = candidates.into_iter().filter(is_answer).collect();
        seen.extend(answers);
        let all_kept = path.kept.iter().chain(path.left).copied();
        Ok((
            lines.filter(|at| seen.contains(at)).collect(),
            all_kept.filter(|at| seen.contains(at)).collect(),
        ))
    }

    fn answer_id(&self, at: usize) -> Option<&str> {
        match &self.all[at].kind {
            Kind::Answer(answer) => answer.id.as_deref(),
            _ => None,
        }
    }

    /// Puts the lines that a compaction kept after the line that it names, or after the digest; one
    /// that it kept twice stays at its first position.
    fn with_kept(&self, mut order: Vec<usize>, mut kept: Vec<usize>, boundary: Option<usize>) -> Vec<usize> {
        let mut seen = LineSet::default();
        kept.retain(|row| order.binary_search(row).is_err() && seen.insert(*row));
        let is_digest = |row: &usize| self.all[*row].kind == Kind::User(Origin::Digest);
        let place = match boundary.and_then(|at| self.anchor(at)) {
            anchor if anchor.is_some() && anchor == boundary => 0,
            Some(anchor) if order.binary_search(&anchor).is_ok() => {
                order.partition_point(|row| *row <= anchor)
            }
            _ => order.iter().position(is_digest).map_or(0, |digest| digest + 1),
        };
        order.splice(place..place, kept);
        order
    }
}
