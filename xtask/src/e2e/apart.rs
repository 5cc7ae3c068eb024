//! Running this program again where only the loopback address is reached, if the machine allows it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Brings up the loopback address and becomes the program that follows.
const ENTER: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// The ways in: as root, or as a user who is root in a name space of his own.
const WAYS: [&[&str]; 2] = [&["-n"], &["-r", "-n"]];

/// Returns how a network of its own is had here, if it is.
pub(crate) fn way() -> Option<&'static [&'static str]> {
    WAYS.into_iter().find(|way| {
        let mut tried = entered(way, Path::new("true"));
        tried.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        tried.status().is_ok_and(|status| status.success())
    })
}

/// Returns a program that runs there.
pub(crate) fn entered(way: &[&str], program: &Path) -> Command {
    let mut command = Command::new("unshare");
    command.args(way).args(["sh", "-c", ENTER]).arg(program);
    command
}
