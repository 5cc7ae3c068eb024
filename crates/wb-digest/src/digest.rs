//! A digest as sections of entries: parsed, merged and rendered within a size.

use std::borrow::Cow;

use wb_message::text::clip;

use crate::OmittedRequests;
use crate::heading::SECTION_TEMPLATE;
use crate::labels::{ANSWER, DECIDED, EARLIER, EARLIER_TIMES, FIRST, LATEST, LEFT_OUT, TURN};
use crate::section::{N_SECTIONS, SECTIONS, Section, SectionRow};
use crate::shortened_entry::{shortened, size};

/// The maximum number of entries of a section; no digest has room for more.
const MAX_ENTRIES: usize = 2000;

type Entries<T> = [Vec<T>; N_SECTIONS];

/// The entries of a digest by section.
///
/// An entry may span lines. The most important entry is first; among requests, the newest.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    entries: Entries<String>,
}

impl Sections {
    /// Adds an entry unless it is blank or already known.
    ///
    /// It parses as one entry again: a line in it that looks like a heading or an entry is
    /// indented.
    pub fn add(&mut self, section: Section, entry: impl Into<String>) {
        let entry = normalize_entry(entry.into());
        let known = &mut self.entries[section as usize];
        if known.len() < MAX_ENTRIES && !entry.trim().is_empty() && !known.contains(&entry) {
            known.push(entry);
        }
    }

    /// Inserts an entry before all others of its section.
    pub fn insert_first(&mut self, section: Section, entry: &str) {
        self.entries[section as usize].insert(0, normalize_entry(entry.to_owned()));
    }

    /// Returns the entries of a section.
    pub fn entries(&self, section: Section) -> &[String] {
        &self.entries[section as usize]
    }

    /// Returns whether no section has an entry.
    pub fn is_empty(&self) -> bool {
        self.entries.iter().all(Vec::is_empty)
    }

    /// Parses a digest. Text before the first heading is carryover; `none` is not an entry.
    ///
    /// An indented line continues the entry before it, with the blank lines in between.
    pub fn parse(digest: &str) -> Self {
        let mut sections = Self::default();
        let (mut current, mut n_blank) = (Section::Carryover, 0);
        for line in digest.lines().map(str::trim_end) {
            if line.is_empty() {
                n_blank += 1;
                continue;
            }
            let blank_before = std::mem::take(&mut n_blank);
            if let Some(section) = Section::from_heading(line) {
                current = section;
                continue;
            }
            let known = &mut sections.entries[current as usize];
            let is_full = known.len() == MAX_ENTRIES;
            match known.last_mut() {
                Some(last) if line.starts_with("  ") => {
                    last.extend(std::iter::repeat_n('\n', blank_before + 1));
                    last.push_str(line);
                }
                _ if line.trim_start_matches("- ").eq_ignore_ascii_case("none") => {}
                _ if is_full => {}
                _ => known.push(line.to_owned()),
            }
        }
        sections.separate_turns();
        reverse_dated(&mut sections.entries);
        sections
    }

    /// Moves the turns out of the status, newest first.
    fn separate_turns(&mut self) {
        let status = std::mem::take(&mut self.entries[Section::Status as usize]);
        let (turns, status) = status.into_iter().partition(|entry| entry.starts_with(TURN));
        self.entries[Section::Turns as usize] = turns;
        self.entries[Section::Turns as usize].reverse();
        self.entries[Section::Status as usize] = status;
    }

