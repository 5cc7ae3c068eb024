//! The time that commands take.

pub(crate) mod bindings;
pub(crate) mod dist;
pub(crate) mod growth;
pub(crate) mod instructions;
