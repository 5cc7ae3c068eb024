//! Running this program again where only the loopback address is reached, if the machine allows it.

use std::path::Path;
use std::process::{Command, Stdio};

/// Brings up the loopback address and becomes the program that follows.
const ENTER: &str = "ip link set lo up && exec \"$0\" \"$@\"";

/// The ways in: as root, or as a user who is root in a name space of his own.
const WAYS: [&[&str]; 2] = [&["-n"], &["-r", "-n"]];

/// Returns the way to get a separate network on this system, if there is one.
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

/// Returns whether this program runs there.
pub(crate) fn is_here() -> bool {
    let interfaces = std::fs::read_to_string("/proc/self/net/dev").unwrap_or_default();
    let mut names = interfaces.lines().filter_map(|line| line.split_once(':')).map(|(name, _)| name.trim());
    names.next() == Some("lo") && names.next().is_none()
}

/// Returns the ports that any program listens on here.
pub(crate) fn listeners() -> Vec<u16> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    tables.iter().flat_map(|table| listening(&std::fs::read_to_string(table).unwrap_or_default())).collect()
}

/// Reads the ports from a table of connections: `sl local_address rem_address st …`, all numbers
/// hexadecimal.
fn listening(table: &str) -> Vec<u16> {
    let port = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (_, port) = fields.get(1)?.rsplit_once(':')?;
        if *fields.get(3)? == "0A" { u16::from_str_radix(port, 16).ok() } else { None }
    };
    table.lines().filter_map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listening_ports_are_distinguished_from_connections() {
        let table = "  sl  local_address rem_address   st tx_queue\n\
               0: 0100007F:1F90 00000000:0000 0A 00000000:00000000\n\
               1: 0100007F:C350 0100007F:1F90 01 00000000:00000000\n";
        assert_eq!(listening(table), [8080]);
    }
}
