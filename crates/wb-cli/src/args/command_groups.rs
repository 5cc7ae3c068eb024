//! The commands in groups, as `wb --help` lists them.

use std::fmt::Write as _;

use clap::Command;

use crate::terminal::style::HEAD;
use crate::terminal::wrap::wrapped;

/// The groups, each with its commands in the order of use.
const GROUPS: [(&str, &[&str]); 4] = [
    (
        "Every day",
        &[
            "weigh", "compact", "plan", "view", "undo", "redo", "log", "show", "pin", "unpin", "drop",
            "recall",
        ],
    ),
    ("Trouble", &["doctor", "validate", "repair", "convert", "audit"]),
    ("Study", &["compare", "replay", "fleet", "models", "formats", "session"]),
    (
        "Agents and settings",
        &["install", "uninstall", "config", "statusline", "hook", "mcp", "api", "completions", "man"],
    ),
];
/// The columns before a description.
const INDENT: usize = 15;

/// Lists the commands in groups in the help of `wb`, on lines of this many columns.
pub(crate) fn with_groups(command: Command, columns: usize) -> Command {
    let groups = GROUPS.iter().map(|(title, names)| group(&command, title, names, columns));
    let groups: String = groups.collect();
    let template = format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n{groups}\n{HEAD}Options:{HEAD:#}\n{{options}}{{after-help}}"
    );
    command.help_template(template)
}

fn group(command: &Command, title: &str, names: &[&str], columns: usize) -> String {
    let mut text = format!("\n{HEAD}{title}:{HEAD:#}\n");
    for known in names.iter().filter_map(|name| command.find_subcommand(name)) {
        let about = known.get_about().map(ToString::to_string).unwrap_or_default();
        let lead = format!("  {:<1$}", known.get_name(), INDENT - 2);
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{}", wrapped(&lead, INDENT, &about, columns));
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn every_command_is_in_one_group() {
        let mut grouped: Vec<&str> = GROUPS.iter().flat_map(|(_, names)| names.iter().copied()).collect();
        let command = Cli::command();
        let all = command.get_subcommands().filter(|it| !it.is_hide_set()).map(Command::get_name);
        let mut all: Vec<&str> = all.collect();
        all.sort_unstable();
        grouped.retain(|name| command.find_subcommand(name).is_some());
        grouped.sort_unstable();
        assert_eq!(grouped, all);
    }
}
