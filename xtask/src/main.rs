//! The checks of this repository, as one program.
fn main() {}