    /// Renders all six headings with the entries that fit into `max_chars`; an empty section says
    /// `none`. If the headings and a line do not fit, renders only the carryover.
    ///
    /// If not all entries fit, one longer than half of the share of its section is shortened, so
    /// that a long request does not displace all others.
    pub fn render(&self, max_chars: usize) -> String {
        let Some(room) = max_chars.checked_sub(Self::frame_chars()).filter(|room| *room >= LEAST_ROOM_CHARS)
        else {
            return self.render_carryover(max_chars);
        };
        let mut chosen = self.choose(room);
        reverse_dated(&mut chosen);
        let n_bytes: usize = chosen.iter().flatten().map(|entry| entry.len() + 1).sum();
        let mut out = String::with_capacity(HEADER_BYTES + Self::frame_chars() + n_bytes);
        for row in &SECTIONS {
            let Some(heading) = row.heading else { continue };
            out.extend([heading, "\n"]);
            let entries = chosen[row.section as usize].iter();
            match row.section {
                Section::Status => {
                    push_entries(&mut out, chosen[Section::Turns as usize].iter().rev().chain(entries));
                }
                Section::Carryover => {
                    push_entries(&mut out, entries.chain(&chosen[Section::Carried as usize]));
                }
                _ => push_entries(&mut out, entries),
            }
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Returns the characters that the headings take, the sections without an entry included.
    pub fn frame_chars() -> usize {
        SECTION_TEMPLATE.chars().count() + 1 + "none\n".len() * 6
    }

    /// Returns the characters of the entries of a section.
    pub fn n_chars(&self, section: Section) -> usize {
        self.entries(section).iter().map(|entry| size(entry)).sum()
    }

    /// Chooses the entries of each section that fit into a room.
    fn choose(&self, room: usize) -> Entries<Cow<'_, str>> {
        let all: usize = self.entries.iter().flatten().map(|entry| size(entry)).sum();
        if all <= room {
            return self.entries.each_ref().map(|entries| entries.iter().map(Cow::from).collect());
        }
        let mut choice = Choice { sections: self, chosen: Entries::default(), room, left: room };
        let for_gap = choice.reserve_gap();
        choice.take_first_of_carryover();
        choice.take_floor();
        choice.take_first_request();
        choice.take_shares();
        choice.take_rest();
        choice.left += for_gap;
        choice.note_gap();
        choice.count_left_out();
        choice.chosen
    }

    fn render_carryover(&self, max_chars: usize) -> String {
        let mut out = String::from("# Carryover\n");
        let room = max_chars.saturating_sub(out.len());
        let mut choice = Choice { sections: self, chosen: Entries::default(), room, left: room };
        choice.take(Section::Carryover, usize::MAX, LEAST_ENTRY_CHARS, room);
        let carryover = &choice.chosen[Section::Carryover as usize];
        if carryover.is_empty() {
            let first = self.entries(Section::Carryover).first();
            push_entries(&mut out, first.map(|entry| shortened(entry, LEAST_ENTRY_CHARS)).iter());
        } else {
            push_entries(&mut out, carryover.iter());
        }
        out.truncate(out.trim_end().len());
        out
    }
}

/// Reverses dated entries between newest first and oldest first: requests after the first one, and
/// reasons.
fn reverse_dated(entries: &mut Entries<impl AsRef<str>>) {
    const DATED: [&str; 4] = [LATEST, EARLIER, EARLIER_TIMES, ANSWER];
    let is_request = |entry: &str| DATED.iter().any(|label| entry.starts_with(label));
    reverse_run(&mut entries[Section::Objective as usize], is_request);
    reverse_run(&mut entries[Section::Rationale as usize], |entry| entry.starts_with(DECIDED));
}

/// Reverses the first run of matching entries.
fn reverse_run(entries: &mut [impl AsRef<str>], is_match: impl Fn(&str) -> bool) {
    let start = entries.iter().position(|entry| is_match(entry.as_ref())).unwrap_or(entries.len());
    let n = entries[start..].iter().take_while(|entry| is_match(entry.as_ref())).count();
    entries[start..start + n].reverse();
}

/// Replaces the characters that end a line for some readers, and those that control a terminal, by
/// blanks.
fn without_controls(text: &str) -> Cow<'_, str> {
    let is_control =
        |c: char| c.is_control() && !matches!(c, '\n' | '\t') || matches!(c, '\u{2028}' | '\u{2029}');
    if !text.contains(is_control) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(text.replace("\r\n", "\n").replace(is_control, " "))
}

/// Marks a first line that looks like a heading, and indents the lines after it.
///
/// No character but a line feed ends a line.
fn normalize_entry(entry: String) -> String {
    let entry = match without_controls(&entry) {
        Cow::Owned(plain) => plain,
        Cow::Borrowed(_) => entry,
    };
    let first = entry.split('\n').next().unwrap_or_default();
    let begins =
        !first.starts_with("  ") && !first.trim().is_empty() && Section::from_heading(first).is_none();
    let is_indented = |line: &str| line.is_empty() || line.starts_with("  ");
    if begins && entry.split('\n').skip(1).all(is_indented) {
        return entry;
    }
    let mut lines = entry.trim_start().split('\n');
    let first = lines.next().unwrap_or_default();
    let mark = if Section::from_heading(first).is_some() { "- " } else { "" };
    let mut out = [mark, first].concat();
    for line in lines {
        out.extend(["\n", if is_indented(line) { "" } else { "  " }, line]);
    }
    out
}

/// Appends the sections of an earlier digest that a truncated digest does not reach.
///
/// The status and the plan are left out: they may be out of date.
pub fn add_missing_sections(digest: &str, earlier: &str) -> String {
    const LASTING: [Section; 4] =
        [Section::Objective, Section::Guardrails, Section::Rationale, Section::Carryover];
    let mut out = digest.to_owned();
    let mut earlier = Sections::parse(earlier);
    reverse_dated(&mut earlier.entries);
    for section in LASTING {
        let entries = earlier.entries(section);
        let is_present = digest.lines().any(|line| Section::from_heading(line) == Some(section));
        if let Some(heading) = section.heading().filter(|_| !is_present && !entries.is_empty()) {
            out.extend(["\n", heading, "\n", &entries.join("\n")]);
        }
    }
    out
}

