//! The program that sends requests by the SDKs, one at a time, and the check of what came of each.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Lines, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use super::provider::{CheckingProvider, Received, WORD};
use super::report::Counts;

const PROXIES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// The program.
struct Sender {
    child: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
}

impl Sender {
    fn start(root: &Path, python: &Path, address: &str) -> Result<Self, String> {
        let mut command = Command::new(python);
        command.arg("-B").arg(root.join("crates/wb-e2e/python/send.py")).arg(address);
        for name in PROXIES {
            command.env_remove(name);
        }
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| format!("{}: {error}", python.display()))?;
        let output = child.stdout.take().ok_or("the sender has no output")?;
        Ok(Self { input: child.stdin.take(), output: BufReader::new(output).lines(), child })
    }

    fn read(&mut self) -> Result<Value, String> {
        let line = self.output.next().ok_or("sdk: the sender ended early")?;
        let line = line.map_err(|error| format!("the sender: {error}"))?;
        serde_json::from_str(&line).map_err(|error| format!("the sender: {error}: {line}"))
    }

    fn send(&mut self, request: &Value) -> Result<Value, String> {
        let input = self.input.as_mut().ok_or("the sender has no input")?;
        writeln!(input, "{request}").map_err(|error| format!("the sender: {error}"))?;
        self.read()
    }
}

impl Drop for Sender {
    fn drop(&mut self) {
        // It ends with its input.
        drop(self.input.take());
        let _ = self.child.wait();
    }
}

/// Sends all requests and counts them; findings are an error.
pub(super) fn send_all(root: &Path, python: &Path, requests: &[Value]) -> Result<Counts, String> {
    let provider = CheckingProvider::start();
    let mut sender = Sender::start(root, python, &provider.url())?;
    let versions = sender.read()?;
    let versions = versions.as_object().into_iter().flatten();
    let versions =
        versions.map(|(name, version)| (name.clone(), version.as_str().unwrap_or_default().to_owned()));
    let mut sent = Counts { versions: versions.collect(), counts: BTreeMap::new() };
    let mut findings = Vec::new();
    for request in requests {
        let reply = sender.send(request)?;
        let received = provider.take();
        count(request, &reply, &received, &mut sent.counts);
        let found = finding(request, &reply, &received);
        findings.extend(found.map(|what| {
            let text = |key: &str| request[key].as_str().unwrap_or_default();
            format!("{} [{}]: {what}", text("name"), text("dialect"))
        }));
    }
    if findings.is_empty() {
        return Ok(sent);
    }
    Err(format!("{}\nsdk: {} found", findings.join("\n"), findings.len()))
}

fn count(request: &Value, reply: &Value, received: &Received, counts: &mut BTreeMap<String, usize>) {
    let text = |key: &str| request[key].as_str().unwrap_or_default();
    let dialect = text("dialect");
    *counts.entry(format!("{dialect}/{}", text("kind"))).or_default() += 1;
    if request["is_refused"] == true && reply["why"].is_string() {
        let by = if received.bodies.is_empty() { "the SDK" } else { "the server" };
        *counts.entry(format!("{dialect}/refused by {by}")).or_default() += 1;
    }
}

fn finding(request: &Value, reply: &Value, received: &Received) -> Option<String> {
    if let Some(path) = received.strays.first() {
        return Some(format!("an unexpected path: {path}"));
    }
    let why = match &reply["why"] {
        Value::String(why) => Some(why.clone()),
        _ if reply["text"] == WORD => None,
        _ => Some(format!("the answer was read as {}", reply["text"])),
    };
    match (why, request["is_refused"] == true) {
        (Some(_), true) => None,
        (Some(why), false) => Some(why),
        (None, true) => Some("accepted, although it breaks a rule".to_owned()),
        (None, false) => is_changed(&request["body"], received.bodies.last()?)
            .then(|| "what arrived differs from what was encoded".to_owned()),
    }
}

/// Returns whether what arrived lacks something of the request, or has another value.
fn is_changed(sent: &Value, arrived: &Value) -> bool {
    let keys = sent.as_object().into_iter().flatten().filter(|(key, _)| *key != "model");
    keys.into_iter().any(|(key, value)| plain(value, key) != plain(&arrived[key.as_str()], key))
}

/// Returns a value without keys that are null, with base64 in one alphabet.
fn plain(value: &Value, key: &str) -> Value {
    match value {
        Value::Object(map) => {
            let there = map.iter().filter(|(_, inner)| !inner.is_null());
            Value::Object(there.map(|(key, inner)| (key.clone(), plain(inner, key))).collect())
        }
        Value::Array(list) => list.iter().map(|inner| plain(inner, "")).collect(),
        Value::String(text) if matches!(key, "data" | "thoughtSignature") => {
            json!(text.trim_end_matches('=').replace('-', "+").replace('_', "/"))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checked(is_refused: bool, reply: &Value, arrived: Option<Value>) -> Option<String> {
        let request =
            json!({"body": {"model": "m", "a": {"data": "-_8=", "b": null}}, "is_refused": is_refused});
        finding(&request, reply, &Received { bodies: arrived.into_iter().collect(), strays: Vec::new() })
    }

    #[test]
    fn refusals_and_answers_are_compared_with_what_was_expected() {
        let (fine, refused) = (json!({"text": WORD}), json!({"why": "BadRequest: no"}));
        let body = || Some(json!({"a": {"data": "+/8"}}));
        assert_eq!(checked(false, &fine, body()), None);
        assert_eq!(checked(true, &refused, None), None);
        assert_eq!(checked(false, &refused, body()).as_deref(), Some("BadRequest: no"));
        assert_eq!(checked(true, &fine, body()).as_deref(), Some("accepted, although it breaks a rule"));
        assert!(checked(false, &json!({"text": "F"}), body()).is_some());
        let changed = checked(false, &fine, Some(json!({"a": {"data": "AAAA"}})));
        assert_eq!(changed.as_deref(), Some("what arrived differs from what was encoded"));
    }
}
