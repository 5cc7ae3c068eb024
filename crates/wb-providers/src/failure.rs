//! What goes wrong between a host and a model, and whether asking again may help.

use std::time::Duration;

use serde_json::Value;
use wb_invoke::InvokeError;
use wb_message::text;

/// The most characters of what a server says about an error.
const MAX_SAID_CHARS: usize = 400;
/// The status by which Anthropic says that it has too much to do.
const OVERLOADED: u16 = 529;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) error: InvokeError,
    /// Whether the same request may be answered a little later.
    pub(crate) may_pass: bool,
    /// How long the server asks to wait.
    pub(crate) retry_after: Option<Duration>,
}

impl Failure {
    /// Builds a failure that stays one.
    pub(crate) fn lasting(message: impl Into<String>) -> Self {
        Self { error: InvokeError::new(message), may_pass: false, retry_after: None }
    }

    /// Builds a failure that may pass.
    pub(crate) fn passing(message: impl Into<String>) -> Self {
        Self { may_pass: true, ..Self::lasting(message) }
    }

    /// Builds the failure that a status and a body tell.
    pub(crate) fn of_status(status: u16, body: &[u8], retry_after: Option<Duration>) -> Self {
        let said = serde_json::from_slice(body).ok().and_then(|body: Value| Said::find(&body));
        let is_spent = said.as_ref().is_some_and(Said::is_spent);
        let words = said.map_or_else(|| String::from_utf8_lossy(body).trim().to_owned(), |said| said.words());
        let message = match text::one_line(&words, MAX_SAID_CHARS) {
            words if words.is_empty() => format!("HTTP {status}"),
            words => format!("HTTP {status}: {words}"),
        };
        let may_pass = match status {
            429 => !is_spent,
            500 | 502 | 503 | 504 | OVERLOADED => true,
            _ => false,
        };
        Self { error: InvokeError { message, status: Some(status) }, may_pass, retry_after }
    }

    /// Builds the failure that an event of a stream tells.
    pub(crate) fn of_event(event: &Value) -> Self {
        let said = Said::find(event).unwrap_or_default();
        let may_pass = said.is_of_the_moment();
        let words = text::one_line(&said.words(), MAX_SAID_CHARS);
        let message = if words.is_empty() { "the provider reported an error".to_owned() } else { words };
        Self { may_pass, ..Self::lasting(message) }
    }
}

/// What a server says about an error.
#[derive(Debug, Default)]
struct Said {
    kind: String,
    message: String,
}

impl Said {
    /// Finds kind and message in the shapes that providers give them.
    fn find(body: &Value) -> Option<Self> {
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

    fn words(&self) -> String {
        match (self.kind.as_str(), self.message.as_str()) {
            ("", message) => message.to_owned(),
            (kind, "") => kind.to_owned(),
            (kind, message) => format!("{message} ({kind})"),
        }
    }

    /// Tells whether the account has no money left, which waiting does not mend.
    fn is_spent(&self) -> bool {
        self.kind == "insufficient_quota"
    }

    /// Tells whether a stream was broken off for want of room on the provider's side.
    fn is_of_the_moment(&self) -> bool {
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

    fn of(status: u16, body: &str) -> (String, bool) {
        let failure = Failure::of_status(status, body.as_bytes(), None);
        (failure.error.message, failure.may_pass)
    }

    #[test]
    fn what_a_server_says_is_found_in_each_providers_shape() {
        for (body, said) in [
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
            assert_eq!(of(500, body), (format!("HTTP 500: {said}"), true));
        }
        assert_eq!(of(500, ""), ("HTTP 500".to_owned(), true));
        assert!(of(400, &"x".repeat(10_000)).0.len() < 500);
    }

    #[test]
    fn only_what_may_pass_is_asked_again() {
        for status in [429, 500, 502, 503, 504, 529] {
            assert!(of(status, "").1, "{status}");
        }
        for status in [301, 400, 401, 403, 404, 408, 413, 422, 501] {
            assert!(!of(status, "").1, "{status}");
        }
        assert!(!of(429, r#"{"error":{"code":"insufficient_quota","message":"pay"}}"#).1);
    }

    #[test]
    fn an_event_says_whether_its_error_may_pass() {
        let overloaded =
            Failure::of_event(&json!({"error": {"type": "overloaded_error", "message": "Overloaded"}}));
        assert_eq!(
            (overloaded.error.message.as_str(), overloaded.may_pass),
            ("Overloaded (overloaded_error)", true)
        );
        let failed = json!({"response": {"error": {"code": "invalid_prompt", "message": "no"}}});
        assert!(!Failure::of_event(&failed).may_pass);
        assert_eq!(Failure::of_event(&json!({})).error.message, "the provider reported an error");
    }
}
