//! The command's access to the system: variables, folders, the clock.

pub(crate) mod environment;
pub(crate) mod clock;
