//! The keys, and what the marks mean.

/// The lines of the help.
pub(super) const HELP: [&str; 19] = [
    "Keys                              any key closes this",
    "",
    "  Tab, ← →        next or previous part",
    "  ↑ ↓ PgUp PgDn   move; also j, k, g, G and the space bar",
    "  Enter           read the message, or go to the source of a line",
    "  /               search the whole session, also what was folded",
    "  s               sort by weight, or in order",
    "  Esc             close what was found, back to the list",
    "  q               quit",
    "",
    "These write, after a question:",
    "  c compact    u undo    r redo",
    "  p pin the message, or unpin it: every later digest has its text",
    "  d drop it, or no longer: later compactions fold it first",
    "",
    "Marks: what the next compaction would do",
    "  - folded into the digest   ~ cleared   < shortened",
    "",
    "#12 is the number of a message, as `wb recall` counts.",
];
