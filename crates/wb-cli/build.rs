//! How the program that users install is linked.

use std::env;

/// Leaves out the index of the tables by which a panic unwinds, in the profile that is built small: it aborts.
fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |key: &str, value: &str| env::var(key).is_ok_and(|it| it == value);
    if is("OPT_LEVEL", "z") && is("CARGO_CFG_TARGET_OS", "linux") {
        println!("cargo::rustc-link-arg-bins=-Wl,--no-eh-frame-hdr");
    }
}
