//! A provider on the loopback address that plays a script and remembers what it was asked.

use std::collections::VecDeque;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use wb_testkit::loopback::{self, Loopback, Play};

use super::script::Turn;
use super::wire::{Called, Dialect, Item, Reply, Who};

/// A request of the agent's loop, which declares tools.
#[derive(Clone, Debug)]
pub(crate) struct AgentRequest {
    /// The items that the model was given to read.
    pub(crate) items: Vec<Item>,
    /// The whole of it, as it came.
    pub(crate) text: String,
}

/// The requests since a script was set.
#[derive(Debug, Default)]
pub(crate) struct Played {
    /// The requests of the loop.
    pub(crate) requests: Vec<AgentRequest>,
    /// The requests for a summary of the session: agents send them to compact their own way.
    pub(crate) summaries: Vec<String>,
    /// The number of other requests without tools, such as those for titles.
    pub(crate) n_aside: usize,
    /// The longest time between an answer and the next request.
    pub(crate) pause: Duration,
    /// The faults.
    pub(crate) faults: Vec<String>,
    /// The output of the agent.
    pub(crate) printed: String,
}

#[derive(Debug)]
struct State {
    turns: VecDeque<Turn>,
    played: Played,
    /// Answers so far; ids are made of this number.
    n_replies: usize,
    /// The time of the script's last answer.
    answered: Option<Instant>,
    log: File,
}

/// The provider; it ends with this value.
pub(crate) struct Provider {
    state: Arc<Mutex<State>>,
    server: Loopback,
}

impl Provider {
    /// Starts to listen on a free port; every request becomes a line of the log.
    pub(crate) fn start(log: &Path) -> Result<Self, String> {
        let log = File::create(log).map_err(|error| format!("{}: {error}", log.display()))?;
        let state =
            State { turns: VecDeque::new(), played: Played::default(), n_replies: 0, answered: None, log };
        let state = Arc::new(Mutex::new(state));
        let its_state = Arc::clone(&state);
        let server = Loopback::with_handler(move |_, request| serve(&mut locked(&its_state), request));
        Ok(Self { state, server })
    }

    /// Returns the port.
    pub(crate) fn port(&self) -> u16 {
        self.server.port()
    }

    /// Sets the answers from now on.
    pub(crate) fn play(&self, turns: Vec<Turn>) {
        let mut state = locked(&self.state);
        state.turns = turns.into();
        state.played = Played::default();
        state.answered = None;
    }

    /// Returns what came since then; turns that were not asked for are faults.
    pub(crate) fn played(&self) -> Played {
        let mut state = locked(&self.state);
        let mut played = std::mem::take(&mut state.played);
        if !state.turns.is_empty() {
            played.faults.push(format!("the agent stopped {} answers before the end", state.turns.len()));
        }
        played
    }
}

