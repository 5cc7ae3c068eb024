//! `wb config set`, `unset` and `edit`: changes of a settings file that keep its comments.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use serde::Serialize;
use toml_edit::{DocumentMut, Item, Key, Table, Value};
use wb_record::{FileError, write_new};

use super::EXAMPLE;
use crate::session::config::{checked_settings, scope};
use crate::session::project_file::PROJECT_FILE;
use crate::terminal::escape::escaped;
use crate::terminal::file_error::not_file_written;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;
use crate::terminal::user_error::{UserError, in_words};

/// The answer of `wb config set --json` and `wb config unset --json`.
#[derive(Serialize)]
struct ChangedSetting<'a> {
    file: &'a Path,
    key: &'a str,
    /// None if it is not set any more.
    value: Option<String>,
    previous: Option<String>,
}

/// A settings file that is being changed.
struct SettingsFile {
    path: PathBuf,
    is_new: bool,
    document: DocumentMut,
}

/// Sets a key.
pub(crate) fn set(shell: &Shell, key: &str, value: &str, is_project: bool) -> Result<()> {
    let mut file = SettingsFile::open(shell, is_project)?;
    let path = Key::parse(key).map_err(|error| no_key(key, &error.to_string()))?;
    let [above @ .., last] = path.as_slice() else { return Err(no_key(key, "it is empty").into()) };
    let mut table: &mut dyn toml_edit::TableLike = file.document.as_table_mut();
    for part in above {
        let implicit = || {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        };
        let inner = table.entry(part.get()).or_insert_with(implicit);
        table = inner.as_table_like_mut().ok_or_else(|| no_key(key, "a part of it is no table"))?;
    }
    let value = parse(last.get(), value);
    let previous = table.get(last.get()).map(bare);
    match table.get_mut(last.get()).and_then(Item::as_value_mut) {
        Some(old) => {
            let decor = old.decor().clone();
            *old = value.clone();
            *old.decor_mut() = decor;
        }
        None => _ = table.insert(last.get(), Item::Value(value.clone())),
    }
    file.write()?;
    let value = Some(value.to_string().trim().to_owned());
    report(shell, &ChangedSetting { file: &file.path, key, value, previous })
}

/// Removes a key, so that the default counts.
pub(crate) fn unset(shell: &Shell, key: &str, is_project: bool) -> Result<()> {
    let mut file = SettingsFile::open(shell, is_project)?;
    let path = Key::parse(key).map_err(|error| no_key(key, &error.to_string()))?;
    let [above @ .., last] = path.as_slice() else { return Err(no_key(key, "it is empty").into()) };
    let mut table: Option<&mut dyn toml_edit::TableLike> = Some(file.document.as_table_mut());
    for part in above {
        table = table.and_then(|table| table.get_mut(part.get())?.as_table_like_mut());
    }
    let removed = table.and_then(|table| table.remove(last.get()));
    let Some(removed) = removed else {
        let hint = "`wb config` shows the settings with their files";
        let name = shell.environment.tilde(&file.path);
        return Err(UserError::of_file(name, format!("{key} is not set there"), hint).into());
    };
    file.write()?;
    let previous = Some(bare(&removed));
    report(shell, &ChangedSetting { file: &file.path, key, value: None, previous })
}

/// Opens the file in the user's editor, and checks it afterwards.
pub(crate) fn edit(shell: &Shell, is_project: bool) -> Result<()> {
    let path = path(shell, is_project)?;
    if !path.exists() {
        write(&path, EXAMPLE)?;
    }
    let editor = shell.environment.editor.as_deref().unwrap_or("vi");
    // The variable may have options, as in `code --wait`.
    let line = format!("{editor} \"$1\"");
    let ended = Command::new("sh").args(["-c", &line, "sh"]).arg(&path).status();
    let hint = "set VISUAL or EDITOR to your editor";
    match ended {
        Err(error) => Err(UserError::new(format!("{editor}: {}", in_words(&error)), hint).into()),
        Ok(status) if !status.success() => {
            Err(UserError::new(format!("{editor} ended with {status}"), hint).into())
        }
        Ok(_) => {
            let text = fs::read_to_string(&path).unwrap_or_default();
            checked_settings(&path, &text)?;
            let name = shell.environment.tilde(&path);
            shell.print(|page| writeln!(page, "{}: the settings are valid", escaped(&name)))
        }
    }
}

