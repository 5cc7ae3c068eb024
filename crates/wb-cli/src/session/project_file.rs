//! A project's settings file, which counts only in a folder that the user trusts: anyone who can
//! write the project can write it.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Result;
use wb_record::{FileError, write_new};

use crate::platform::environment::Environment;
use crate::terminal::escape::escaped;
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// The name of a project's file, in its folder or one above.
pub(crate) const PROJECT_FILE: &str = ".wb.toml";

/// The name of the list of trusted folders, one path a line, next to the user's settings.
const TRUSTED: &str = "trusted-folders";

/// A project's file.
#[derive(Debug)]
pub(crate) struct ProjectFile {
    pub(crate) path: PathBuf,
    /// The reason that it does not count.
    pub(crate) ignored: Option<&'static str>,
}

impl ProjectFile {
    /// Finds the file of a folder, which is there or in the nearest folder above that has one.
    pub(crate) fn find(environment: &Environment, folder: &Path) -> Option<Self> {
        let path = folder.ancestors().map(|it| it.join(PROJECT_FILE)).find(|it| it.is_file())?;
        let ignored = match () {
            () if is_of_another(environment, &path) => {
                Some("it belongs to another user, or others may write it")
            }
            () if !is_trusted(environment, &path) => Some("its folder is not trusted"),
            () => None,
        };
        Some(Self { path, ignored })
    }
}

/// Returns whether another user owns a file, or may write it.
#[cfg(unix)]
fn is_of_another(environment: &Environment, path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    const OTHERS_MAY_WRITE: u32 = 0o002;
    let Ok(file) = fs::metadata(path) else { return true };
    let user = environment.home.as_deref().and_then(|home| fs::metadata(home).ok()).map(|home| home.uid());
    file.mode() & OTHERS_MAY_WRITE != 0 || user.is_some_and(|user| user != file.uid())
}

#[cfg(not(unix))]
fn is_of_another(_: &Environment, _: &Path) -> bool {
    false
}

fn is_trusted(environment: &Environment, file: &Path) -> bool {
    let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
    folder.is_some_and(|folder| trusted(environment).contains(&folder))
}

fn trusted(environment: &Environment) -> Vec<PathBuf> {
    let list = environment.config.as_deref().map(|config| config.join(TRUSTED));
    let text = list.and_then(|list| fs::read_to_string(list).ok()).unwrap_or_default();
    text.lines().filter(|line| !line.is_empty()).map(PathBuf::from).collect()
}

/// Trusts the settings file of a folder, or trusts it no longer.
pub(crate) fn set_trust(shell: &Shell, folder: Option<&Path>, is_trusted: bool) -> Result<()> {
    let environment = &shell.environment;
    let named = folder.or(environment.working.as_deref()).unwrap_or(Path::new("."));
    let fails = |error: std::io::Error| {
        UserError::of_file(named.display().to_string(), error.to_string(), "name the project's folder")
    };
    let folder = named.canonicalize().map_err(fails)?;
    if folder.to_str().is_none_or(|path| path.contains('\n')) {
        return Err(UserError::new("the path of the folder is not text", "rename the folder").into());
    }
    if is_trusted && !folder.join(PROJECT_FILE).is_file() {
        let what = format!("there is no {PROJECT_FILE} in this folder");
        let hint = "name the folder that has one; `wb config edit --project` makes one";
        return Err(UserError::of_file(named.display().to_string(), what, hint).into());
    }
    let Some(config) = environment.config.as_deref() else {
        return Err(UserError::new("there is no folder for settings", "set HOME or XDG_CONFIG_HOME").into());
    };
    let mut folders = trusted(environment);
    folders.retain(|known| *known != folder);
    if is_trusted {
        folders.push(folder.clone());
    }
    fs::create_dir_all(config).map_err(fails)?;
    let list = config.join(TRUSTED);
    write_new(&list, None, true, |out: &mut dyn Write| {
        let lines = folders.iter().fold(String::new(), |lines, it| lines + &it.to_string_lossy() + "\n");
        let failed = |source| FileError::Io { path: list.clone(), doing: "writing it", source };
        out.write_all(lines.as_bytes()).map_err(failed)
    })?;
    let folder = escaped(&environment.tilde(&folder)).into_owned();
    shell.print(|page| {
        let state = if is_trusted { "trusted" } else { "not trusted any more" };
        Ok(writeln!(page, "{folder}: {PROJECT_FILE} is {state}")?)
    })
}
