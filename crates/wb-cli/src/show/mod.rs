//! What people read.

pub(crate) mod meter;
pub(crate) mod outline;
pub(crate) mod report;
pub(crate) mod session_line;
pub(crate) mod table;
