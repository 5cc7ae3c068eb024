//! Names of databases on the command line: their passwords are taken out before anything can print
//! them.

use std::ffi::OsString;
use std::path::Path;

use crate::terminal::user_error::UserError;

#[cfg(feature = "postgres")]
pub(crate) use self::passwords::{password_of, set_sources};

/// The beginnings of the name of a database.
const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];
/// The global options that have a value.
const WITH_VALUE: [&str; 2] = ["--color", "--format"];

/// Returns whether a path is the name of a database, or of a session in one.
pub(crate) fn is_database(path: &Path) -> bool {
    path.to_str().is_some_and(|text| SCHEMES.iter().any(|scheme| text.starts_with(scheme)))
}

/// Takes the passwords out of the words of a command line. A name of a database alone lists its
/// sessions.
pub(crate) fn take_passwords(words: Vec<OsString>) -> Result<Vec<OsString>, UserError> {
    let words: Vec<OsString> = words.into_iter().map(without_password).collect::<Result<_, _>>()?;
    Ok(with_command(words))
}

/// Takes the password out of a word that is a database, or an option with one.
fn without_password(word: OsString) -> Result<OsString, UserError> {
    let Some(text) = word.to_str() else { return Ok(word) };
    let start = SCHEMES.iter().find_map(|scheme| text.find(scheme));
    let is_value = |at: &usize| *at == 0 || text.starts_with('-') && text[..*at].ends_with('=');
    let Some(at) = start.filter(is_value) else { return Ok(word) };
    bare(&text[at..]).map(|name| format!("{}{name}", &text[..at]).into())
}

#[cfg(feature = "postgres")]
fn bare(url: &str) -> Result<String, UserError> {
    use wb_session::store::postgres::take_password;

    let (name, password) =
        take_password(url).map_err(|error| UserError::new(error.to_string(), error.hint()))?;
    if let Some(password) = password {
        passwords::remember(&name, password);
    }
    Ok(name)
}

#[cfg(not(feature = "postgres"))]
fn bare(_: &str) -> Result<String, UserError> {
    Err(UserError::new(
        "this `wb` reads no databases",
        "install one that was built with the feature `postgres`",
    ))
}

/// Inserts the command before a database that is the first word.
fn with_command(mut words: Vec<OsString>) -> Vec<OsString> {
    let mut at = 1;
    while let Some(word) = words.get(at).and_then(|word| word.to_str()).filter(|word| word.starts_with('-')) {
        at += if WITH_VALUE.contains(&word) { 2 } else { 1 };
    }
    if words.get(at).is_some_and(|word| is_database(Path::new(word))) {
        words.insert(at, "weigh".into());
    }
    words
}

#[cfg(feature = "postgres")]
mod passwords {
    use std::path::PathBuf;
    use std::sync::{Mutex, OnceLock, PoisonError};

    use crate::platform::environment::Environment;

    /// The passwords of the command line, each with the name that it was taken out of.
    static GIVEN: Mutex<Vec<(String, String)>> = Mutex::new(Vec::new());
    static SOURCES: OnceLock<PasswordSources> = OnceLock::new();

    /// The sources of a password that the command line does not contain.
    #[derive(Clone, Default)]
    pub(crate) struct PasswordSources {
        pub(crate) variable: Option<String>,
        pub(crate) file: Option<PathBuf>,
    }

    pub(super) fn remember(name: &str, password: String) {
        GIVEN.lock().unwrap_or_else(PoisonError::into_inner).push((database_of(name).to_owned(), password));
    }

    /// Sets the sources for the rest of the run.
    pub(crate) fn set_sources(environment: &Environment) {
        let variable = std::env::var("PGPASSWORD").ok().filter(|it| !it.is_empty());
        let file = environment.pg_password_file.clone();
        SOURCES.get_or_init(|| PasswordSources { variable, file });
    }

    /// Returns the password that the command line has for a database, and the other sources.
    pub(crate) fn password_of(name: &str) -> (Option<String>, PasswordSources) {
        let given = GIVEN.lock().unwrap_or_else(PoisonError::into_inner);
        let known = given.iter().find(|(of, _)| of == database_of(name));
        (known.map(|(_, password)| password.clone()), SOURCES.get().cloned().unwrap_or_default())
    }

    /// Returns a name without the session.
    fn database_of(name: &str) -> &str {
        name.split('#').next().unwrap_or_default()
    }
}

#[cfg(test)]
#[cfg(feature = "postgres")]
mod tests {
    use super::*;

    fn taken(words: &[&str]) -> Result<Vec<String>, String> {
        let words = take_passwords(words.iter().map(OsString::from).collect());
        let text = |word: OsString| word.into_string().unwrap();
        words.map(|words| words.into_iter().map(text).collect()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_password_stays_on_no_command_line() {
        let words =
            taken(&["wb", "undo", "postgres://u:pw@h/d#s", "--x=postgres://u:pw@h/d", "a postgres://u:pw@h"]);
        let expected = ["wb", "undo", "postgres://u@h/d#s", "--x=postgres://u@h/d", "a postgres://u:pw@h"];
        assert_eq!(words.unwrap(), expected);
        assert_eq!(password_of("postgres://u@h/d#other").0.as_deref(), Some("pw"));
        assert_eq!(password_of("postgres://u@h/e").0, None);
        assert!(!taken(&["wb", "postgres://u:p#w@h/d"]).unwrap_err().contains("p#w"));
    }

    #[test]
    fn a_database_alone_is_weighed() {
        let url = "postgres://u@h/d";
        assert_eq!(taken(&["wb", "--json", "--color", "never", url]).unwrap()[4..], ["weigh", url]);
        assert_eq!(taken(&["wb", "plan", url]).unwrap(), ["wb", "plan", url]);
        assert_eq!(taken(&["wb"]).unwrap(), ["wb"]);
    }
}
