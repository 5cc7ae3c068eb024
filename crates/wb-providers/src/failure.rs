//! Failed requests, and whether a retry may help.

use std::time::Duration;

use serde_json::Value;
use wb_invoke::InvokeError;
use wb_message::text;

/// The maximum length of a server's error message.
const MAX_MESSAGE_CHARS: usize = 400;
/// Anthropic's status for overload.
const OVERLOADED: u16 = 529;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: InvokeError,
    /// True if a retry may succeed.
    pub(crate) is_transient: bool,
    /// The delay that the server asks for.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    pub(crate) fn permanent(message: impl Into<String>) -> Self {
        Self { error: InvokeError::new(message), is_transient: false, retry_after: None }
    }

    pub(crate) fn transient(message: impl Into<String>) -> Self {
        Self { is_transient: true, ..Self::permanent(message) }
    }

    /// Creates a failure from an HTTP status and body.
    pub(crate) fn from_status(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let server_error =
            serde_json::from_slice(body).ok().and_then(|body: Value| ServerError::parse(&body));
        let is_out_of_quota = server_error.as_ref().is_some_and(ServerError::is_out_of_quota);
        let words = server_error
            .map_or_else(|| String::from_utf8_lossy(body).trim().to_owned(), |error| error.line());
        let message = match text::one_line(&words, MAX_MESSAGE_CHARS) {
            words if words.is_empty() => format!("HTTP {status}"),
            words => format!("HTTP {status}: {words}"),
        };
        let is_transient = match status {
            429 => !is_out_of_quota,
            500 | 502 | 503 | 504 | OVERLOADED => true,
            _ => false,
        };
        Self { error: InvokeError { message, status: Some(status) }, is_transient, retry_after }
    }

    /// Creates a failure from an error event of a stream.
    pub(crate) fn from_event(event: &Value) -> Self {
        let server_error = ServerError::parse(event).unwrap_or_default();
        let is_transient = server_error.is_transient();
        let words = text::one_line(&server_error.line(), MAX_MESSAGE_CHARS);
        let message = if words.is_empty() { "the provider reported an error".to_owned() } else { words };
        Self { is_transient, ..Self::permanent(message) }
    }
}

/// A server's description of an error.
#[derive(Debug, Default)]
struct ServerError {
    kind: String,
    message: String,
}

impl ServerError {
    /// Finds kind and message in any provider's shape.
    fn parse(body: &Value) -> Option<Self> {
        let body = body.get(0).unwrap_or(body);
        let error = [&body["error"], &body["response"]["error"], body]
            .into_iter()
            .find(|it| it.is_object() || it.is_string())?;
        let text = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Number(number) => number.to_string(),
            _ => String::new(),
        };
        let named =
            |names: [&str; 3]| names.into_iter().map(|name| text(&error[name])).find(|text| !text.is_empty());
        let message = named(["message", "detail", "error"]).unwrap_or_else(|| text(error));
        let kind = named(["status", "code", "type"]).unwrap_or_default();
        (!message.is_empty() || !kind.is_empty()).then_some(Self { kind, message })
    }

    fn line(&self) -> String {
        match (self.kind.as_str(), self.message.as_str()) {
            ("", message) => message.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, message) => format!("{message} ({kind})"),
        }
    }

    /// Returns whether the account has no money left, which a retry cannot change.
    fn is_out_of_quota(&self) -> bool {
        self.kind == "insufficient_quota"
    }

    /// Returns whether the provider ended a stream for lack of capacity.
    fn is_transient(&self) -> bool {
        let kinds = [
            "overloaded",
            "rate_limit",
            "api_error",
            "server_error",
            "UNAVAILABLE",
            "RESOURCE_EXHAUSTED",
            "INTERNAL",
        ];
        kinds.into_iter().any(|kind| self.kind.contains(kind))
            || ["429", "500", "502", "503", "529"].contains(&self.kind.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn failure(status: u16, body: &str) -> (String, bool) {
        let failure = Failure::from_status(status, body.as_bytes(), None);
        (failure.error.message, failure.is_transient)
    }

    #[test]
    fn error_messages_are_found_in_each_providers_shape() {
        for (body, expected) in [
            (
                r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
                "Overloaded (overloaded_error)",
            ),
            (r#"{"error":{"message":"No","type":"t","code":"invalid_api_key"}}"#, "No (invalid_api_key)"),
            (r#"{"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}"#, "Busy (UNAVAILABLE)"),
            (r#"[{"error":{"code":503,"message":"Busy","status":"UNAVAILABLE"}}]"#, "Busy (UNAVAILABLE)"),
            (r#"{"error":"model not found"}"#, "model not found"),
            (r#"{"detail":"Not Found"}"#, "Not Found"),
            ("<h1>Bad gateway</h1>", "<h1>Bad gateway</h1>"),
        ] {
            assert_eq!(failure(500, body), (format!("HTTP 500: {expected}"), true));
        }
        assert_eq!(failure(500, ""), ("HTTP 500".to_owned(), true));
        assert!(failure(400, &"x".repeat(10_000)).0.len() < 500);
    }

    #[test]
    fn only_transient_failures_are_retried() {
        for status in [429, 500, 502, 503, 504, 529] {
            assert!(failure(status, "").1, "{status}");
        }
        for status in [301, 400, 401, 403, 404, 408, 413, 422, 501] {
            assert!(!failure(status, "").1, "{status}");
        }
        assert!(!failure(429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#).1);
    }

    #[test]
    fn error_events_are_transient_or_permanent() {
        let overloaded =
            Failure::from_event(&json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}));
        assert_eq!(
            (overloaded.error.message.as_str(), overloaded.is_transient),
            ("Overloaded (overloaded_error)", true)
        );
        let failed = json!({"response": {"error": {"code": "invalid_prompt", "message": "no"}}});
        assert!(!Failure::from_event(&failed).is_transient);
        assert_eq!(Failure::from_event(&json!({})).error.message, "the provider reported an error");
    }
}