/// Shortens a digest to `max_chars` by its entries, so that its headings stay whole.
pub fn shorten_digest(digest: &str, max_chars: usize) -> Cow<'_, str> {
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

/// Room for the header of the message.
const HEADER_BYTES: usize = 64;

/// The minimum room for a note about omitted requests.
const LEAST_FOR_GAP_CHARS: usize = 1_000;

/// The minimum room next to the headings: a line or two.
const LEAST_ROOM_CHARS: usize = 80;

/// The lowest limit of an entry, so that the shortened entry is of use.
const LEAST_ENTRY_CHARS: usize = 120;
/// The characters of a first request, with its label, that stay verbatim; a longer one keeps them
/// if half of the room is left.
const SHORT_REQUEST_CHARS: usize = 620;

/// Returns the limit of an entry if not all fit.
fn entry_chars(room: usize, percent: usize) -> usize {
    (room * percent / 200).max(LEAST_ENTRY_CHARS)
}

fn push_entries<'e>(out: &mut String, mut entries: impl Iterator<Item = &'e Cow<'e, str>>) {
    let first = entries.next().map_or("none", |entry| entry);
    out.extend([first, "\n"]);
    for entry in entries {
        out.extend([entry, "\n"]);
    }
}

/// A choice of entries that fit into a room.
struct Choice<'a> {
    sections: &'a Sections,
    chosen: Entries<Cow<'a, str>>,
    /// The characters of the digest without its headings.
    room: usize,
    /// The characters that are left.
    left: usize,
}

