//! A digest as six sections of lines: parsed, merged and rendered within a size.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use wb_message::text::clip;

use crate::heading::{SECTION_TEMPLATE, heading_at};
use crate::labels::{ANSWER, DECIDED, EARLIER, FIRST, LATEST, LEFT_OUT, NOT_ALL, TURN};
use crate::shortened_entry::{shortened, size};

/// Which of the six sections a line belongs to, in the order of the headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Section {
    /// What the user wants.
    Objective,
    /// What must or must not be done.
    Guardrails,
    /// What is done, in work, in the way.
    Status,
    /// Why things are as they are.
    Rationale,
    /// What comes next.
    Plan,
    /// Everything else that is worth keeping, and what was elided.
    Carryover,
    /// What earlier digests say that is of none of the other kinds; it ends the carryover.
    Carried,
    /// The turns, the newest one first; they stand in the status, oldest first.
    Turns,
}

/// Each section, the heading that it appears under, and its share of the digest's size in percent, which it may claim
/// before others take the rest. Rows are in the order of [`Section`]; headings have the order of [`SECTION_TEMPLATE`].
const SECTIONS: [(Section, Section, usize); N_SECTIONS] = [
    (Section::Objective, Section::Objective, 32),
    (Section::Guardrails, Section::Guardrails, 10),
    (Section::Status, Section::Status, 12),
    (Section::Rationale, Section::Rationale, 4),
    (Section::Plan, Section::Plan, 6),
    (Section::Carryover, Section::Carryover, 4),
    (Section::Carried, Section::Carryover, 8),
    (Section::Turns, Section::Status, 24),
];

const N_SECTIONS: usize = 8;

/// Returns the sections with a heading, in the order of the headings.
fn headings() -> impl Iterator<Item = Section> {
    SECTIONS.into_iter().filter(|(section, heading, _)| section == heading).map(|(section, ..)| section)
}

/// Returns the share of each section, in percent.
fn shares() -> impl Iterator<Item = usize> {
    SECTIONS.into_iter().map(|(.., percent)| percent)
}

/// Entries of a section that are kept; no digest has room for more.
const MAX_ENTRIES: usize = 400;

/// The lines of a digest by section; an entry may span lines, the most important one first, of requests the newest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    entries: [Vec<String>; N_SECTIONS],
}

impl Sections {
    /// Adds an entry unless the section has it already or it is blank.
    ///
    /// Whatever it says, it reads back as one entry: a line of it that could pass for a heading or for an entry of its
    /// own becomes part of it.
    pub fn add(&mut self, section: Section, entry: impl Into<String>) {
        let entry = one_entry(entry.into());
        let known = &mut self.entries[section as usize];
        if known.len() < MAX_ENTRIES && !entry.trim().is_empty() && !known.contains(&entry) {
            known.push(entry);
        }
    }

    /// Puts an entry in front of all others of its section.
    pub fn lead(&mut self, section: Section, entry: &str) {
        self.entries[section as usize].insert(0, one_entry(entry.to_owned()));
    }

    /// Returns the entries of a section.
    pub fn entries(&self, section: Section) -> &[String] {
        &self.entries[section as usize]
    }

