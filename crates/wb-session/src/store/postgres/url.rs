//! The name of a database and a session in it: `postgres://user@host/database#session`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use percent_encoding::{AsciiSet, CONTROLS, percent_decode_str, utf8_percent_encode};
use tokio_postgres::Config;
use tokio_postgres::config::{Host, SslMode};

/// The beginnings of such a name.
pub const SCHEMES: [&str; 2] = ["postgres://", "postgresql://"];

/// The time for connecting, if the name sets none.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// The time after which a silent network is a lost connection.
const SILENCE: Duration = Duration::from_secs(30);
/// The characters of a session's name that are escaped.
const ESCAPED: &AsciiSet = &CONTROLS.add(b' ').add(b'"').add(b'#').add(b'%').add(b'\'').add(b'`');
/// The folder of the server's socket, where the name has no host.
#[cfg(unix)]
const SOCKET_FOLDER: &str = "/var/run/postgresql";

/// A database, or a session in it, with what is needed to connect. Neither its text nor its debug
/// output contains the password.
#[derive(Clone)]
pub struct PostgresUrl {
    name: String,
    session: Option<String>,
    pub(super) config: Config,
    pub(super) root_certificates: Option<PathBuf>,
    /// The time after which a statement that was not answered means a lost connection.
    pub(super) answer_within: Duration,
    /// The attempts to connect again.
    pub(super) n_attempts: u32,
}

/// The reason why a name of a database is refused; the text does not contain the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Another scheme, or none.
    #[error("a database is named postgres://user@host/database#session")]
    Scheme,
    /// The user name and the password cannot be separated from the rest.
    #[error("the user name or password of a database holds one of / ? # @ as it is")]
    Unescaped,
    /// Another part of the name is wrong.
    #[error("the name of the database is wrong: {what}")]
    Part {
        /// The fault.
        what: String,
    },
    /// The connection would not be encrypted.
    #[error("the connection to {host} would not be encrypted")]
    InTheClear {
        /// The host, which is another machine.
        host: String,
    },
}

impl UrlError {
    /// Returns what the user can do about it.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::Scheme => "begin with postgres://",
            Self::Unescaped => "write / as %2F, ? as %3F, # as %23, @ as %40; or set PGPASSWORD",
            Self::Part { .. } => "write postgres://user@host:port/database?option=value#session",
            Self::InTheClear { .. } => {
                "leave out sslmode, which is then `require`, or connect by way of a tunnel on this machine"
            }
        }
    }
}

/// Takes the password out of a name of a database; other texts stay as they are.
pub fn take_password(url: &str) -> Result<(String, Option<String>), UrlError> {
    let Some((scheme, rest)) = split_scheme(url) else { return Ok((url.to_owned(), None)) };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, rest) = rest.split_at(end);
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None if rest.contains('@') => return Err(UrlError::Unescaped),
        None => (None, authority),
    };
    let (user, password) = match user.map(|user| user.split_once(':').unwrap_or((user, ""))) {
        Some((user, password)) => (format!("{user}@"), Some(password)),
        None => (String::new(), None),
    };
    let (path, options, session) = pieces(rest);
    let is_password = |option: &&str| option.starts_with("password=");
    let option = options.iter().find_map(|option| option.strip_prefix("password="));
    let kept: Vec<&str> = options.iter().copied().filter(|option| !is_password(option)).collect();
    let query = if kept.is_empty() { String::new() } else { format!("?{}", kept.join("&")) };
    let session = session.map(|session| format!("#{session}")).unwrap_or_default();
    let password = password.filter(|it| !it.is_empty()).or(option);
    let password = password.map(|it| percent_decode_str(it).decode_utf8_lossy().into_owned());
    Ok((format!("{scheme}{user}{host}{path}{query}{session}"), password))
}

fn split_scheme(url: &str) -> Option<(&'static str, &str)> {
    SCHEMES.iter().find_map(|scheme| Some((*scheme, url.strip_prefix(scheme)?)))
}

/// Splits what follows the host: path, options, session.
fn pieces(rest: &str) -> (&str, Vec<&str>, Option<&str>) {
    let (rest, session) = rest.split_once('#').map_or((rest, None), |(rest, session)| (rest, Some(session)));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    (path, query.split('&').filter(|option| !option.is_empty()).collect(), session)
}

