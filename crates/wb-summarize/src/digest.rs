//! A digest as six sections of lines: parsed, merged and rendered within a size.

use crate::scope::{SECTION_TEMPLATE, heading_at};

/// Which of the six sections a line belongs to, in the order of the headings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
}

/// Parts per hundred of a digest's size that each section may claim before others take what is left.
const SHARES: [usize; 6] = [34, 10, 26, 8, 8, 14];

/// The lines of a digest by section; an entry may span lines, the most important one first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sections {
    entries: [Vec<String>; 6],
}

impl Sections {
    /// Adds an entry unless the section has it already or it is blank.
    pub fn add(&mut self, section: Section, entry: impl Into<String>) {
        let entry = entry.into();
        let known = &mut self.entries[section as usize];
        if !entry.trim().is_empty() && !known.contains(&entry) {
            known.push(entry);
        }
    }

    /// Returns the entries of a section.
    pub fn entries(&self, section: Section) -> &[String] {
        &self.entries[section as usize]
    }

    /// Reads a digest; what stands before the first heading counts as carryover, `none` is nothing.
    ///
    /// A line that is indented continues the entry before it.
    pub fn parse(digest: &str) -> Self {
        const ORDER: [Section; 6] = [
            Section::Objective,
            Section::Guardrails,
            Section::Status,
            Section::Rationale,
            Section::Plan,
            Section::Carryover,
        ];
        let mut sections = Self::default();
        let mut current = Section::Carryover;
        for line in digest.lines().map(str::trim_end).filter(|line| !line.is_empty()) {
            if let Some(at) = heading_at(line) {
                current = ORDER[at];
                continue;
            }
            let known = &mut sections.entries[current as usize];
            match known.last_mut() {
                Some(last) if line.starts_with("  ") => {
                    last.push('\n');
                    last.push_str(line);
                }
                _ if line.trim_start_matches("- ").eq_ignore_ascii_case("none") => {}
                _ => known.push(line.to_owned()),
            }
        }
        sections
    }

    /// Renders all six headings with as many entries as fit into that many characters; an empty section says
    /// `none`. Where not even the headings fit, only the carryover is rendered.
    pub fn render(&self, max_chars: usize) -> String {
        let frame = SECTION_TEMPLATE.chars().count() + 1 + "none\n".len() * 6;
        let Some(room) = max_chars.checked_sub(frame) else {
            return self.render_carryover(max_chars);
        };
        let counts = self.fitting(room);
        let mut out = String::new();
        for ((heading, entries), count) in SECTION_TEMPLATE.lines().zip(&self.entries).zip(counts) {
            out.push_str(heading);
            out.push('\n');
            push_entries(&mut out, &entries[..count]);
        }
        out.truncate(out.trim_end().len());
        out
    }

    /// Tells how many entries of each section fit: first within its share, then in order with what is left.
    fn fitting(&self, room: usize) -> [usize; 6] {
        let mut counts = [0; 6];
        let mut left = room;
        for ((entries, count), percent) in self.entries.iter().zip(&mut counts).zip(SHARES) {
            let mut share = room * percent / 100;
            take_fitting(entries, count, &mut share, &mut left);
        }
        for (entries, count) in self.entries.iter().zip(&mut counts) {
            let mut rest = left;
            take_fitting(entries, count, &mut rest, &mut left);
        }
        counts
    }

    fn render_carryover(&self, max_chars: usize) -> String {
        let entries = &self.entries[Section::Carryover as usize];
        let mut out = String::from("# Carryover\n");
        let mut left = max_chars.saturating_sub(out.len());
        let mut count = 0;
        take_fitting(entries, &mut count, &mut left, &mut max_chars.clone());
        push_entries(&mut out, &entries[..count.max(1).min(entries.len())]);
        out.truncate(out.trim_end().len());
        out
    }
}

fn push_entries(out: &mut String, entries: &[String]) {
    if entries.is_empty() {
        out.push_str("none\n");
    }
    for entry in entries {
        out.push_str(entry);
        out.push('\n');
    }
}

fn take_fitting(entries: &[String], count: &mut usize, share: &mut usize, left: &mut usize) {
    for entry in &entries[*count..] {
        let size = entry.chars().count() + 1;
        if size > *share || size > *left {
            break;
        }
        *share -= size;
        *left -= size;
        *count += 1;
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
    fn a_text_without_headings_is_carryover() {
        let sections = Sections::parse("earlier facts\n\nmore");
        assert_eq!(sections.entries(Section::Carryover), ["earlier facts", "more"]);
    }
}