fn locked(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Answers a request, and measures how long the agent took for it.
fn serve(state: &mut State, request: &loopback::Request) -> Vec<Play> {
    let pause = state.answered.map_or(Duration::ZERO, |answered| answered.elapsed());
    state.played.pause = state.played.pause.max(pause);
    let (method, url) = request.line.split_once(' ').unwrap_or_default();
    let answer = answer(state, method, url, request.text.clone());
    state.answered = Some(Instant::now());
    match answer {
        Answer::Json(status, body) => loopback::error(status, &[], &body),
        Answer::Stream(events) => loopback::stream(&events, usize::MAX),
    }
}

/// An answer, before it is written as HTTP.
#[derive(Debug, PartialEq)]
enum Answer {
    /// A status, and a body in JSON.
    Json(u16, String),
    /// A stream of events.
    Stream(String),
}

fn answer(state: &mut State, method: &str, url: &str, text: String) -> Answer {
    let body: Value = serde_json::from_str(&text).unwrap_or_default();
    let line = json!({"method": method, "url": url, "body": body});
    let _ = writeln!(state.log, "{line}");
    match Dialect::from_url(url) {
        Some(dialect) if method == "POST" => reply(state, dialect, &body, text),
        _ => side_answer(url, text.len()),
    }
}

/// Answers what is no request for a reply: lists of models, counts of tokens.
fn side_answer(url: &str, n_bytes: usize) -> Answer {
    let path = url.split('?').next().unwrap_or_default();
    let body = match path.rsplit('/').next() {
        Some("models") => json!({"object": "list", "data": [], "models": []}),
        Some("count_tokens") => json!({"input_tokens": n_bytes / 4}),
        _ => json!({}),
    };
    Answer::Json(200, body.to_string())
}

fn reply(state: &mut State, dialect: Dialect, body: &Value, text: String) -> Answer {
    state.n_replies += 1;
    let items = dialect.items(body);
    state.played.faults.extend(dialect.faults(body));
    let reply = if is_for_summary(&items, &text, dialect.tools(body).is_empty()) {
        state.played.summaries.push(text);
        Ok(Reply::to(body, state.n_replies, &aside(NATIVE_SUMMARY), Vec::new()))
    } else if dialect.tools(body).is_empty() {
        state.played.n_aside += 1;
        Ok(Reply::to(body, state.n_replies, &aside("An answer to a question aside."), Vec::new()))
    } else {
        state.played.requests.push(AgentRequest { items, text });
        next_turn(state, dialect, body)
    };
    match reply {
        Ok(reply) if dialect.is_streamed(body) => Answer::Stream(dialect.stream(&reply)),
        Ok(_) => refusal(state, format!("{dialect:?}: a request that does not stream")),
        Err(why) => refusal(state, why),
    }
}

/// Words with which agents ask for a summary: in the instructions of a request without tools, or
/// last in one with them.
const SUMMARY_WORDS: [&str; 4] =
    ["context summarization", "create a detailed summary of", ITS_INSTRUCTIONS, OUR_INSTRUCTIONS];
/// The words in Codex's built-in instructions, and in those that `wb install` gives it.
pub(crate) const ITS_INSTRUCTIONS: &str = "CONTEXT CHECKPOINT COMPACTION";
pub(crate) const OUR_INSTRUCTIONS: &str = "and your digest takes its place";
/// The answer to requests for a summary.
pub(crate) const NATIVE_SUMMARY: &str = "The model itself sums up that the marsh was looked at.";

/// The thought of a model that has to think before each answer.
const THOUGHT: &str = "Let me see.";

fn is_for_summary(items: &[Item], text: &str, is_without_tools: bool) -> bool {
    let last = items.iter().rev().find_map(|item| match item {
        Item::Text(Who::User, text) => Some(text.as_str()),
        _ => None,
    });
    let prompt = if is_without_tools { text } else { last.unwrap_or_default() };
    SUMMARY_WORDS.iter().any(|words| prompt.contains(words))
}

fn aside(text: &str) -> Turn {
    Turn { text: text.to_owned(), ..Turn::default() }
}

fn next_turn(state: &mut State, dialect: Dialect, body: &Value) -> Result<Reply, String> {
    let mut turn = state.turns.pop_front().ok_or("the agent asked again after the last answer")?;
    if turn.thought.is_empty() && dialect.must_think(body) {
        THOUGHT.clone_into(&mut turn.thought);
    }
    let number = state.n_replies;
    let tools = dialect.tools(body);
    let call = |(index, call)| Called::with(&tools, call, format!("call_{number:04}_{index}"));
    let calls = turn.calls.iter().enumerate().map(call).collect::<Result<_, _>>()?;
    Ok(Reply::to(body, number, &turn, calls))
}

fn refusal(state: &mut State, why: String) -> Answer {
    let error = json!({"type": "error", "error": {"type": "invalid_request_error", "message": why}});
    state.played.faults.push(why);
    Answer::Json(400, error.to_string())
}

#[cfg(test)]
mod tests {
    use super::super::script::Call;
    use super::*;

    fn state(turns: Vec<Turn>) -> State {
        let file = std::env::temp_dir().join(format!("wb-provider-{}-{}", turns.len(), std::process::id()));
        let log = File::create(&file).unwrap();
        let _ = std::fs::remove_file(file);
        State { turns: turns.into(), played: Played::default(), n_replies: 0, answered: None, log }
    }

    fn turn(text: &str, calls: Vec<Call>) -> Turn {
        Turn { text: text.to_owned(), calls, ..Turn::default() }
    }

    fn ask(state: &mut State, body: &Value) -> Answer {
        answer(state, "POST", "/v1/chat/completions", body.to_string())
    }

    fn streamed(state: &mut State, body: &Value) -> String {
        match ask(state, body) {
            Answer::Stream(events) => events,
            Answer::Json(status, body) => panic!("{status}: {body}"),
        }
    }

    fn body() -> Value {
        let bash = json!({"name": "bash", "parameters": {"properties": {"command": {}}}});
        json!({"stream": true, "messages": [{"role": "user", "content": "Go."}], "tools": [{"function": bash}]})
    }

    #[test]
    fn turns_are_played_in_order_and_requests_are_remembered() {
        let mut state = state(vec![turn("One.", vec![Call::Run("ls".into())]), turn("Two.", Vec::new())]);
        let first = streamed(&mut state, &body());
        assert!(first.contains("One.") && first.contains("call_0001_0"), "{first}");
        assert!(streamed(&mut state, &body()).contains("Two."));
        assert_eq!(state.played.requests.len(), 2);
        assert!(state.played.faults.is_empty());
    }

    #[test]
    fn a_request_without_tools_is_answered_aside_and_takes_no_turn() {
        let mut state = state(vec![turn("One.", Vec::new())]);
        let answer = streamed(&mut state, &json!({"stream": true, "messages": []}));
        assert!(answer.contains("aside"), "{answer}");
        assert_eq!((state.played.n_aside, state.turns.len()), (1, 1));
    }

    #[test]
    fn a_request_for_a_summary_is_known_by_its_words_and_takes_no_turn() {
        let mut state = state(vec![turn("One.", Vec::new())]);
        let asked = json!([{"role": "system", "content": "You are a context summarization agent."}]);
        assert!(streamed(&mut state, &json!({"stream": true, "messages": asked})).contains(NATIVE_SUMMARY));
        let mut with_tools = body();
        with_tools["messages"] = json!([{"role": "user", "content": "Now create a detailed summary of it."}]);
        ask(&mut state, &with_tools);
        let Played { summaries, n_aside, .. } = state.played;
        assert_eq!((summaries.len(), n_aside, state.turns.len()), (2, 0, 1));
    }

    #[test]
    fn a_request_after_the_last_turn_is_a_fault() {
        let mut state = state(Vec::new());
        assert!(matches!(ask(&mut state, &body()), Answer::Json(400, _)));
        assert_eq!(state.played.faults, ["the agent asked again after the last answer"]);
    }

    #[test]
    fn unused_turns_are_faults() {
        let log = std::env::temp_dir().join(format!("wb-provider-left-{}", std::process::id()));
        let provider = Provider::start(&log).unwrap();
        provider.play(vec![turn("One.", Vec::new())]);
        assert_eq!(provider.played().faults, ["the agent stopped 1 answers before the end"]);
        std::fs::remove_file(log).unwrap();
    }
}