    /// Returns whether no section has an entry.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(Vec::is_empty)
    }

    /// Reads a digest; what stands before the first heading counts as carryover, `none` is nothing.
    ///
    /// A line that is indented continues the entry before it, whatever it says.
    pub fn parse(digest: &str) -> Self {
        let mut sections = Self::default();
        let mut current = Section::Carryover;
        for line in digest.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            if let Some(section) = heading_at(line).and_then(|at| headings().nth(at)) {
                current = section;
                continue;
            }
            let known = &mut sections.entries[current as usize];
            let is_full = known.len() == MAX_ENTRIES;
            match known.last_mut() {
                Some(last) if line.starts_with("  ") => {
                    last.push('\n');
                    last.push_str(line);
                }
                _ if line.trim_start_matches("- ").eq_ignore_ascii_case("none") => {}
                _ if is_full => {}
                _ => known.push(line.to_owned()),
            }
        }
        sections.part_turns();
        reverse_dated(&mut sections.entries);
        sections
    }

    /// Puts the entries on turns apart from the rest of the status, the newest one first.
    fn part_turns(&mut self) {
        let status = std::mem::take(&mut self.entries[Section::Status as usize]);
        let (turns, status) = status.into_iter().partition(|entry| entry.starts_with(TURN));
        self.entries[Section::Turns as usize] = turns;
        self.entries[Section::Turns as usize].reverse();
        self.entries[Section::Status as usize] = status;
    }

    /// Renders all six headings with as many entries as fit into that many characters; an empty section says
    /// `none`. If not even the headings and a line fit, only the carryover is rendered.
    ///
    /// Where not all fit, an entry that is longer than half of its section's share keeps its head and tail, so
    /// that one long request does not push out all others.
    pub fn render(&self, max_chars: usize) -> String {
        let frame = SECTION_TEMPLATE.chars().count() + 1 + "none\n".len() * 6;
        let Some(room) = max_chars.checked_sub(frame).filter(|room| *room >= LEAST_ROOM_CHARS) else {
            return self.render_carryover(max_chars);
        };
        let mut chosen = self.chosen(room);
        reverse_dated(&mut chosen);
        let n_bytes: usize = chosen.iter().flatten().map(|entry| entry.len() + 1).sum();
        let mut out = String::with_capacity(HEADER_BYTES + frame + n_bytes);
        // Turns are in the status, oldest first, before its other entries.
        chosen[Section::Turns as usize].reverse();
        for (line, heading) in SECTION_TEMPLATE.lines().zip(headings()) {
            out.push_str(line);
            out.push('\n');
            let mut parts: Vec<Section> = SECTIONS
                .iter()
                .filter(|(_, under, _)| *under == heading)
                .map(|(section, ..)| *section)
                .collect();
            parts.sort_by_key(|section| *section != Section::Turns);
            let entries: Vec<_> =
                parts.iter().flat_map(|section| &chosen[*section as usize]).cloned().collect();
            push_entries(&mut out, &entries);
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Returns the entries of each section that fit: first that which leads the carryover and says what is gone, then
    /// each section within its share of what the sections with entries divide, then in order with what is left.
    fn chosen(&self, room: usize) -> [Vec<Cow<'_, str>>; N_SECTIONS] {
        let all: usize = self.entries.iter().flatten().map(|entry| size(entry)).sum();
        if all <= room {
            return self.entries.each_ref().map(|entries| entries.iter().map(Cow::from).collect());
        }
        let mut chosen = <[Vec<Cow<'_, str>>; N_SECTIONS]>::default();
        let requests: usize = self.entries(Section::Objective).iter().map(|entry| size(entry)).sum();
        let for_gap = if requests > room / 3 && room > LEAST_FOR_GAP_CHARS { size(NOT_ALL) } else { 0 };
        let mut left = room - for_gap;
        let at = Section::Carryover as usize;
        take_fitting(
            &self.entries[at][..1.min(self.entries[at].len())],
            &mut chosen[at],
            room,
            &mut room.clone(),
            &mut left,
        );
        let at = Section::Objective as usize;
        // What the user asked for first stays word for word if it is short, also where there is room for little else, and
        // where it takes no more than half.
        let first = self.entries[at].first().filter(|entry| entry.starts_with(FIRST));
        let most_whole = SHORT_REQUEST_CHARS.min(left).max(room / 2);
        let whole = first.map(|entry| size(entry)).filter(|n_chars| *n_chars <= most_whole);
        let most = entry_chars(room, SECTIONS[at].2).max(whole.unwrap_or(SHORT_REQUEST_CHARS.min(room / 2)));
        take_fitting(
            &self.entries[at][..first.iter().len()],
            &mut chosen[at],
            most,
            &mut most.clone(),
            &mut left,
        );
        let claimed = self.entries.iter().zip(shares()).filter(|(entries, _)| !entries.is_empty());
        let whole: usize = claimed.map(|(_, percent)| percent).sum();
        for is_rest in [false, true] {
            for (at, percent) in shares().enumerate() {
                let mut share = if is_rest { left } else { room * percent / whole.max(1) };
                let (entries, chosen) = (&self.entries[at], &mut chosen[at]);
                if at == Section::Guardrails as usize {
                    take_whole(entries, chosen, &mut share, &mut left);
                } else {
                    let mut most = entry_chars(room, percent);
                    if at == Section::Plan as usize {
                        // A plan of several lines may take what a few tasks leave.
                        most = most.max(share / entries.len().max(1));
                    }
                    let latest = entries.iter().position(|entry| entry.starts_with(LATEST));
                    let is_whole = |at: &usize| *at >= chosen.len() && size(&entries[*at]) <= share / 4 * 3;
                    if let Some(latest) = latest.filter(is_whole) {
                        // So does what the user asked for last where it leaves a quarter of the share to the earlier requests.
                        let most = share;
                        take_fitting(&entries[..=latest], chosen, most, &mut share, &mut left);
                    }
                    if at == Section::Turns as usize {
                        if chosen.is_empty() {
                            // The only turn may take the share, the newest of two a half of it.
                            let newest = &entries[..entries.len().min(1)];
                            let most = most.max(share / entries.len().max(1));
                            take_fitting(newest, chosen, most, &mut share, &mut left);
                        }
                        // More turns in short say more than two at length, but few may take the share among them.
                        let equal = share / (entries.len() - chosen.len()).max(1);
                        most = entry_chars(room, percent / 3).max(equal);
                    }
                    take_fitting(entries, chosen, most, &mut share, &mut left);
                }
            }
        }
        let guardrails = Section::Guardrails as usize;
        left += for_gap;
        left -= self.mark_gap(&mut chosen[Section::Objective as usize], left);
        self.count_left_out(&mut chosen[guardrails], left);
        chosen
    }

    /// Says behind the first request that others found no room, if that finds some; returns what it takes.
    fn mark_gap(&self, chosen: &mut Vec<Cow<'_, str>>, left: usize) -> usize {
        let is_gap = chosen.len() < self.entries(Section::Objective).len();
        if !is_gap || chosen.len() < 2 || chosen.iter().any(|entry| entry == NOT_ALL) || size(NOT_ALL) > left
        {
            return 0;
        }
        chosen.insert(usize::from(chosen[0].starts_with(FIRST)), Cow::Borrowed(NOT_ALL));
        size(NOT_ALL)
    }

    /// Says how many constraints found no room, if that finds some.
    fn count_left_out(&self, chosen: &mut Vec<Cow<'_, str>>, left: usize) {
        let n_left_out = self.entries(Section::Guardrails).len() - chosen.len();
        let entry = format!("{LEFT_OUT}{n_left_out}");
        if n_left_out > 0 && size(&entry) <= left {
            chosen.push(Cow::Owned(entry));
        }
    }

    fn render_carryover(&self, max_chars: usize) -> String {
        let entries = &self.entries[Section::Carryover as usize];
        let mut out = String::from("# Carryover\n");
        let mut left = max_chars.saturating_sub(out.len());
        let mut chosen = Vec::new();
        take_fitting(entries, &mut chosen, LEAST_ENTRY_CHARS, &mut left, &mut max_chars.clone());
        if chosen.is_empty() {
            chosen.extend(entries.first().map(|entry| shortened(entry, LEAST_ENTRY_CHARS)));
        }
        push_entries(&mut out, &chosen);
        out.truncate(out.trim_end().len());
        out
    }
}

/// Puts what has an order in time, of which the newest is the most important one, in that order, and back: the user's
/// requests behind the first one, and the reasons that were given.
fn reverse_dated(entries: &mut [Vec<impl AsRef<str>>; N_SECTIONS]) {
    let is_request = |entry: &str| [LATEST, EARLIER, ANSWER].iter().any(|label| entry.starts_with(label));
    reverse_run(&mut entries[Section::Objective as usize], is_request);
    reverse_run(&mut entries[Section::Rationale as usize], |entry| entry.starts_with(DECIDED));
}

/// Reverses the first run of such entries.
fn reverse_run(entries: &mut [impl AsRef<str>], is_one: impl Fn(&str) -> bool) {
    let start = entries.iter().position(|entry| is_one(entry.as_ref())).unwrap_or(entries.len());
    let n = entries[start..].iter().take_while(|entry| is_one(entry.as_ref())).count();
    entries[start..start + n].reverse();
}

/// Marks a first line that could pass for a heading, and indents the lines after it.
fn one_entry(entry: String) -> String {
    let first = entry.split('\n').next().unwrap_or_default();
    let begins = !first.starts_with("  ") && !first.trim().is_empty() && heading_at(first).is_none();
    let is_indented = |line: &str| line.is_empty() || line.starts_with("  ");
    if begins && entry.split('\n').skip(1).all(is_indented) {
        return entry;
    }
    let mut lines = entry.trim_start().split('\n');
    let first = lines.next().unwrap_or_default();
    let mark = if heading_at(first).is_some() { "- " } else { "" };
    let mut out = [mark, first].concat();
    for line in lines {
        out.extend(["\n", if is_indented(line) { "" } else { "  " }, line]);
    }
    out
}

/// Appends what an earlier digest says under headings that a digest, cut off before its end, does not have.
///
/// What is done and what comes next are left out: they may not hold any more.
pub fn completed(digest: &str, earlier: &str) -> String {
    const LASTING: [(usize, Section); 4] =
        [(0, Section::Objective), (1, Section::Guardrails), (3, Section::Rationale), (5, Section::Carryover)];
    let mut out = digest.to_owned();
    let mut earlier = Sections::parse(earlier);
    reverse_dated(&mut earlier.entries);
    for (at, section) in LASTING {
        let entries = earlier.entries(section);
        let is_told = digest.lines().any(|line| heading_at(line) == Some(at));
        if let Some(heading) = SECTION_TEMPLATE.lines().nth(at).filter(|_| !is_told && !entries.is_empty()) {
            out.extend(["\n", heading, "\n", &entries.join("\n")]);
        }
    }
    out
}

/// Shortens a digest to that many characters by its entries, so that its headings stay whole; one that fits comes
/// back as it is.
pub fn shortened_digest(digest: &str, max_chars: usize) -> Cow<'_, str> {
    if digest.chars().count() <= max_chars {
        return Cow::Borrowed(digest);
    }
    let rendered = Sections::parse(digest).render(max_chars);
    Cow::Owned(if rendered.chars().count() <= max_chars {
        rendered
    } else {
        clip(digest, max_chars).into_owned()
    })
}

/// Room for the header that the message of a digest starts with.
const HEADER_BYTES: usize = 64;

/// What is left next to the headings must be so much that a line can say what was left out.
const LEAST_FOR_GAP_CHARS: usize = 1_000;

/// What is left next to the headings must hold a line or two.
const LEAST_ROOM_CHARS: usize = 80;

/// The characters that even the longest entry may have, so that what is left of it is of use.
const LEAST_ENTRY_CHARS: usize = 120;
/// The characters of a first request, with its label, that are kept whole wherever they fit; of a longer one so many are
/// kept if that leaves half of the room.
const SHORT_REQUEST_CHARS: usize = 620;

/// Returns how long an entry may be if not all fit.
fn entry_chars(room: usize, percent: usize) -> usize {
    (room * percent / 200).max(LEAST_ENTRY_CHARS)
}

fn push_entries(out: &mut String, entries: &[Cow<'_, str>]) {
    if entries.is_empty() {
        out.push_str("none\n");
    }
    for entry in entries {
        out.push_str(entry);
        out.push('\n');
    }
}

/// Takes those of the entries that fit as they are: a rule that is cut says another thing.
fn take_whole<'a>(
    entries: &'a [String],
    chosen: &mut Vec<Cow<'a, str>>,
    share: &mut usize,
    left: &mut usize,
) {
    for entry in entries {
        let n_chars = size(entry);
        if n_chars <= (*share).min(*left) && !chosen.iter().any(|known| known == entry) {
            *share -= n_chars;
            *left -= n_chars;
            chosen.push(Cow::Borrowed(entry));
        }
    }
}

/// Takes entries in order, long ones shortened, as long as they fit.
fn take_fitting<'a>(
    entries: &'a [String],
    chosen: &mut Vec<Cow<'a, str>>,
    max_entry_chars: usize,
    share: &mut usize,
    left: &mut usize,
) {
    for entry in &entries[chosen.len()..] {
        let entry = shortened(entry, max_entry_chars);
        if size(&entry) > (*share).min(*left) {
            break;
        }
        *share -= size(&entry);
        *left -= size(&entry);
        chosen.push(entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parsing_a_rendered_digest_gives_its_entries_back() {
        let mut sections = Sections::default();
        sections.add(Section::Objective, "- first request: fix it\n  on two lines");
        sections.add(Section::Plan, "- ship");
        sections.add(Section::Carryover, "3 messages elided into this digest (3 in all).");
        let rendered = sections.render(2_000);
        assert_eq!(Sections::parse(&rendered), sections);
        assert!(rendered.starts_with("# Objective\n- first request"), "{rendered}");
        assert!(rendered.contains("# Guardrails\nnone\n"));
    }

    #[test]
    fn a_digest_never_exceeds_its_size_and_a_tiny_one_is_the_carryover() {
        let mut sections = Sections::default();
        for n in 0..200 {
            sections.add(Section::Status, format!("- line {n} of a long status"));
            sections.add(Section::Objective, format!("- request {n}"));
        }
        sections.add(Section::Carryover, "9 messages elided.");
        for max_chars in [200, 400, 1_000, 7_200] {
            let rendered = sections.render(max_chars);
            assert!(rendered.chars().count() <= max_chars, "{max_chars}: {rendered}");
        }
        assert_eq!(sections.render(30), "# Carryover\n9 messages elided.");
    }

    #[test]
    fn what_was_asked_for_first_and_last_stays_whole_in_half_of_the_room_and_in_the_share_of_requests() {
        let mut sections = Sections::default();
        let words = |label: &str, n_words: usize| [label, &"word ".repeat(n_words), "end"].concat();
        let (first, latest) = (words(FIRST, 180), words(LATEST, 80));
        sections.add(Section::Objective, first.clone());
        sections.add(Section::Objective, latest.clone());
        for n in 0..200 {
            sections.add(Section::Objective, format!("{EARLIER}also look at {n}"));
            sections.add(Section::Status, format!("- line {n} of a long status"));
        }
        let rendered = sections.render(2_400);
        assert!(rendered.contains(&first) && rendered.contains(&latest), "{rendered}");
        let rendered = sections.render(1_500);
        assert!(!rendered.contains(&first) && rendered.contains(&latest), "{rendered}");
        let rendered = sections.render(500);
        assert!(!rendered.contains(&latest) && rendered.contains(LATEST), "{rendered}");
    }

    #[test]
    fn a_text_without_headings_is_carryover() {
        let sections = Sections::parse("earlier facts\n\nmore");
        assert_eq!(sections.entries(Section::Carryover), ["earlier facts", "more"]);
    }
}
