//! The command line.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy, Prices};

use crate::strategy::Strategy;

/// Weighs, previews and compacts the sessions of coding agents, so that they stay inside the context window.
///
/// Reads session files of Claude Code and pi, and messages as JSON or JSON lines; the format is told from the
/// content. Works without a key and without a network.
#[derive(Debug, Parser)]
#[command(name = "wb", version, about)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows how full the window is, by what, and whether it would be compacted
    Weigh(Weigh),
    /// Shows what a compaction would drop, keep, clear and restore; writes nothing
    Plan(Plan),
    /// Compacts a session: the transcript goes to OUT or stdout, the report to stderr
    #[command(visible_alias = "condense")]
    Compact(Compact),
    /// Compacts a session with every strategy in memory and shows them side by side; writes nothing
    Compare(Compare),
    /// Shows what each strategy would have kept of past sessions, and what they would have cost; changes nothing
    ///
    /// At the places where a window would have been full, the history up to there is compacted with each strategy,
    /// without a model, and compared with what the next messages really needed. A folder stands for all session files
    /// below it.
    Replay(Replay),
    /// Holds every summary in a session against the messages that it stands for, and shows what they do not bear out
    ///
    /// Paths that never occurred, changes and successes that no message shows, tasks in another state, constraints that
    /// are missing, approvals that nobody gave. The exit code is 1 if something is found.
    Audit(Audit),
    /// Looks into a session file of pi, compacts it, takes that back, goes to another branch of it
    ///
    /// `tree`, `show` and `context` write nothing. `compact`, `undo` and `branch` append entries that pi reads, and
    /// change nothing that is there. Close the session in pi before: a program that has it open does not notice.
    #[command(subcommand)]
    Session(SessionCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum SessionCommand {
    /// Shows the entries of a session as a tree, one line each
    Tree(SessionTree),
    /// Shows what one entry holds
    Show(SessionEntry),
    /// Shows what the model sees at an entry
    Context(SessionEntry),
    /// Appends a compaction: a digest of older messages takes their place, the recent ones stay
    ///
    /// No model is set up yet, so the digest is the local one: it is taken from the messages themselves.
    ///
    /// How much stays is told by the section `compaction` of two files: `~/.indusagi/agent/settings.json` and
    /// `.indusagi/settings.json` in the working directory of the session, whose keys go first. Where one of them is
    /// not there, that of pi is read: `~/.pi/agent/settings.json`, `.pi/settings.json`.
    Compact(SessionCompact),
    /// Takes the last compaction back: goes on before it, with what came after it repeated
    ///
    /// The compaction stays in the file, on the branch that is left.
    Undo(SessionChange),
    /// Goes to an entry, so that what is said next follows it
    ///
    /// Going to a prompt leads to the entry before it and prints the prompt, to be written anew.
    Branch(SessionBranch),
}

/// What the commands that write have in common.
#[derive(Debug, Args)]
pub(crate) struct SessionChange {
    /// Session file of pi; `-` is standard input and needs -o
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Leave FILE as it is and write the whole session with the change to OUT, a new file
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionCompact {
    #[command(flatten)]
    pub(crate) change: SessionChange,
    /// What the digest should look at; only a model follows it
    #[arg(long, value_name = "TEXT")]
    pub(crate) instructions: Option<String>,
    /// Show the digest and the figures and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionTree {
    /// Session file of pi; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionEntry {
    /// Session file of pi; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Id of an entry, or as much of its beginning as no other has [default: the last entry]
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: Option<String>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SessionBranch {
    #[command(flatten)]
    pub(crate) change: SessionChange,
    /// Id of an entry, or as much of its beginning as no other has
    #[arg(value_name = "ENTRY")]
    pub(crate) entry: String,
    /// Take along a digest of the branch that is left
    #[arg(long)]
    pub(crate) summarize: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Weigh {
    /// Session files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct Plan {
    /// Session file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// How the session is brought down
    #[arg(long, value_enum, default_value_t)]
    pub(crate) strategy: Strategy,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    /// Session file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Where the compacted transcript goes, as JSON lines; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Write over OUT if it is there
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// How the session is brought down
    #[arg(long, value_enum, default_value_t)]
    pub(crate) strategy: Strategy,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Session file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Session file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// Session files, or folders of them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Windows that are tried, in tokens: smaller than a model's, so that a session fills them more than once
    #[arg(long, value_name = "TOKENS", value_delimiter = ',', default_values = ["32k", "64k"], value_parser = window)]
    pub(crate) window: Vec<u64>,
    /// How many messages after a place tell what was needed
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) future: u32,
    /// The most places in one segment of a session, for one window
    #[arg(long, value_name = "N", default_value_t = 6, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_cuts: u32,
    /// Prices in US dollars per million tokens, such as input=3,cached=0.3,write=3.75,output=15
    ///
    /// What is left out follows from input: cached and write cost as much, output nothing. Without prices the cost is
    /// told in tokens.
    #[arg(long, value_name = "PRICES", value_parser = prices)]
    pub(crate) price: Option<Prices>,
    /// Write a page with charts to OUT, one file that needs no other; `-` is standard output
    #[arg(long, value_name = "OUT")]
    pub(crate) html: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Policy {
    /// Context window in tokens, such as 200000, 200k or 1m [default: the file's, else 200k]
    #[arg(long, value_name = "TOKENS", value_parser = window)]
    pub(crate) window: Option<u64>,
    /// Part of the usable window, in (0, 1], above which a session is over budget
    #[arg(long, value_name = "RATIO", default_value_t = AUTO_CONDENSE_POLICY.trigger_ratio, value_parser = ratio)]
    pub(crate) trigger_ratio: f64,
    /// Tokens of the recent tail to keep verbatim
    #[arg(long, value_name = "TOKENS", default_value_t = AUTO_CONDENSE_POLICY.keep_recent, value_parser = tokens)]
    pub(crate) keep_recent_tokens: u64,
    /// Tokens to hold back for the answer
    #[arg(long, value_name = "TOKENS", default_value_t = AUTO_CONDENSE_POLICY.reserve_tokens.unwrap_or(0), value_parser = tokens)]
    pub(crate) reserve_tokens: u64,
    /// Fold everything before the last prompt, even within budget
    #[arg(long)]
    pub(crate) force: bool,
    /// Print one JSON object per file
    #[arg(long)]
    pub(crate) json: bool,
}

impl Policy {
    pub(crate) fn budget(&self) -> BudgetPolicy {
        BudgetPolicy {
            trigger_ratio: self.trigger_ratio,
            keep_recent: self.keep_recent_tokens,
            reserve_tokens: Some(self.reserve_tokens),
        }
    }
}

/// Reads a number of tokens; `k` and `m` stand for thousands and millions, `_` may group digits.
fn tokens(text: &str) -> Result<u64, String> {
    let plain = text.replace('_', "").to_ascii_lowercase();
    let (digits, factor) = match plain.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => plain.strip_suffix('m').map_or((plain.as_str(), 1), |digits| (digits, 1_000_000)),
    };
    let count: Option<u64> = digits.parse().ok();
    count
        .and_then(|count| count.checked_mul(factor))
        .ok_or_else(|| "expected tokens such as 200000 or 200k".to_owned())
}

/// Reads the tokens of a window, which are not 0.
fn window(text: &str) -> Result<u64, String> {
    match tokens(text)? {
        0 => Err("a window holds more than 0 tokens".to_owned()),
        window => Ok(window),
    }
}

fn ratio(text: &str) -> Result<f64, String> {
    let trigger_ratio: f64 = text.parse().map_err(|_| "expected a number such as 0.75".to_owned())?;
    let policy = BudgetPolicy { trigger_ratio, ..AUTO_CONDENSE_POLICY };
    policy.validated().map(|policy| policy.trigger_ratio).map_err(|error| error.to_string())
}

/// Reads prices such as `input=3,output=15`.
fn prices(text: &str) -> Result<Prices, String> {
    let mut told = [None; 4];
    for part in text.split(',') {
        let (name, price) = part.split_once('=').ok_or("expected prices such as input=3,output=15")?;
        let at = ["input", "cached", "write", "output"].iter().position(|known| *known == name.trim());
        let at =
            at.ok_or_else(|| format!("there is no price `{name}`; there are input, cached, write, output"))?;
        if told[at].is_some() {
            return Err(format!("{} is told twice", name.trim()));
        }
        let price: f64 = price.trim().parse().map_err(|_| format!("{price} is no price"))?;
        let is_price = price.is_finite() && price >= 0.0;
        told[at] = Some(if is_price { price } else { return Err(format!("{price} is no price")) });
    }
    let [input, cached, write, output] = told;
    let input = input.ok_or("the price of input is needed: input=3")?;
    let (cached, write) = (cached.unwrap_or(input), write.unwrap_or(input));
    Ok(Prices { input, cached, write, output: output.unwrap_or(0.0), as_of: String::new() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn tokens_may_be_grouped_and_abbreviated() {
        assert_eq!(tokens("200_000"), Ok(200_000));
        assert_eq!(tokens("32k"), Ok(32_000));
        assert_eq!(tokens("1M"), Ok(1_000_000));
        for bad in ["", "k", "-1", "1.5k", "99999999999999999999", "9999999999999999m"] {
            assert!(tokens(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn prices_are_told_by_name_and_what_is_left_out_costs_as_input_does() {
        let all = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, as_of: String::new() };
        assert_eq!(prices("input=3,cached=0.3,write=3.75,output=15"), Ok(all));
        let input = Prices { input: 2.0, cached: 2.0, write: 2.0, ..Prices::default() };
        assert_eq!(prices("input=2"), Ok(input));
        for bad in ["", "3", "output=15", "input=x", "input=-1", "input=NaN", "inputs=3", "input=3,input=5"] {
            assert!(prices(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ratios_outside_of_the_unit_interval_are_refused() {
        assert_eq!(ratio("0.5"), Ok(0.5));
        for bad in ["0", "1.5", "-1", "NaN", "inf", "much"] {
            assert!(ratio(bad).is_err(), "{bad}");
        }
    }
}
