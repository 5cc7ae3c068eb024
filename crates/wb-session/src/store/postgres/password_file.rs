//! The passwords of a user's password file, `~/.pgpass`.

use tokio_postgres::config::Host;

use super::url::PostgresUrl;

/// The port of a server that names none.
const PORT: u16 = 5432;

impl PostgresUrl {
    /// Sets the password that the text of a password file has for this database, unless there is
    /// one: the first line `host:port:database:user:password` that fits, where `*` fits all.
    #[must_use]
    pub fn with_password_file(self, text: &str) -> Self {
        let password = password_in(text, &wanted(&self));
        self.with_password(password.as_deref())
    }
}

/// Returns the first four fields that a line must have.
fn wanted(url: &PostgresUrl) -> [String; 4] {
    let config = &url.config;
    let host = match config.get_hosts().first() {
        Some(Host::Tcp(name)) => name.clone(),
        _ => "localhost".to_owned(),
    };
    let port = config.get_ports().first().copied().unwrap_or(PORT).to_string();
    let user = config.get_user().unwrap_or_default().to_owned();
    let database = config.get_dbname().map_or_else(|| user.clone(), str::to_owned);
    [host, port, database, user]
}

fn password_in(text: &str, wanted: &[String; 4]) -> Option<String> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).map(fields);
    let fits = |fields: &Vec<String>| {
        fields.len() == 5 && fields.iter().zip(wanted).all(|(field, wanted)| field == "*" || field == wanted)
    };
    lines.filter(fits).find_map(|mut fields| fields.pop())
}

/// Splits a line at its colons; a backslash makes a colon or a backslash part of a field.
fn fields(line: &str) -> Vec<String> {
    let mut fields = vec![String::new()];
    let mut chars = line.chars();
    while let Some(next) = chars.next() {
        match next {
            ':' if fields.len() < 5 => fields.push(String::new()),
            '\\' => fields.last_mut().into_iter().for_each(|field| field.extend(chars.next())),
            other => fields.last_mut().into_iter().for_each(|field| field.push(other)),
        }
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_fits_has_the_password() {
        let text = "# a comment\nother:5432:d:u:no\nh:*:d:u:a\\:b\\\\c:d\n*:*:*:*:any\nshort:1\n";
        let password = |url: &str| {
            let url = PostgresUrl::parse(url).unwrap().with_password_file(text);
            String::from_utf8(url.config.get_password().unwrap_or_default().to_vec()).unwrap()
        };
        assert_eq!(password("postgres://u@h/d"), "a:b\\c:d");
        assert_eq!(password("postgres://u@h:7/d"), "a:b\\c:d");
        assert_eq!(password("postgres://v@h/d"), "any");
        assert_eq!(password("postgres://u:own@h/d"), "own");
    }
}