impl SettingsFile {
    fn open(shell: &Shell, is_project: bool) -> Result<Self, UserError> {
        let path = path(shell, is_project)?;
        let (text, is_new) = match fs::read_to_string(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => (String::new(), true),
            Err(error) => {
                let what = format!("cannot be read: {}", in_words(&error));
                let file = path.display().to_string();
                return Err(UserError::of_file(file, what, "check that the file may be read"));
            }
            Ok(text) => (text, false),
        };
        // It says where the fault is, as when the settings are read.
        checked_settings(&path, &text)?;
        let document = text.parse().map_err(|error: toml_edit::TomlError| {
            UserError::of_file(path.display().to_string(), error.message(), "repair it: wb config edit")
        })?;
        Ok(Self { path, is_new, document })
    }

    /// Writes what the settings may be; anything else leaves the file as it is.
    fn write(&self) -> Result<(), UserError> {
        let text = self.document.to_string();
        checked_settings(&self.path, &text).map_err(|error| UserError { line: None, ..error })?;
        if self.is_new
            && let Some(folder) = self.path.parent()
        {
            fs::create_dir_all(folder).map_err(|error| {
                UserError::of_file(folder.display().to_string(), in_words(&error), "make the folder first")
            })?;
        }
        write(&self.path, &text)
    }
}

/// Returns the file to change: the user's, or that of the project in the working folder.
fn path(shell: &Shell, is_project: bool) -> Result<PathBuf, UserError> {
    let environment = &shell.environment;
    let folder = if is_project { environment.working.as_deref() } else { environment.config.as_deref() };
    let name = if is_project { PROJECT_FILE } else { "config.toml" };
    let none = || UserError::new("there is no folder for settings", "set HOME or XDG_CONFIG_HOME");
    Ok(folder.ok_or_else(none)?.join(name))
}

fn write(path: &Path, text: &str) -> Result<(), UserError> {
    if let Some(folder) = path.parent() {
        // Writing says why it failed.
        let _ = fs::create_dir_all(folder);
    }
    let mode_of = Some(path).filter(|path| path.exists());
    let failed = |source| FileError::Io { path: path.to_owned(), doing: "writing it", source };
    write_new(path, mode_of, true, |out: &mut dyn Write| out.write_all(text.as_bytes()).map_err(failed))
        .map_err(|error| not_file_written(path, &error))
}

/// Reads a value as TOML, and words that are none as a text; a single sentence to pin is a list.
fn parse(key: &str, text: &str) -> Value {
    let value = text.parse().unwrap_or_else(|_| Value::from(text));
    match value {
        Value::String(sentence) if key == "pin" => Value::from_iter([sentence.into_value()]),
        value => value,
    }
}

/// Returns a value without the comment behind it.
fn bare(item: &Item) -> String {
    let value = item.as_value().map(|value| value.clone().decorated("", "").to_string());
    value.unwrap_or_else(|| item.to_string().trim().to_owned())
}

fn no_key(key: &str, why: &str) -> UserError {
    let why = why.lines().last().unwrap_or_default();
    UserError::new(format!("`{key}` is no key: {why}"), "`wb config` lists the keys")
}

fn report(shell: &Shell, changed: &ChangedSetting<'_>) -> Result<()> {
    if shell.is_json {
        return shell.print_json(changed);
    }
    let key = escaped(changed.key);
    let file = shell.environment.tilde(changed.file);
    let previous =
        changed.previous.as_deref().map_or_else(|| "not set".to_owned(), |it| escaped(it).into_owned());
    shell.print(|page| match &changed.value {
        Some(value) => {
            writeln!(page, "{key} = {}  (was {previous}) in {}", escaped(value), escaped(&file))?;
            scope(changed.key)
                .map_or(Ok(()), |scope| page.prose("", 2, &format!("{DIM}counts {scope}{DIM:#}")))
        }
        None => writeln!(page, "{key} is not set any more (was {previous}) in {}", escaped(&file)),
    })
}
