//! What the command gets from the system: variables, folders, the clock.

pub(crate) mod environment;
pub(crate) mod clock;