impl PostgresUrl {
    /// Parses a name, with or without a password. To another machine the connection is encrypted
    /// and the server's certificate is checked; a name that asks for less is refused.
    pub fn parse(url: &str) -> Result<Self, UrlError> {
        let (name, password) = take_password(url)?;
        let Some((_, rest)) = split_scheme(&name) else { return Err(UrlError::Scheme) };
        let authority = &rest[..rest.find(['/', '?', '#']).unwrap_or(rest.len())];
        let (path, options, session) = pieces(&rest[authority.len()..]);
        let root_certificates = options.iter().find_map(|option| option.strip_prefix("sslrootcert="));
        let ssl_mode = options.iter().find_map(|option| option.strip_prefix("sslmode="));
        let known: Vec<&str> = options
            .iter()
            .copied()
            .filter(|it| !it.starts_with("sslrootcert=") && !it.starts_with("sslmode="))
            .collect();
        let bare = format!("postgres://{authority}{path}?{}", known.join("&"));
        let wrong = |error: tokio_postgres::Error| UrlError::Part { what: cause(&error) };
        let mut config: Config = bare.parse().map_err(wrong)?;
        if let Some(password) = password {
            config.password(password);
        }
        complete(&mut config);
        config.ssl_mode(ssl_mode_for(&config, ssl_mode)?);
        let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
        let session = session.filter(|session| !session.is_empty()).map(decoded);
        let root_certificates = root_certificates.map(|path| decoded(path).into());
        let name = name.trim_end_matches('#').to_owned();
        Ok(Self { name, session, config, root_certificates, answer_within: SILENCE, n_attempts: 10 })
    }

    /// Sets the password, unless there is one.
    #[must_use]
    pub fn with_password(mut self, password: Option<&str>) -> Self {
        if let (None, Some(password)) = (self.config.get_password(), password) {
            self.config.password(password);
        }
        self
    }

    /// Sets the time after which an unanswered statement means a lost connection, and how often to
    /// connect again before giving up.
    #[must_use]
    pub fn with_patience(self, answer_within: Duration, n_attempts: u32) -> Self {
        Self { answer_within, n_attempts, ..self }
    }

    /// Names a session of the same database.
    #[must_use]
    pub fn with_session(self, session: &str) -> Self {
        let database = self.name.split('#').next().unwrap_or_default();
        let name = format!("{database}#{}", utf8_percent_encode(session, ESCAPED));
        Self { name, session: Some(session.to_owned()), ..self }
    }

    /// Returns the name of the session, if it names one.
    pub fn session(&self) -> Option<&str> {
        self.session.as_deref()
    }

    /// Returns the name without the password.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the name as errors have it.
    pub(super) fn path(&self) -> PathBuf {
        PathBuf::from(&self.name)
    }
}

impl fmt::Debug for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("PostgresUrl").field(&self.name).finish()
    }
}

impl fmt::Display for PostgresUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

/// Returns the innermost reason of an error.
pub(super) fn cause(error: &dyn std::error::Error) -> String {
    let mut inner = error;
    while let Some(source) = inner.source() {
        inner = source;
    }
    inner.to_string()
}

/// Sets what the name leaves open.
fn complete(config: &mut Config) {
    #[cfg(unix)]
    if config.get_hosts().is_empty() && config.get_hostaddrs().is_empty() {
        config.host_path(SOCKET_FOLDER);
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECT_TIMEOUT);
    }
    if config.get_application_name().is_none() {
        config.application_name("window-budget");
    }
    config.keepalives_idle(SILENCE);
}

fn ssl_mode_for(config: &Config, given: Option<&str>) -> Result<SslMode, UrlError> {
    let far = far_host(config);
    match (given, far) {
        (None | Some("prefer" | "allow"), Some(_)) | (Some("require" | "verify-ca" | "verify-full"), _) => {
            Ok(SslMode::Require)
        }
        (Some("disable"), Some(host)) => Err(UrlError::InTheClear { host }),
        (None | Some("disable" | "allow"), None) => Ok(SslMode::Disable),
        (Some("prefer"), None) => Ok(SslMode::Prefer),
        (Some(_), _) => Err(UrlError::Part { what: "sslmode is `require` or `disable`".to_owned() }),
    }
}

