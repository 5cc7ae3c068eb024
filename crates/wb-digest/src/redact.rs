//! Redaction of credentials: a digest is sent, stored and copied to more places than the session.
//!
//! A credential is found by the form that its issuer gives it, or by the name it is assigned to if
//! it looks random. The words of the original stay in the session.

use std::borrow::Cow;

/// A text without credentials.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redacted<'a> {
    /// The text, each credential replaced by a mark such as `[redacted: GitHub token]`.
    pub text: Cow<'a, str>,
    /// The number of replaced credentials.
    pub n: usize,
}

/// The start of a token, the least characters after it, and the name of its kind.
///
/// From the issuers' documentation of their formats.
const PREFIXES: &[(&str, usize, &str)] = &[
    ("AKIA", 16, "AWS key"),
    ("ASIA", 16, "AWS key"),
    ("ghp_", 30, "GitHub token"),
    ("gho_", 30, "GitHub token"),
    ("ghu_", 30, "GitHub token"),
    ("ghs_", 30, "GitHub token"),
    ("ghr_", 30, "GitHub token"),
    ("github_pat_", 40, "GitHub token"),
    ("glpat-", 20, "GitLab token"),
    ("xoxa-", 20, "Slack token"),
    ("xoxb-", 20, "Slack token"),
    ("xoxp-", 20, "Slack token"),
    ("xoxs-", 20, "Slack token"),
    ("xapp-", 20, "Slack token"),
    ("sk-", 32, "API key"),
    ("sk_live_", 16, "Stripe key"),
    ("sk_test_", 16, "Stripe key"),
    ("rk_live_", 16, "Stripe key"),
    ("whsec_", 24, "Stripe key"),
    ("AIza", 35, "Google key"),
    ("ya29.", 30, "Google token"),
    ("GOCSPX-", 24, "Google secret"),
    ("npm_", 36, "npm token"),
    ("pypi-", 60, "PyPI token"),
    ("hf_", 30, "Hugging Face token"),
    ("SG.", 40, "SendGrid key"),
    ("dop_v1_", 60, "DigitalOcean token"),
    ("shpat_", 32, "Shopify token"),
    ("dckr_pat_", 24, "Docker token"),
    ("eyJ", 60, "JSON web token"),
];

/// The names of secrets, in lower case without separators, at the end of the name that a value is
/// assigned to.
const NAMES: &[&str] = &[
    "password",
    "passwd",
    "pwd",
    "secret",
    "secretkey",
    "secretaccesskey",
    "token",
    "apikey",
    "accesskey",
    "privatekey",
    "clientsecret",
    "accountkey",
    "authtoken",
    "bearer",
    "authorization",
];

/// The first line of a private key, up to its kind.
const KEY_BEGIN: &str = "-----BEGIN ";
const KEY_END: &str = "-----END ";
const PRIVATE_KEY: &str = "PRIVATE KEY-----";

/// The least characters of a value that is redacted for its name. Chosen: shorter ones are words.
const VALUE_CHARS: usize = 12;

/// Replaces the credentials in a text.
///
/// ```
/// use wb_digest::redact;
///
/// let found = redact("$ curl -H 'X-Auth: ghp_0123456789abcdefghijABCDEFGHIJ012345' …");
/// assert_eq!(found.text, "$ curl -H 'X-Auth: [redacted: GitHub token]' …");
/// assert_eq!(redact("Rotate the token; the password is in the vault.").n, 0);
/// ```
pub fn redact(text: &str) -> Redacted<'_> {
    let mut found = Redacted { text: Cow::Borrowed(text), n: 0 };
    let mut kept = 0;
    let mut written = String::new();
    let mut at = 0;
    while at < text.len() {
        match secret_at(text, at) {
            Some((end, kind)) => {
                written.push_str(&text[kept..at]);
                written.push_str("[redacted: ");
                written.push_str(kind);
                written.push(']');
                (kept, at, found.n) = (end, end, found.n + 1);
            }
            None => at += text[at..].chars().next().map_or(1, char::len_utf8),
        }
    }
    if found.n > 0 {
        written.push_str(&text[kept..]);
        found.text = Cow::Owned(written);
    }
    found
}

