//! What people read.

pub(crate) mod meter;
pub(crate) mod outline;
pub(crate) mod report;
pub(crate) mod row;
pub(crate) mod table;
