//! Writes output to a terminal.

pub(crate) mod number;
pub(crate) mod escape;
pub(crate) mod style;
pub(crate) mod exit_code;
pub(crate) mod user_error;
pub(crate) mod wrap;
pub(crate) mod json_layout;
pub(crate) mod file_error;
pub(crate) mod pager;
pub(crate) mod shell;
pub(crate) mod table;