/// Returns the end and the kind of a credential that begins at a place.
fn secret_at(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let rest = &text[at..];
    if rest.starts_with(KEY_BEGIN) {
        return private_key(text, at);
    }
    let before = text[..at].chars().next_back();
    if before.is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-')) {
        return None;
    }
    let n_token = rest.bytes().take_while(|byte| is_token_char(char::from(*byte))).count();
    // A sentence may end after it.
    let n_token = rest[..n_token].trim_end_matches('.').len();
    let n_padding = rest[n_token..].bytes().take_while(|byte| *byte == b'=').count();
    if n_token == 0 {
        return None;
    }
    let len = n_token + n_padding.min(2);
    let token = &rest[..len];
    let known = PREFIXES.iter().find(|(prefix, least, _)| {
        token.strip_prefix(prefix).is_some_and(|rest| rest.len() >= *least && has_mixed(rest))
    });
    if let Some((.., kind)) = known {
        return Some((at + len, kind));
    }
    if is_user_of_url(text, at, len) {
        return Some((at + len, "password"));
    }
    let is_secret = is_scattered(token) || is_named(&text[..at]) && is_random(token);
    is_secret.then_some((at + len, "secret"))
}

fn is_token_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '+' | '~')
}

/// Returns the end of a private key in PEM: its last line, or if that was cut off, the last line of
/// its body.
fn private_key(text: &str, at: usize) -> Option<(usize, &'static str)> {
    let first = text[at..].find(PRIVATE_KEY).map(|end| at + end + PRIVATE_KEY.len())?;
    if text[at..first].contains('\n') {
        return None;
    }
    let mut end = first;
    for (nth, line) in text[first..].split_inclusive('\n').enumerate() {
        if let Some(last) = line.find(KEY_END).and_then(|at| line[at..].find(PRIVATE_KEY).map(|it| at + it)) {
            return Some((end + last + PRIVATE_KEY.len(), "private key"));
        }
        let is_body = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '/' | '=');
        if nth > 0 && (line.trim().is_empty() || !line.trim().chars().all(is_body)) {
            break;
        }
        end += line.trim_end_matches('\n').len() + usize::from(line.ends_with('\n'));
    }
    Some((end - usize::from(text[..end].ends_with('\n')), "private key"))
}

/// Returns whether a token has digits and letters, or both cases: a name in an example has not.
fn has_mixed(token: &str) -> bool {
    let has = |is: fn(&u8) -> bool| token.as_bytes().iter().any(is);
    has(u8::is_ascii_digit) && has(u8::is_ascii_alphabetic)
        || has(u8::is_ascii_lowercase) && has(u8::is_ascii_uppercase)
}

/// Returns whether a token is the password of a URL: `scheme://user:password@host`.
fn is_user_of_url(text: &str, at: usize, len: usize) -> bool {
    let is_before_host = text[at + len..].starts_with('@');
    let Some(before) = text[..at].strip_suffix(':').filter(|_| is_before_host && len >= 4) else {
        return false;
    };
    let user = before.rfind("://").map(|scheme| &before[scheme + 3..]);
    user.is_some_and(|user| !user.is_empty() && !user.contains(['/', ' ', '\n', '@', '"', '\'']))
}

