//! `wb api`: one call in JSON.

use std::io::{self, Read, Write};

use anyhow::Result;

use crate::terminal::exit_code::Exit;
use crate::terminal::shell::Shell;

/// Carries out the call on standard input.
pub(crate) fn api(shell: &Shell) -> Result<Exit> {
    let mut call = String::new();
    io::stdin().lock().read_to_string(&mut call)?;
    let answer = shell.timed("calling", || wb_bind::call(&call));
    let mut out = io::stdout().lock();
    writeln!(out, "{answer}")?;
    out.flush()?;
    Ok(if wb_bind::is_error(&answer) { Exit::Failed } else { Exit::Done })
}
