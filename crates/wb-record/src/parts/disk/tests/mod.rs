//! Changes of files on a disk that fails at any step.

mod power;
mod simulated;
