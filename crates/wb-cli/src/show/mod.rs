//! What people read.

pub(crate) mod style;
pub(crate) mod meter;
pub(crate) mod outline;
pub(crate) mod report;
