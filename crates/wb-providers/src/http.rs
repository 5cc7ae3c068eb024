//! The HTTP client, request URLs and headers, and the check of a response.

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

/// The time limits of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeLimits {
    /// The limit for connecting.
    pub connect: Duration,
    /// The limit for silence of the server, before and during the response.
    pub silence: Duration,
    /// The limit for a request with all its retries.
    pub total: Option<Duration>,
}

impl Default for TimeLimits {
    /// Ten seconds, two minutes, ten minutes.
    fn default() -> Self {
        let minutes = Duration::from_mins;
        Self { connect: Duration::from_secs(10), silence: minutes(2), total: Some(minutes(10)) }
    }
}

/// The number of bytes read from an error response.
const MAX_ERROR_BYTES: usize = 64 << 10;

const USER_AGENT: &str = concat!("window-budget/", env!("CARGO_PKG_VERSION"));

/// Builds a client that follows no redirects, since the key would go along.
pub(crate) fn client(base: &Url, limits: &TimeLimits) -> Result<Client, ProviderError> {
    let mut builder = Client::builder()
        .user_agent(USER_AGENT)
        .redirect(Policy::none())
        .connect_timeout(limits.connect)
        .tls_backend_preconfigured(tls(base.scheme() == "https")?);
    if is_loopback(base) {
        // A proxy cannot reach this machine.
        builder = builder.no_proxy();
    }
    builder.build().map_err(|error| ProviderError::Client(root_cause(&error)))
}

/// Configures TLS with the platform's certificates, which are read only for `https`.
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

/// Returns whether requests go unencrypted to another machine.
pub(crate) fn is_in_the_clear(base: &Url) -> bool {
    base.scheme() == "http" && !is_loopback(base)
}

fn is_loopback(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    let address = host.parse().is_ok_and(|address: std::net::IpAddr| address.is_loopback());
    address || host == "localhost"
}

/// Parses a base URL.
pub(crate) fn base_url(text: &str) -> Result<Url, ProviderError> {
    let url = Url::parse(text).map_err(|error| ProviderError::BaseUrl(error.to_string()))?;
    if !matches!(url.scheme(), "http" | "https") || !url.has_host() {
        return Err(ProviderError::BaseUrl("it must begin with http:// or https://".to_owned()));
    }
    if url.password().is_some() || !url.username().is_empty() {
        return Err(ProviderError::BaseUrl("it must not contain a user name or password".to_owned()));
    }
    Ok(url)
}

/// Returns a URL below a base. A version that ends the base is not repeated; the base's query is
/// kept.
pub(crate) fn join_url(base: &Url, path: &[String], query: Option<&str>) -> Url {
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

/// Returns the headers of every request.
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

/// Returns a response with an event stream, or the failure that it describes.
pub(crate) async fn check_response(response: Response) -> Result<Response, Failure> {
    let status = response.status();
    if !status.is_success() {
        let wait = retry_after(response.headers());
        return Err(Failure::from_status(status.as_u16(), &error_body(response).await, wait));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
    match kind.unwrap_or_default().split(';').next().unwrap_or_default().trim() {
        "" | "text/event-stream" => Ok(response),
        other => {
            let what = format!("the server answered with {other}instead of an event stream");
            Err(Failure::permanent(what))
        }
    }
}

/// Reads the start of an error response, as far as it can be read.
async fn error_body(mut response: Response) -> Vec<u8> {
    let mut body = Vec::new();
    while let Ok(Some(piece)) = response.chunk().await {
        body.extend_from_slice(&piece);
        if body.len() >= MAX_ERROR_BYTES {
            break;
        }
    }
    body.truncate(MAX_ERROR_BYTES);
    body
}

/// Describes why no response came, without the URL, which may contain secrets.
pub(crate) fn send_failure(error: &reqwest::Error, host: &str, limits: &TimeLimits) -> Failure {
    match (error.is_connect(), error.is_timeout()) {
        (_, true) => Failure::permanent(format!("no connection to {host} within {:?}", limits.connect)),
        (true, _) => Failure::transient(format!("no connection to {host}: {}", root_cause(error))),
        _ => Failure::transient(format!("the connection to {host} broke: {}", root_cause(error))),
    }
}

/// Returns the root cause of an error.
pub(crate) fn root_cause(error: &reqwest::Error) -> String {
    let mut cause: &dyn Error = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    match cause.downcast_ref::<reqwest::Error>() {
        // This one contains the URL.
        Some(_) => "the request could not be sent".to_owned(),
        None => cause.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joined(base: &str, path: &[&str], query: Option<&str>) -> String {
        let path: Vec<String> = path.iter().map(ToString::to_string).collect();
        join_url(&base_url(base).unwrap(), &path, query).to_string()
    }

    #[test]
    fn paths_are_joined_to_any_base() {
        for base in ["http://a", "http://a/", "http://a/v1", "http://a/v1/"] {
            assert_eq!(joined(base, &["v1", "messages"], None), "http://a/v1/messages");
        }
        assert_eq!(joined("http://a:1/x/v1", &["chat"], None), "http://a:1/x/v1/chat");
        assert_eq!(joined("https://a/x?v=2", &["chat"], Some("alt=sse")), "https://a/x/chat?v=2&alt=sse");
        assert_eq!(joined("http://a", &["m/../x y:go"], None), "http://a/m%2F..%2Fx%20y:go");
    }

    #[test]
    fn invalid_urls_and_urls_with_a_password_are_refused() {
        for text in ["", "localhost:11434", "ftp://a", "file:///etc", "http://"] {
            assert!(base_url(text).is_err(), "{text}");
        }
        let error = base_url("https://me:secret@a/").unwrap_err().to_string();
        assert!(error.contains("password") && !error.contains("secret"), "{error}");
    }

    #[test]
    fn loopback_addresses_are_detected() {
        for base in ["http://127.0.0.1:1", "http://[::1]:1", "http://localhost", "http://127.8.8.8"] {
            assert!(is_loopback(&base_url(base).unwrap()), "{base}");
        }
        assert!(!is_loopback(&base_url("http://127.0.0.1.example.com").unwrap()));
    }

    #[test]
    fn an_invalid_header_is_named_without_its_value() {
        let error = headers([("x y", "secret")].into_iter()).unwrap_err().to_string();
        assert!(error.contains("x y") && !error.contains("secret"), "{error}");
        let error = headers([("x-a", "se\ncret")].into_iter()).unwrap_err().to_string();
        assert!(error.contains("x-a") && !error.contains("cret"), "{error}");
        let headers = headers([("x-a", "secret")].into_iter()).unwrap();
        assert!(!format!("{headers:?}").contains("secret"));
    }
}
