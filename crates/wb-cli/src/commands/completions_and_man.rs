//! Completions of shells, and the manual.

use std::io;

use anyhow::Result;
use clap::{Command, CommandFactory};

use crate::args::{Cli, Completions, Manual};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// Prints the completions of a shell.
pub(crate) fn completions(shell: &Shell, args: &Completions) -> Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "wb", &mut script);
    shell.print(|page| io::Write::write_all(page, &script))
}

/// Prints the manual page of a command, in roff.
pub(crate) fn manual(shell: &Shell, args: &Manual) -> Result<()> {
    let page_of = clap_mangen::Man::new(named(&args.command)?);
    let mut roff = Vec::new();
    page_of.render(&mut roff)?;
    shell.print(|page| io::Write::write_all(page, &roff))
}

/// Finds a command by its words.
fn named(words: &[String]) -> Result<Command, UserError> {
    let mut command = Cli::command();
    command.build();
    for word in words {
        let known = command
            .get_subcommands()
            .find(|it| it.get_name() == word || it.get_all_aliases().any(|alias| alias == word));
        let Some(known) = known.cloned() else {
            let names: Vec<&str> = command.get_subcommands().map(Command::get_name).collect();
            let hint = format!("there are {}", names.join(", "));
            return Err(UserError::new(
                format!("{} has no command {word}", command.get_bin_name().unwrap_or("wb")),
                hint,
            ));
        };
        command = known;
    }
    Ok(command.version(env!("CARGO_PKG_VERSION")))
}
