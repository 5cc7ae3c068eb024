//! The commands of the user.

use std::fmt::Write as _;

use tokio_util::sync::CancellationToken;
use wb_message::markers::digest_body;
use wb_message::number::{grouped, grouped_in};
use wb_message::outline;
use wb_message::text::{escape_controls, escape_controls_in_lines};
use wb_recall::Question;

use crate::agent::{Agent, Event};
use crate::error::AgentError;

/// The text of `/help`.
pub const HELP: &str = "\
/compact [INSTRUCTIONS]  fold older messages now; instructions are for a model that writes the digest
/undo                    undo the last compaction
/branch ENTRY            go back to an entry of the log, with a summary of what is left; `wb session tree` shows them
/context                 how full the window is
/why                     the last compaction: its digest, what it folded, and what its audit found
/demo                    an hour of scripted work in a minute, without a network
/recall WORDS            look up what was said, also before a compaction
/quit                    leave; `--resume` goes on from there
Ctrl-C stops what is under way.";

/// The width of the meter.
const METER_CHARS: u64 = 40;

/// The folded messages that are listed, the newest ones.
const MOST_FOLDED: usize = 12;

/// A line that the user typed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command<'a> {
    /// Something for the model.
    Prompt(&'a str),
    /// Folds older messages now.
    Compact(Option<&'a str>),
    /// Undoes the last compaction.
    Undo,
    /// Goes to an entry of the log.
    Branch(&'a str),
    /// Shows how full the window is.
    Context,
    /// Shows the effect of the last compaction.
    Why,
    /// Looks up what was said.
    Recall(&'a str),
    /// Plays a scripted hour.
    Demo,
    /// Leaves.
    Quit,
    /// Shows the commands.
    Help,
    /// A command that does not exist.
    Unknown(&'a str),
    /// Nothing.
    Nothing,
}

impl<'a> Command<'a> {
    /// Reads a line. A path is no command: it has a second slash.
    pub fn parse(line: &'a str) -> Self {
        let line = line.trim();
        let (name, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match (name, rest.trim()) {
            ("", _) => Self::Nothing,
            ("/compact", rest) => Self::Compact((!rest.is_empty()).then_some(rest)),
            ("/undo", _) => Self::Undo,
            ("/branch", entry) if !entry.is_empty() => Self::Branch(entry),
            ("/context", _) => Self::Context,
            ("/why", _) => Self::Why,
            ("/recall", words) if !words.is_empty() => Self::Recall(words),
            ("/demo", _) => Self::Demo,
            ("/quit" | "/exit", _) => Self::Quit,
            ("/help", _) => Self::Help,
            (name, _) if name.starts_with('/') && !name[1..].contains('/') => Self::Unknown(name),
            _ => Self::Prompt(line),
        }
    }
}

/// Folds older messages and returns a report.
pub async fn compact(
    agent: &mut Agent,
    instructions: Option<&str>,
    cancel: &CancellationToken,
) -> Result<String, AgentError> {
    let done = agent.compact(instructions, cancel, &mut |_: Event<'_>| {}).await?;
    let ignored = instructions.is_some() && !agent.writes_digests();
    let note =
        if ignored { "\nno model writes the digest, so the instructions were not followed" } else { "" };
    Ok(format!("{}{note}", grouped_in(&done.to_string())))
}

/// Undoes the last compaction and returns a report.
pub fn undo(agent: &mut Agent) -> Result<String, AgentError> {
    if !agent.undo()? {
        return Ok("there is no compaction to take back".to_owned());
    }
    let tokens = agent.estimate().context_tokens;
    let over = match agent.limit_tokens() {
        Some(limit) if tokens > limit => "; that is over the limit: the next request compacts again",
        _ => "",
    };
    Ok(format!("taken back: {} tokens in {} messages{over}", grouped(tokens), n_messages(agent)))
}

/// Goes to an entry of the log and returns a report.
pub async fn branch(agent: &mut Agent, entry: &str) -> Result<String, AgentError> {
    let gone = agent.navigate(&entry.into(), true).await?;
    let place =
        gone.new_leaf_id.as_ref().map_or("before the first entry".to_owned(), |id| format!("at {id}"));
    let prompt = gone.editor_text.map_or_else(String::new, |text| format!("\nthe prompt was: {text}"));
    Ok(format!("the session goes on {place}, with {} messages{prompt}", n_messages(agent)))
}

/// Draws how full the window is.
pub fn context(agent: &mut Agent) -> String {
    let estimate = agent.estimate();
    let (tokens, window) = (estimate.context_tokens, estimate.context_window.max(1));
    let limit = agent.limit_tokens().unwrap_or(window);
    let chars = |tokens: u64| (tokens.min(window) * METER_CHARS).div_ceil(window);
    let meter: String = (1..=METER_CHARS)
        .map(|at| match at {
            at if at <= chars(tokens) => '█',
            at if at == chars(limit) => '┊',
            _ => '░',
        })
        .collect();
    let how = if estimate.anchored { "counted by the provider" } else { "by estimate" };
    let percent = tokens * 100 / window;
    let [tokens, window, limit] = [tokens, window, limit].map(grouped);
    let mut out = format!("▕{meter}▏ {tokens} of {window} tokens ({percent} %), {how}\n");
    let (messages, digests) = (n_messages(agent), agent.n_digests());
    let _ = writeln!(out, "{messages} messages, {digests} of them a digest; compacted above {limit} ┊");
    let _ = write!(out, "log: {}", agent.log().display());
    out
}

fn n_messages(agent: &Agent) -> String {
    grouped(agent.messages().len() as u64)
}

/// Returns a report of the last compaction and its audit.
pub fn why(agent: &Agent) -> String {
    let Some(step) = agent.last_step() else { return "nothing was compacted in this session".to_owned() };
    let mut out = grouped_in(&step.report);
    out.push_str(match (step.by_model, step.findings.is_empty()) {
        (false, _) => "\nno words of a model are in it, so that there was nothing to audit",
        (true, true) => "\nthe audit found nothing in the model's digest that the session does not bear out",
        (true, false) => "\nthe audit struck this from the model's digest, or added what was missing:",
    });
    for finding in &step.findings {
        let _ = write!(out, "\n- {finding}");
    }
    write_folded(agent, &mut out);
    if let Some(digest) = agent.messages().iter().find_map(digest_body) {
        let _ = write!(out, "\n\nThe digest:\n{}", escape_controls_in_lines(digest.trim_end()));
    }
    out
}

/// Lists the newest messages that are only in the digest.
fn write_folded(agent: &Agent, out: &mut String) {
    let Ok(recall) = agent.recall() else { return };
    let n_folded = recall.first_visible().min(recall.len());
    if n_folded == 0 {
        return;
    }
    let _ = write!(out, "\n\nFolded: {} messages; /recall looks them up.", grouped(n_folded as u64));
    let first = n_folded.saturating_sub(MOST_FOLDED);
    for (at, message) in recall.messages()[..n_folded].iter().enumerate().skip(first) {
        let _ = write!(out, "\n  #{at} {}", escape_controls(&outline::line(message)));
    }
}

/// Returns exact excerpts of what was said.
pub fn recall(agent: &Agent, words: &str) -> Result<String, AgentError> {
    let answer = agent.recall()?.answer(&Question::words(words)).redacted().to_string();
    Ok(answer.trim_end().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_begins_with_a_slash_and_a_path_is_none() {
        assert_eq!(Command::parse(" /compact keep the plan "), Command::Compact(Some("keep the plan")));
        assert_eq!(Command::parse("/compact"), Command::Compact(None));
        assert_eq!(Command::parse("/usr/bin is full"), Command::Prompt("/usr/bin is full"));
        assert_eq!(Command::parse("/nope x"), Command::Unknown("/nope"));
        assert_eq!(Command::parse("  "), Command::Nothing);
    }
}
