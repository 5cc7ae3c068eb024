//! The sections of a digest: their order, headings and shares.

use serde::{Deserialize, Serialize};

use crate::heading::Heading;

/// A section of a digest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Section {
    /// The requests of the user.
    Objective,
    /// The constraints.
    Guardrails,
    /// The work that is done, in progress or blocked.
    Status,
    /// The reasons of decisions.
    Rationale,
    /// The next steps.
    Plan,
    /// Everything else worth keeping, and the count of elided messages.
    Carryover,
    /// The entries of earlier digests that fit no other section; they end the carryover.
    Carried,
    /// The turns, newest first; they begin the status, oldest first.
    Turns,
}

/// The number of sections.
pub(crate) const N_SECTIONS: usize = SECTIONS.len();

/// A section with its heading and its share of a digest.
#[derive(Debug)]
pub(crate) struct SectionRow {
    pub(crate) section: Section,
    /// The line above its entries; `None` if they go under the heading of another section.
    pub(crate) heading: Option<&'static str>,
    /// The percentage of a digest that it may fill before other sections take the rest.
    pub(crate) share: usize,
}

/// The sections in the order of their headings, and in which they take room.
pub(crate) const SECTIONS: [SectionRow; 8] = [
    row(Section::Objective, Some("# Objective"), 32),
    row(Section::Guardrails, Some("# Guardrails"), 10),
    row(Section::Status, Some("# Status (Shipped / Active / Stuck)"), 12),
    row(Section::Rationale, Some("# Rationale"), 4),
    row(Section::Plan, Some("# Plan"), 6),
    row(Section::Carryover, Some("# Carryover"), 4),
    row(Section::Carried, None, 8),
    row(Section::Turns, None, 24),
];

const fn row(section: Section, heading: Option<&'static str>, share: usize) -> SectionRow {
    SectionRow { section, heading, share }
}

impl Section {
    /// Returns the section whose heading a line is, in any form that [`Heading`] detects.
    pub fn from_heading(line: &str) -> Option<Self> {
        let heading = Heading::parse(line)?;
        SECTIONS.iter().find(|row| row.name().is_some_and(|name| heading.is(name))).map(|row| row.section)
    }

    /// Returns the line above its entries, if it has one.
    pub(crate) fn heading(self) -> Option<&'static str> {
        SECTIONS.iter().find(|row| row.section == self)?.heading
    }
}

impl SectionRow {
    /// Returns the first word of the heading.
    fn name(&self) -> Option<&'static str> {
        self.heading?.split(' ').nth(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::heading::SECTION_TEMPLATE;

    #[test]
    fn the_headings_are_those_of_the_template() {
        let headings: Vec<_> = SECTIONS.iter().filter_map(|row| row.heading).collect();
        assert_eq!(headings.join("\n"), SECTION_TEMPLATE);
    }

    #[test]
    fn each_section_has_one_row_at_its_index() {
        assert!(SECTIONS.iter().enumerate().all(|(at, row)| row.section as usize == at));
    }
}