impl<'a> Choice<'a> {
    fn chosen(&mut self, section: Section) -> &mut Vec<Cow<'a, str>> {
        &mut self.chosen[section as usize]
    }

    /// Reserves the characters of a note about omitted requests; returns their number.
    fn reserve_gap(&mut self) -> usize {
        let requests = self.sections.n_chars(Section::Objective);
        let is_likely = requests > self.room / 3 && self.room > LEAST_FOR_GAP_CHARS;
        let for_gap = if is_likely { OmittedRequests::LEAST_CHARS } else { 0 };
        self.left -= for_gap;
        for_gap
    }

    /// Takes the entry that leads the carryover, which counts the elided messages.
    fn take_first_of_carryover(&mut self) {
        self.take(Section::Carryover, 1, self.room, self.room);
    }

    /// Takes the constraints, the requests and the plan whole, each if it fits.
    fn take_floor(&mut self) {
        for section in [Section::Guardrails, Section::Objective, Section::Plan] {
            let n_chars = self.sections.n_chars(section);
            if n_chars <= self.left {
                self.take(section, usize::MAX, usize::MAX, n_chars);
            }
        }
    }

    /// Takes the first request, verbatim if it is short or at most half of the room.
    fn take_first_request(&mut self) {
        let row = &SECTIONS[Section::Objective as usize];
        let entries = self.sections.entries(row.section);
        let is_taken = !self.chosen[row.section as usize].is_empty();
        let Some(first) = entries.first().filter(|entry| !is_taken && entry.starts_with(FIRST)) else {
            return;
        };
        let max_whole = SHORT_REQUEST_CHARS.min(self.left).max(self.room / 2);
        let whole = Some(size(first)).filter(|n_chars| *n_chars <= max_whole);
        let least = whole.unwrap_or(SHORT_REQUEST_CHARS.min(self.room / 2));
        let max_chars = entry_chars(self.room, row.share).max(least);
        self.take(row.section, 1, max_chars, max_chars);
    }

    /// Fills the share of each section; sections without entries leave theirs to the others.
    fn take_shares(&mut self) {
        let is_claimed = |row: &&SectionRow| !self.sections.entries(row.section).is_empty();
        let claimed: usize = SECTIONS.iter().filter(is_claimed).map(|row| row.share).sum();
        for row in &SECTIONS {
            self.take_section(row, self.room * row.share / claimed.max(1));
        }
    }

    /// Gives the rest of the room to the sections in order.
    fn take_rest(&mut self) {
        for row in &SECTIONS {
            self.take_section(row, self.left);
        }
    }

    fn take_section(&mut self, row: &SectionRow, share: usize) {
        let section = row.section;
        let max_chars = entry_chars(self.room, row.share);
        let equal = share / self.sections.entries(section).len().max(1);
        match section {
            Section::Guardrails => self.take_whole(section, share),
            Section::Turns => {
                let share = self.take_latest(section, share);
                self.take_turns(row, share);
            }
            _ => {
                let share = self.take_latest(section, share);
                // A plan of several lines may take the room of a few tasks.
                let max_chars = if section == Section::Plan { max_chars.max(equal) } else { max_chars };
                self.take(section, usize::MAX, max_chars, share);
            }
        }
    }

    /// Takes the entries up to the latest request, verbatim if it leaves a quarter of the share to
    /// earlier ones; returns the rest of the share.
    fn take_latest(&mut self, section: Section, share: usize) -> usize {
        let entries = self.sections.entries(section);
        let latest = entries.iter().position(|entry| entry.starts_with(LATEST));
        let n_chosen = self.chosen(section).len();
        let fits = |at: &usize| *at >= n_chosen && size(&entries[*at]) <= share / 4 * 3;
        latest.filter(fits).map_or(share, |at| self.take(section, at + 1, share, share))
    }

    /// Takes turns: many short ones rather than a few long ones.
    fn take_turns(&mut self, row: &SectionRow, mut share: usize) {
        let n_turns = self.sections.entries(row.section).len();
        if self.chosen(row.section).is_empty() {
            // The newest turn may take an equal part of the share.
            let max_chars = entry_chars(self.room, row.share).max(share / n_turns.max(1));
            share = self.take(row.section, 1, max_chars, share);
        }
        let equal = share / (n_turns - self.chosen(row.section).len()).max(1);
        self.take(row.section, usize::MAX, entry_chars(self.room, row.share / 3).max(equal), share);
    }

    /// Takes the first `n_entries` in order, long ones shortened, until one does not fit; returns
    /// the rest of the share.
    fn take(
        &mut self,
        section: Section,
        n_entries: usize,
        max_entry_chars: usize,
        mut share: usize,
    ) -> usize {
        let n_chosen = self.chosen(section).len();
        for entry in self.sections.entries(section).iter().take(n_entries).skip(n_chosen) {
            let entry = shortened(entry, max_entry_chars);
            let n_chars = size(&entry);
            if n_chars > share.min(self.left) {
                break;
            }
            share -= n_chars;
            self.left -= n_chars;
            self.chosen(section).push(entry);
        }
        share
    }

    /// Takes all entries that fit verbatim: a shortened rule may say something else.
    fn take_whole(&mut self, section: Section, mut share: usize) {
        for entry in self.sections.entries(section) {
            let n_chars = size(entry);
            if n_chars <= share.min(self.left) && !self.chosen(section).iter().any(|known| known == entry) {
                share -= n_chars;
                self.left -= n_chars;
                self.chosen(section).push(Cow::Borrowed(entry));
            }
        }
    }

    /// Counts the omitted requests after the first one, if the note fits.
    fn note_gap(&mut self) {
        let entries = self.sections.entries(Section::Objective);
        let chosen = &mut self.chosen[Section::Objective as usize];
        if chosen.len() < 2 || chosen.len() == entries.len() {
            return;
        }
        let mut omitted = entries.iter().find_map(|entry| OmittedRequests::parse(entry)).unwrap_or_default();
        let known = chosen.iter().position(|entry| OmittedRequests::parse(entry).is_some());
        let n_known = usize::from(omitted.n_requests > 0 && known.is_none());
        let n_omitted = entries.len() - chosen.len() - n_known;
        omitted.add(u32::try_from(n_omitted).unwrap_or(u32::MAX), None);
        let left = self.left + known.map_or(0, |at| size(&chosen[at]));
        if let Some(entry) = omitted.entry().filter(|entry| size(entry) <= left) {
            known.map(|at| chosen.remove(at));
            self.left = left - size(&entry);
            chosen.insert(usize::from(chosen[0].starts_with(FIRST)), Cow::Owned(entry));
        }
    }

    /// Notes the number of omitted constraints, if the note fits.
    fn count_left_out(&mut self) {
        let n_constraints = self.sections.entries(Section::Guardrails).len();
        let n_left_out = n_constraints - self.chosen(Section::Guardrails).len();
        let entry = format!("{LEFT_OUT}{n_left_out}");
        if n_left_out > 0 && size(&entry) <= self.left {
            self.chosen(Section::Guardrails).push(Cow::Owned(entry));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_character_but_a_line_feed_ends_a_line() {
        assert_eq!(without_controls("a\r\nb\rc\u{2028}d\u{85}e\x1b[1m\tf"), "a\nb c d e [1m\tf");
        assert!(matches!(without_controls("a\n\tb"), Cow::Borrowed(_)));
    }

    #[test]
    fn a_rendered_digest_parses_into_its_entries() {
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
    fn a_digest_stays_in_its_size_and_a_tiny_one_is_the_carryover() {
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
    fn the_first_and_the_latest_request_stay_whole_if_they_fit() {
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