/// Returns whether the text before a value assigns it to the name of a secret.
fn is_named(before: &str) -> bool {
    let line = before.rsplit('\n').next().unwrap_or_default();
    let name = line.trim_end_matches([' ', '"', '\'', '`']);
    let Some(name) = name.strip_suffix(['=', ':']).or_else(|| name.strip_suffix("Bearer")) else {
        return false;
    };
    let name = name.trim_end_matches([' ', '"', '\'', '`', ':']);
    let start = name
        .rfind(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.')))
        .map_or(0, |at| at + 1);
    let name: String =
        name.get(start..).unwrap_or_default().chars().filter(char::is_ascii_alphanumeric).collect();
    let name = name.to_ascii_lowercase();
    NAMES.iter().any(|known| name.ends_with(known))
}

/// The least characters and changes between letters and digits of a token that is redacted whatever
/// is before it. Chosen: names and paths have fewer.
const SCATTERED_CHARS: usize = 20;
const SCATTERED_CHANGES: usize = 6;

/// Returns whether letters of both cases and digits alternate as in a random token.
fn is_scattered(token: &str) -> bool {
    let is_part = |part: &str| {
        let has = |is: fn(&u8) -> bool| part.as_bytes().iter().any(is);
        let changes =
            part.as_bytes().windows(2).filter(|two| two[0].is_ascii_digit() != two[1].is_ascii_digit());
        part.len() >= SCATTERED_CHARS
            && has(u8::is_ascii_lowercase)
            && has(u8::is_ascii_uppercase)
            && changes.count() >= SCATTERED_CHANGES
    };
    !token.contains(['/', '+', '~']) && token.split(['_', '-', '.', '=']).any(is_part)
}

/// Returns whether a value looks random: long, of several kinds of characters, and no path, name or
/// number.
fn is_random(value: &str) -> bool {
    let value = value.trim_end_matches(['.', '=']);
    let has = |is: fn(&u8) -> bool| value.as_bytes().iter().any(is);
    let n_kinds = [u8::is_ascii_digit, u8::is_ascii_lowercase, u8::is_ascii_uppercase]
        .into_iter()
        .filter(|is| has(*is))
        .count();
    let n_different = value.bytes().collect::<std::collections::BTreeSet<u8>>().len();
    value.len() >= VALUE_CHARS
        && n_kinds >= 2
        && has(u8::is_ascii_digit)
        && n_different * 5 >= value.len().min(30) * 2
        && !value.contains("://")
        && value.matches(['/', '.']).count() <= value.len() / 10
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an example, so that no file has one that a scanner would report.
    fn token(prefix: &str, len: usize) -> String {
        let body = "a1B2c3D4e5F6g7H8i9J0kLmNoPqRsTuVwXyZ".chars().cycle().take(len);
        prefix.chars().chain(body).collect()
    }

    #[test]
    fn every_known_form_is_found_in_every_frame() {
        for (prefix, least, kind) in PREFIXES {
            let secret = token(prefix, *least);
            for frame in
                ["{}", "key = \"{}\"", "https://x/?k={}&b=1", "TOKEN={}\n", "({})", "`{}`,", "It is {}."]
            {
                let text = frame.replace("{}", &secret);
                let found = redact(&text);
                assert_eq!(found.n, 1, "{text}");
                assert_eq!(found.text, frame.replace("{}", &format!("[redacted: {kind}]")));
            }
        }
    }

    #[test]
    fn named_values_passwords_of_urls_and_private_keys_are_found() {
        let value = token("", 24);
        for text in [
            format!("DB_PASSWORD={value}"),
            format!("\"client_secret\": \"{value}\""),
            format!("aws_secret_access_key = {}", token("", 40)),
            format!("Authorization: Bearer {value}"),
            format!("AccountKey={value}=="),
            "postgres://app:hunter22@db/x".to_owned(),
            format!("{KEY_BEGIN}RSA {PRIVATE_KEY}\nabc\ndef\n{KEY_END}RSA {PRIVATE_KEY}"),
            format!("{KEY_BEGIN}{PRIVATE_KEY}\nabc"),
            format!("key = \"{KEY_BEGIN}{PRIVATE_KEY}\\nabc\\n{KEY_END}{PRIVATE_KEY}\""),
        ] {
            let found = redact(&text);
            assert!(
                found.n == 1 && !found.text.contains(&value) && !found.text.contains("hunter22"),
                "{text}"
            );
        }
    }

    #[test]
    fn what_only_speaks_of_secrets_stays() {
        for text in [
            "The token is rotated by the job; its password: see the vault.",
            "token = std::env::var(\"GITHUB_TOKEN\")",
            "password: str = Field(min_length=12)",
            "let api_key = config.section.key_name_of_provider",
            "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
            "commit 8926ac36e0d1c3f2a7b9",
            "sk-learn-and-other-names-that-are-long-enough",
            "https://example.com/a:b@c",
            "parseHttp2RequestV10Headers and UTF8_TO_UTF16_LE_Converter2x",
            "550e8400-e29b-41d4-a716-446655440000",
            "tokens: 1234567890123",
            "max_tokens=200000000000",
            "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----",
            "é: ü",
        ] {
            assert_eq!(redact(text), Redacted { text: Cow::Borrowed(text), n: 0 });
        }
        let cut = format!("a {KEY_BEGIN}RSA {PRIVATE_KEY}\nMIIabc\n# Plan\n- Go on.");
        assert_eq!(redact(&cut).text, "a [redacted: private key]\n# Plan\n- Go on.");
        let of_line = format!("a {KEY_BEGIN}{PRIVATE_KEY}\n  $ make → ok");
        assert_eq!(redact(&of_line).text, "a [redacted: private key]\n  $ make → ok");
        let once = redact(&token("ghp_", 36)).text.into_owned();
        assert_eq!(redact(&once).n, 0, "a mark is none");
    }
}
