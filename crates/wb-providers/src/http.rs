//! HTTP: the client, where requests go, and what a response says before its body.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use rustls::crypto::ring;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt;

use crate::error::ProviderError;
use crate::failure::Failure;
use crate::retry::retry_after;

/// How long each part of a request may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// How long a connection may take to come about.
    pub connect: Duration,
    /// How long the server may stay silent: before it answers, and between two pieces of the answer.
    pub silence: Duration,
    /// How long one request may take in all, with all that is made again; none is no limit.
    pub total: Option<Duration>,
}

impl Default for TimeLimits {
    /// Ten seconds, two minutes, ten minutes.
    fn default() -> Self {
        let minutes = Duration::from_mins;
        Self { connect: Duration::from_secs(10), silence: minutes(2), total: Some(minutes(10)) }
    }
}

/// The most bytes that are read of what a server says about an error.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// What is sent to every model.
const USER_AGENT: &str = concat!("window-budget/", env!("CARGO_PKG_VERSION"));

/// Builds a client that goes where it is told: it follows nobody elsewhere, since a key would go along.
pub(crate) fn client(base: &Url, limits: &TimeLimits) -> Result<Client, ProviderError> {
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .connect_timeout(limits.connect)
        .tls_backend_preconfigured(tls(base.scheme() == "https")?);
    if is_loopback(base) {
        // A proxy has no way to this very machine.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ProviderError::Client(innermost(&error)))
}

/// Sets TLS up with the certificates that this machine trusts; where it is not used none are read.
fn tls(is_used: bool) -> Result<ClientConfig, ProviderError> {
    let failed = |error: rustls::Error| ProviderError::Client(error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
    Ok(if is_used {
        builder.with_platform_verifier().map_err(failed)?.with_no_client_auth()
    } else {
        builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth()
    })
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    address || host == "localhost"
}

/// Reads where requests go to.
pub(crate) fn base_url(text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text).map_err(|error| ProviderError::BaseUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ProviderError::BaseUrl("it begins with neither http:// nor https://".to_owned()));
    }
    if url.password().is_some() || !url.username().is_empty() {
        return Err(ProviderError::BaseUrl("a name or password has no place in it".to_owned()));
    }
    Ok(url)
}

/// Returns the address below a base; what the base ends with already is not repeated, and what follows its question mark
/// stays.
pub(crate) fn below(base: &Url, path: &[String], query: Option<&str>) -> Url {
    let mut url = base.clone();
    let last = base.path().trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    let is_there = path.first().is_some_and(|first| first == last);
    if let Ok(mut segments) = url.path_segments_mut() {
        segments.pop_if_empty().extend(&path[usize::from(is_there)..]);
    }
    if let Some(query) = query {
        let both = url.query().map_or_else(|| query.to_owned(), |first| format!("{first}&{query}"));
        url.set_query(Some(&both));
    }
    url
}

/// Returns the headers of every request; nothing where a name or value is none that HTTP knows.
pub(crate) fn headers<'a>(
    named: impl Iterator<Item = (&'a str, &'a str)>,
) -> Result<HeaderMap, ProviderError> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("text/event-stream"));
    headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    for (name, value) in named {
        let failed = || ProviderError::Header(name.to_owned());
        let key = HeaderName::try_from(name).map_err(|_| failed())?;
        let mut value = HeaderValue::try_from(value).map_err(|_| failed())?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    Ok(headers)
}

/// Returns a response whose body is a stream of events, or what the server says instead.
pub(crate) async fn accepted(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if !status.is_success() {
        let wait = retry_after(response.headers());
        return Err(Failure::of_status(status.as_u16(), &said(response).await, wait));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match kind.unwrap_or_default().split(';').next().unwrap_or_default().trim() {
        "" | "text/event-stream" => Ok(response),
        other => {
            let what = format!("the server answered with {other}, and not with a stream of events");
            Err(Failure::lasting(what))
        }
    }
}

/// Reads what a server says about an error; what cannot be read is not said.
async fn said(mut response: Response) -> Vec<u8> {
    let mut said = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        said.extend_from_slice(&piece);
        if said.len() >= MAX_ERROR_BYTES {
            break;
        }
    }
    said.truncate(MAX_ERROR_BYTES);
    said
}

/// Tells why no response came, without the address, which may hold secrets.
pub(crate) fn not_sent(error: &reqwest::Error, host: &str, limits: &TimeLimits) -> Failure {
    match (error.is_connect(), error.is_timeout()) {
        (_, true) => Failure::lasting(format!("no connection to {host} within {:?}", limits.connect)),
        (true, _) => Failure::passing(format!("no connection to {host}: {}", innermost(error))),
        _ => Failure::passing(format!("the connection to {host} broke: {}", innermost(error))),
    }
}

/// Returns what lies at the bottom of an error.
pub(crate) fn innermost(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        // It has the address in it.
        Some(_) => "the request could not be sent".to_owned(),
        None => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, path: &[&str], query: Option<&str>) -> String {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        below(&base_url(base).unwrap(), &path, query).to_string()
    }

    #[test]
    fn a_path_goes_below_its_base_however_that_ends() {
        for base in ["http://a", "http://a/", "http://a/v1", "http://a/v1/"] {
            assert_eq!(joined(base, &["v1", "messages"], None), "http://a/v1/messages");
        }
        assert_eq!(joined("http://a:1/x/v1", &["chat"], None), "http://a:1/x/v1/chat");
        assert_eq!(joined("https://a/x?v=2", &["chat"], Some("alt=sse")), "https://a/x/chat?v=2&alt=sse");
        assert_eq!(joined("http://a", &["m/../x y:go"], None), "http://a/m%2F..%2Fx%20y:go");
    }

    #[test]
    fn an_address_that_is_none_is_refused_and_one_with_a_password_too() {
        for text in ["", "localhost:11434", "ftp://a", "file:///etc", "http://"] {
            assert!(base_url(text).is_err(), "{text}");
        }
        let error = base_url("https://me:secret@a/").unwrap_err().to_string();
        assert!(error.contains("password") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn this_machine_is_asked_without_a_proxy() {
        for base in ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "http://127.8.8.8"] {
            assert!(is_loopback(&base_url(base).unwrap()), "{base}");
        }
        assert!(!is_loopback(&base_url("http://127.0.0.1.example.com").unwrap()));
    }

    #[test]
    fn a_header_that_is_none_is_named_without_its_value() {
        let error = headers([("x y", "secret")].into_iter()).unwrap_err().to_string();
        assert!(error.contains("x y") && !error.contains("secret"), "{error}");
        let error = headers([("x-a", "se\ncret")].into_iter()).unwrap_err().to_string();
        assert!(error.contains("x-a") && !error.contains("cret"), "{error}");
        let headers = headers([("x-a", "secret")].into_iter()).unwrap();
        assert!(!format!("{headers:?}").contains("secret"));
    }
}
