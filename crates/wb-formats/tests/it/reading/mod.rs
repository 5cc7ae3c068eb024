//! Reading: composed files, refusals, and real sessions.

pub(crate) mod composed;
pub(crate) mod refused;
pub(crate) mod message_lists;
pub(crate) mod server_blocks;
pub(crate) mod traces;
pub(crate) mod native;
pub(crate) mod sessions;
pub(crate) mod usage;