/// Returns a host that is another machine, if there is one.
fn far_host(config: &Config) -> Option<String> {
    let addresses = config.get_hostaddrs();
    if !addresses.is_empty() {
        return addresses.iter().find(|address| !address.is_loopback()).map(ToString::to_string);
    }
    config.get_hosts().iter().find_map(|host| match host {
        Host::Tcp(name) if !is_loopback(name) => Some(name.clone()),
        _ => None,
    })
}

fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    host == "localhost" || host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_in_no_text() {
        for (url, name, password) in [
            ("postgres://u:s%40crt@h:5/d#s", "postgres://u@h:5/d#s", Some("s@crt")),
            ("postgresql://u:a@b@[::1]/d", "postgresql://u@[::1]/d", Some("a@b")),
            ("postgres://u:@h/d", "postgres://u@h/d", None),
            ("postgres://u@h/d?x=1&password=pw&y=2#s", "postgres://u@h/d?x=1&y=2#s", Some("pw")),
            ("postgres://h:5432/d", "postgres://h:5432/d", None),
            ("a.jsonl", "a.jsonl", None),
        ] {
            assert_eq!(take_password(url), Ok((name.to_owned(), password.map(str::to_owned))), "{url}");
        }
        for url in ["postgres://u:p#q@h/d", "postgres://u:p/q@h/d", "postgres://u:1?2@h"] {
            assert_eq!(take_password(url), Err(UrlError::Unescaped));
        }
        let url = PostgresUrl::parse("postgres://u:crt@localhost/d#s").unwrap();
        assert!(!format!("{url} {url:?} {:?}", url.config).contains("crt"));
        assert_eq!(url.config.get_password(), Some(&b"crt"[..]));
        assert_eq!(url.clone().with_password(Some("x")).config.get_password(), Some(&b"crt"[..]));
    }

    #[test]
    fn a_session_is_named_after_the_database() {
        let url = PostgresUrl::parse("postgres://u@localhost/d?connect_timeout=2#a%20b").unwrap();
        assert_eq!((url.session(), url.config.get_dbname()), (Some("a b"), Some("d")));
        assert_eq!(
            url.with_session("é #%").name(),
            "postgres://u@localhost/d?connect_timeout=2#%C3%A9%20%23%25"
        );
        assert_eq!(PostgresUrl::parse("postgres://u@localhost/d#").unwrap().session(), None);
    }

    #[test]
    fn another_machine_is_reached_encrypted_or_not_at_all() {
        let mode = |url: &str| PostgresUrl::parse(url).map(|url| url.config.get_ssl_mode());
        for url in [
            "postgres://u@h/d",
            "postgres://u@10.0.0.1/d?sslmode=prefer",
            "postgres://u@h/d?sslmode=verify-full",
        ] {
            assert_eq!(mode(url), Ok(SslMode::Require), "{url}");
        }
        for url in
            ["postgres://u@localhost/d", "postgres://u@127.0.0.1/d", "postgres://u@[::1]/d", "postgres:///d"]
        {
            assert_eq!(mode(url), Ok(SslMode::Disable), "{url}");
        }
        let far = "postgres://u@localhost/d?hostaddr=10.0.0.1";
        assert_eq!(mode(far), Ok(SslMode::Require));
        for url in [
            "postgres://u@h/d?sslmode=disable",
            &format!("{far}&sslmode=disable"),
            "postgres://localhost,h/d?sslmode=disable",
        ] {
            assert!(matches!(mode(url), Err(UrlError::InTheClear { .. })), "{url}");
        }
        assert!(matches!(mode("postgres://u@localhost/d?sslmode=maybe"), Err(UrlError::Part { .. })));
        assert!(matches!(mode("postgres://u@localhost/d?port=x"), Err(UrlError::Part { .. })));
        assert_eq!(mode("mysql://u@h/d"), Err(UrlError::Scheme));
    }
}
