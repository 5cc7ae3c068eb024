//! A digest as a document: six headings with their entries.
//!
//! [`Sections`] parses and renders a digest; [`shorten_digest`] shortens it to a limit, section by
//! section. [`labels`] contains the words that begin its entries, and [`Heading`] detects headings
//! in any form that models write.
//!
//! ```
//! use wb_digest::{Section, Sections};
//!
//! let digest = Sections::parse("# Objective\n- Port the importer.\n\n# Plan\n- [ ] Test it.");
//! assert_eq!(digest.entries(Section::Objective), ["- Port the importer."]);
//! ```

pub mod labels;
mod omitted_requests;
mod heading;
mod section;
mod quote;
mod shortened_entry;
mod digest;
mod redact;

pub use digest::{Sections, add_missing_sections, shorten_digest};
pub use heading::{Heading, SECTION_TEMPLATE};
pub use omitted_requests::OmittedRequests;
pub use quote::{quote_behind_label, quote_in_line, quote_line, quote_numbered};
pub use redact::{Redacted, redact};
pub use section::Section;
