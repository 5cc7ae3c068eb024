//! The program as `cargo xtask` runs it.

use std::process::Command;

#[test]
fn unknown_words_print_the_usage() {
    let output = Command::new(env!("CARGO_BIN_EXE_wb-e2e")).arg("e3e").output().unwrap();
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("usage: cargo xtask attack|e2e"));
}
