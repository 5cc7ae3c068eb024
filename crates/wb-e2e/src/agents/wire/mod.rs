//! The dialects of model providers, as far as agents need them: requests and streamed answers.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use serde_json::Value;

use super::script::{Call, Turn};

/// The reported tokens of every answer.
const OUTPUT_TOKENS: usize = 60;
/// The number of request bytes that count as one token.
const BYTES_PER_TOKEN: usize = 4;

/// The format of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Anthropic Messages.
    Anthropic,
    /// Chat Completions of `OpenAI`.
    Chat,
    /// Responses of `OpenAI`.
    Responses,
    /// `streamGenerateContent` of Gemini.
    Gemini,
}

/// Whom a part of a request comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Who {
    /// The user; a digest is written as one too.
    User,
    /// The model.
    Assistant,
    /// The host.
    Host,
}

/// One part of a request, in the order in which a model reads them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Item {
    /// A text.
    Text(Who, String),
    /// A call with its id.
    Call(String),
    /// The output of the call with this id.
    Output(String, String),
}

/// A tool that a request declares, and the schema of each of its arguments.
#[derive(Debug)]
pub(crate) struct Tool {
    name: String,
    properties: Value,
}

/// A call of a tool.
#[derive(Debug)]
pub(crate) struct Called {
    id: String,
    name: String,
    input: Value,
}

/// An answer, before it is written in a dialect.
#[derive(Debug)]
pub(crate) struct Reply {
    /// A number that no other answer has.
    pub(crate) number: usize,
    /// The name of the model.
    pub(crate) model: String,
    /// The thought before it.
    pub(crate) thought: String,
    /// The words.
    pub(crate) text: String,
    /// The calls.
    pub(crate) calls: Vec<Called>,
    /// The reported tokens of the request.
    pub(crate) input_tokens: usize,
}

impl Dialect {
    /// Detects the dialect from the address.
    pub(crate) fn from_url(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or_default().trim_end_matches('/');
        let ends = [
            ("/chat/completions", Self::Chat),
            ("/messages", Self::Anthropic),
            ("/responses", Self::Responses),
            (":streamGenerateContent", Self::Gemini),
        ];
        ends.into_iter().find(|(end, _)| path.ends_with(end)).map(|(_, dialect)| dialect)
    }

    /// Reads the parts of a request.
    pub(crate) fn items(self, body: &Value) -> Vec<Item> {
        match self {
            Self::Anthropic => anthropic::items(body),
            Self::Chat => chat::items(body),
            Self::Responses => responses::items(body),
            Self::Gemini => gemini::items(body),
        }
    }

    /// Finds what a provider of this dialect would refuse.
    pub(crate) fn faults(self, body: &Value) -> Vec<String> {
        match self {
            Self::Anthropic => anthropic::faults(body),
            Self::Chat => chat::faults(body),
            Self::Responses => Vec::new(),
            Self::Gemini => gemini::faults(body),
        }
    }

    /// Returns whether a request asks for a stream; those of Gemini say so with their address.
    pub(crate) fn is_streamed(self, body: &Value) -> bool {
        self == Self::Gemini || body["stream"] == true
    }

    /// Returns whether every answer has to begin with a thought.
    pub(crate) fn must_think(self, body: &Value) -> bool {
        self == Self::Anthropic && anthropic::must_think(body)
    }

    /// Reads the tools that a request declares.
    pub(crate) fn tools(self, body: &Value) -> Vec<Tool> {
        let tool = match self {
            Self::Anthropic => anthropic::tool,
            Self::Chat => chat::tool,
            Self::Responses => return list(&body["tools"]).iter().flat_map(responses::tools).collect(),
            Self::Gemini => return list(&body["tools"]).iter().flat_map(gemini::tools).collect(),
        };
        list(&body["tools"]).iter().map(tool).collect()
    }

    /// Writes an answer as a stream of events.
    pub(crate) fn stream(self, reply: &Reply) -> String {
        match self {
            Self::Anthropic => anthropic::events(reply).iter().map(named_event).collect(),
            Self::Chat => chat::events(reply).iter().map(event).chain(["data: [DONE]\n\n".into()]).collect(),
            Self::Responses => responses::events(reply).iter().map(named_event).collect(),
            Self::Gemini => gemini::events(reply).iter().map(event).collect(),
        }
    }
}

impl Reply {
    /// Builds the answer to a request.
    pub(crate) fn to(body: &Value, number: usize, turn: &Turn, calls: Vec<Called>) -> Self {
        let model = body["model"].as_str().unwrap_or("scripted").to_owned();
        let input_tokens = (body.to_string().len() / BYTES_PER_TOKEN).max(turn.reported_tokens);
        let Turn { thought, text, .. } = turn.clone();
        Self { number, model, thought, text, calls, input_tokens }
    }
}

/// Names of tools that run a line, and of their arguments.
const SHELLS: ([&str; 5], [&str; 2]) =
    (["bash", "shell", "exec_command", "shell_command", "run_shell_command"], ["command", "cmd"]);
/// Names of tools that read a file, and of their arguments.
const READERS: ([&str; 2], [&str; 3]) = (["read", "read_file"], ["path", "file_path", "filePath"]);

