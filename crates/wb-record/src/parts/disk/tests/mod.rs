//! Changes of files on a disk that fails at any step.

mod power;
pub(crate) mod simulated;
