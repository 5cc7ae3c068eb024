//! `wb config`: shows the settings in effect, and changes them.

mod edit;

use std::io::Write;

use anyhow::Result;
use serde::Serialize;

use crate::args::config::{ConfigAction, KEYS};
use crate::session::config::{Config, Ignored, SettingRow, scope};
use crate::session::project_file::set_trust;
use crate::terminal::escape::escaped;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;

/// The settings file that sets nothing, with every key explained.
pub(crate) const EXAMPLE: &str = include_str!("example.toml");

/// The answer of `wb config --json`.
#[derive(Serialize)]
struct SettingsJson<'a> {
    settings: &'a [SettingRow],
    #[serde(skip_serializing_if = "Option::is_none")]
    ignored: Option<&'a Ignored>,
}

/// Shows the settings in effect here, with their sources, or changes some.
pub(crate) fn config(shell: &Shell, action: Option<&ConfigAction>) -> Result<()> {
    match action {
        Some(ConfigAction::Set { key, value, project }) => edit::set(shell, key, value, *project),
        Some(ConfigAction::Unset { key, project }) => edit::unset(shell, key, *project),
        Some(ConfigAction::Edit { project }) => edit::edit(shell, *project),
        Some(ConfigAction::Example) => shell.print(|page| write!(page, "{EXAMPLE}")),
        Some(ConfigAction::Trust { folder }) => set_trust(shell, folder.as_deref(), true),
        Some(ConfigAction::Untrust { folder }) => set_trust(shell, folder.as_deref(), false),
        None => show(shell),
    }
}

fn show(shell: &Shell) -> Result<()> {
    let config = Config::read(&shell.environment, shell.environment.working.as_deref())?;
    if shell.is_json {
        return shell.print_json(&SettingsJson { settings: &config.rows, ignored: config.ignored.as_ref() });
    }
    shell.print(|page| {
        for SettingRow { key, value, from } in &config.rows {
            let from = from.as_deref().map_or_else(|| "default".to_owned(), |it| shell.environment.tilde(it));
            writeln!(page, "{key} = {}  {DIM}{}{DIM:#}", escaped(value), escaped(&from))?;
        }
        for key in ["trigger_ratio", "images"] {
            let Some(scope) = scope(key) else { continue };
            let keys: Vec<&str> = KEYS.into_iter().filter(|it| self::scope(it) == Some(scope)).collect();
            page.prose("", 2, &format!("{DIM}{}: {scope}{DIM:#}", keys.join(", ")))?;
        }
        if let Some(Ignored { path, why }) = &config.ignored {
            let file = shell.environment.tilde(path);
            writeln!(page, "{} is ignored: {why}; to trust its folder: wb config trust", escaped(&file))?;
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::hosts::HOSTS;
    use crate::session::config::checked_settings;

    #[test]
    fn the_example_sets_nothing_and_is_valid_once_it_does() {
        let path = Path::new("config.toml");
        checked_settings(path, EXAMPLE).unwrap();
        let is_setting = |line: &&str| line.starts_with('#') && !line.starts_with("# ");
        let set: Vec<&str> = EXAMPLE.lines().filter(is_setting).map(|line| &line[1..]).collect();
        checked_settings(path, &set.join("\n")).unwrap();
        let names = KEYS.into_iter().chain(HOSTS.iter().map(|host| host.name));
        for name in names {
            assert!(set.iter().any(|line| line.starts_with(&format!("{name} = "))), "{name}");
        }
    }
}
