//! Runs a command, for a limited time.

use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncRead, AsyncReadExt as _};
use tokio::process::{Child, Command};
use tokio_util::sync::CancellationToken;
use wb_message::ToolDescriptor;

use super::{STOPPED, ToolLimits, tool, wanted};
use crate::sandbox::Sandbox;

/// The environment variables that a command gets; keys of providers are excluded.
const ENVIRONMENT: [&str; 9] =
    ["PATH", "HOME", "LANG", "LC_ALL", "TERM", "TMPDIR", "USER", "CARGO_HOME", "RUSTUP_HOME"];

pub(super) fn descriptor(timeout: Duration) -> ToolDescriptor {
    let properties = json!({ "command": { "type": "string" } });
    let description = format!("Runs a command in bash, for at most {} seconds.", timeout.as_secs());
    tool("bash", &description, properties, &["command"])
}

pub(super) async fn run(
    sandbox: &Sandbox,
    input: &Value,
    limits: ToolLimits,
    cancel: &CancellationToken,
) -> Result<String, String> {
    let mut child = begin(sandbox, wanted(input, "command")?).map_err(|error| format!("bash: {error}"))?;
    let timeout = limits.command_timeout;
    let mut printed = Printed::new(limits.max_result_bytes);
    let ended = tokio::select! {
        ended = follow(&mut child, &mut printed) => ended.map_err(|error| format!("bash: {error}")),
        () = cancel.cancelled() => Err(STOPPED.to_owned()),
        () = tokio::time::sleep(timeout) => Err(format!("[Stopped after {timeout:?}]")),
    };
    stop(&mut child).await;
    let output = printed.text();
    match ended {
        Ok(0) => Ok(output),
        Ok(code) => Err(format!("{output}\n[exit code {code}]")),
        Err(why) => Err(format!("{output}\n{why}")),
    }
}

fn begin(sandbox: &Sandbox, command: &str) -> std::io::Result<Child> {
    let kept = ENVIRONMENT.iter().filter_map(|name| Some((name, std::env::var_os(name)?)));
    // Both streams in one, in the order of the writes.
    let mut bash = Command::new("bash");
    bash.arg("-c").arg(format!("exec 2>&1\n{command}")).current_dir(sandbox.root());
    bash.env_clear().envs(kept).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    #[cfg(unix)]
    bash.process_group(0);
    bash.kill_on_drop(true).spawn()
}

/// Reads the output until the command ends, without waiting for processes that it left running.
async fn follow(child: &mut Child, printed: &mut Printed) -> std::io::Result<i32> {
    let mut out = child.stdout.take();
    let status = loop {
        tokio::select! {
            more = read(&mut out, printed) => if !more? { break child.wait().await? },
            status = child.wait() => break status?,
        }
    };
    // The last output may still be in the pipe.
    let rest = async { while read(&mut out, printed).await.unwrap_or(false) {} };
    let _ = tokio::time::timeout(Duration::from_millis(50), rest).await;
    Ok(status.code().unwrap_or(-1))
}

async fn read(out: &mut Option<impl AsyncRead + Unpin>, printed: &mut Printed) -> std::io::Result<bool> {
    let Some(out) = out else { return Ok(false) };
    let mut chunk = vec![0; 8 * 1024];
    let n = out.read(&mut chunk).await?;
    printed.take(&chunk[..n]);
    Ok(n > 0)
}

/// Kills a command with all its processes.
async fn stop(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = child.id() {
        // Without `unsafe` there is no other way to signal a process group.
        let mut kill = Command::new("kill");
        kill.args(["-KILL", "--", &format!("-{group}")]).stdout(Stdio::null()).stderr(Stdio::null());
        let _ = kill.status().await;
    }
    let _ = child.kill().await;
}

/// Bytes reserved for remarks on the output: the omitted part, the exit status.
const MARK_BYTES: usize = 100;

/// The start and the end of a command's output, however long it is.
struct Printed {
    start: Vec<u8>,
    end: Vec<u8>,
    n_left_out: usize,
    half: usize,
}

impl Printed {
    fn new(max_bytes: usize) -> Self {
        Self {
            start: Vec::new(),
            end: Vec::new(),
            n_left_out: 0,
            half: max_bytes.saturating_sub(MARK_BYTES) / 2,
        }
    }

    fn take(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.half - self.start.len()));
        self.start.extend(first);
        self.end.extend(rest);
        // Twice the room, so that not each piece moves all of it.
        if self.end.len() > 2 * self.half {
            self.cut();
        }
    }

    fn cut(&mut self) {
        let n = self.end.len().saturating_sub(self.half);
        self.n_left_out += n;
        self.end.drain(..n);
    }

    fn text(mut self) -> String {
        self.cut();
        let (start, end) = (String::from_utf8_lossy(&self.start), String::from_utf8_lossy(&self.end));
        let cut = match self.n_left_out {
            0 => String::new(),
            n => format!("\n[… {n} bytes left out …]\n"),
        };
        [start.as_ref(), &cut, &end].concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_and_the_end_of_a_long_output_are_kept() {
        let mut printed = Printed::new(MARK_BYTES + 20);
        for n in 0..1_000 {
            printed.take(format!("{n} ").as_bytes());
        }
        assert_eq!(printed.text(), "0 1 2 3 4 \n[… 3870 bytes left out …]\n7 998 999 ");
    }
}