impl Called {
    /// Says a call in the words of one of the tools; where none reads files, the shell does.
    pub(crate) fn with(tools: &[Tool], call: &Call, id: String) -> Result<Self, String> {
        let found = match call {
            Call::Run(line) => find(tools, &SHELLS.0, &SHELLS.1).map(|tool| (tool, line.clone())),
            Call::Read(path) => find(tools, &READERS.0, &READERS.1)
                .map(|tool| (tool, path.clone()))
                .or_else(|| find(tools, &SHELLS.0, &SHELLS.1).map(|tool| (tool, format!("cat '{path}'")))),
            Call::Recall(words) => {
                let is_recall = |tool: &&Tool| tool.name == "recall" || tool.name.ends_with("_recall");
                tools.iter().find(is_recall).map(|tool| ((tool, "query"), words.clone()))
            }
        };
        let ((tool, argument), value) = found.ok_or_else(|| unknown(tools, call))?;
        let mut input = serde_json::json!({ argument: value });
        if !tool.properties["description"].is_null() {
            input["description"] = "A scripted call".into();
        }
        Ok(Self { id, name: tool.name.clone(), input })
    }
}

fn find<'a>(tools: &'a [Tool], names: &[&str], arguments: &[&'a str]) -> Option<(&'a Tool, &'a str)> {
    let mut fitting = tools.iter().filter(|tool| names.contains(&tool.name.to_lowercase().as_str()));
    let argument = |tool: &Tool| arguments.iter().find(|name| !tool.properties[**name].is_null()).copied();
    fitting.find_map(|tool| argument(tool).map(|name| (tool, name)))
}

fn unknown(tools: &[Tool], call: &Call) -> String {
    let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    format!("no tool for {call:?} among {}; name it in crates/wb-e2e/src/agents/wire", names.join(", "))
}

fn event(data: &Value) -> String {
    format!("data: {data}\n\n")
}

fn named_event(data: &Value) -> String {
    format!("event: {}\n{}", string(&data["type"]), event(data))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn string(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Returns the words of a content that is one text or a list of parts.
fn words(content: &Value) -> String {
    let parts: Vec<&str> = list(content).iter().filter_map(|part| part["text"].as_str()).collect();
    content.as_str().map_or_else(|| parts.join("\n"), str::to_owned)
}

fn who(role: &Value) -> Who {
    match role.as_str() {
        Some("user") => Who::User,
        Some("assistant" | "model") => Who::Assistant,
        _ => Who::Host,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn tool(name: &str, arguments: &[&str]) -> Tool {
        let properties = arguments.iter().map(|name| ((*name).to_owned(), json!({}))).collect();
        Tool { name: name.to_owned(), properties: Value::Object(properties) }
    }

    fn call_by_name(tools: &[Tool], call: &Call) -> (String, Value) {
        let called = Called::with(tools, call, "1".into()).unwrap();
        (called.name, called.input)
    }

    #[test]
    fn a_dialect_is_identified_by_the_end_of_the_address() {
        assert_eq!(Dialect::from_url("/v1/messages?beta=true"), Some(Dialect::Anthropic));
        assert_eq!(Dialect::from_url("/v1/chat/completions"), Some(Dialect::Chat));
        assert_eq!(Dialect::from_url("/v1/responses/"), Some(Dialect::Responses));
        assert_eq!(
            Dialect::from_url("/v1beta/models/m:streamGenerateContent?alt=sse"),
            Some(Dialect::Gemini)
        );
        assert_eq!(Dialect::from_url("/v1/messages/count_tokens"), None);
    }

    #[test]
    fn a_call_uses_the_tools_that_are_there() {
        let tools = [tool("Bash", &["command", "description"]), tool("Read", &["file_path"])];
        let run = Call::Run("ls".into());
        assert_eq!(
            call_by_name(&tools, &run),
            ("Bash".into(), json!({"command": "ls", "description": "A scripted call"}))
        );
        assert_eq!(call_by_name(&tools, &Call::Read("a".into())), ("Read".into(), json!({"file_path": "a"})));
    }

    #[test]
    fn without_a_tool_for_reading_the_shell_reads() {
        let tools = [tool("exec_command", &["cmd"])];
        assert_eq!(
            call_by_name(&tools, &Call::Read("a b".into())),
            ("exec_command".into(), json!({"cmd": "cat 'a b'"}))
        );
    }

    #[test]
    fn an_unknown_tool_is_reported_with_the_known_ones() {
        let why = Called::with(&[tool("browse", &["url"])], &Call::Run("ls".into()), "1".into()).unwrap_err();
        assert_eq!(why, "no tool for Run(\"ls\") among browse; name it in crates/wb-e2e/src/agents/wire");
    }

    #[test]
    fn a_stream_has_an_event_for_each_piece_and_an_end() {
        let calls = vec![Called { id: "c1".into(), name: "bash".into(), input: json!({"command": "ls"}) }];
        let turn = Turn { thought: "Hm.".into(), text: "Look.".into(), ..Turn::default() };
        let reply = Reply::to(&json!({"model": "m"}), 7, &turn, calls);
        for (dialect, end) in [
            (Dialect::Anthropic, "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n"),
            (Dialect::Chat, "data: [DONE]\n\n"),
        ] {
            let stream = dialect.stream(&reply);
            assert!(stream.ends_with(end), "{stream}");
            assert!(stream.contains("Hm.") && stream.contains("Look."), "{stream}");
            assert!(stream.contains(r#"{\"command\":\"ls\"}"#), "{stream}");
        }
        let stream = Dialect::Responses.stream(&reply);
        assert!(stream.rsplit("event: ").next().unwrap().starts_with("response.completed\n"), "{stream}");
    }
}
