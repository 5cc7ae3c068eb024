//! A digest as a document: six headings with their entries.
//!
//! [`Sections`] parses a digest and writes it again; [`shortened_digest`] brings it within a limit,
//! section by section. [`labels`] holds the words that begin its entries, and [`Heading`] detects
//! headings in any form that models write.
//!
//! ```
//! use wb_digest::{Section, Sections};
//!
//! let digest = Sections::parse("# Objective\n- Port the importer.\n\n# Plan\n- [ ] Run the tests.");
//! assert_eq!(digest.entries(Section::Objective), ["- Port the importer."]);
//! ```

pub mod labels;
pub mod heading;
mod shortened_entry;
pub mod digest;

pub use digest::{Section, Sections, completed, shortened_digest};
pub use heading::{Heading, SECTION_TEMPLATE};
