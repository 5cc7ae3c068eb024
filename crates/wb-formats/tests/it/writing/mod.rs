//! Writing: the laws of every writable format, undo, and conversion.

pub(crate) mod laws;
pub(crate) mod promises;
pub(crate) mod history;
pub(crate) mod rounds;
pub(crate) mod blocks;
pub(crate) mod round_trips;
