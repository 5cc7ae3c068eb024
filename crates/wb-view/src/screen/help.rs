//! The keys, and what the marks mean.

/// The lines of the help.
pub(super) const HELP: [&str; 17] = [
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
    "These write into the session, after a question:",
    "  c compact    u undo    r redo",
    "",
    "Marks: what the next compaction would do",
    "  - folded into the digest   ~ cleared   < shortened",
    "",
    "#12 is the number of a message, as `wb recall` counts.",
];
