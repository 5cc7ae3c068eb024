//! Tools to read and write a format.

pub(crate) mod usage;
pub(crate) mod loose;
pub(crate) mod json_text;
pub(crate) mod json_or_lines;
pub(crate) mod line_separators;
pub(crate) mod fields;
pub(crate) mod skips;
pub(crate) mod log;
pub(crate) mod draft;
pub(crate) mod appended;
pub(crate) mod records;
pub(crate) mod picture;
pub(crate) mod message_list;
pub(crate) mod json_in_string;
pub(crate) mod missing_roles;
pub(crate) mod list_render;
pub(crate) mod list_document;
pub(crate) mod request_probe;
