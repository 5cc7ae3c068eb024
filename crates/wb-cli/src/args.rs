//! The command line.

use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy};
use wb_dialect::Dialect;
use wb_passes::ImagePolicy;

use crate::after_help::AFTER_HELP;
use crate::convert_target::Target;
use crate::install_args::{Install, Uninstall};
use crate::model_args::ModelArgs;
use crate::option_values::{images, ratio, tokens, window};
use crate::replay_args::Replay;
use crate::session_args::SessionCommand;
use crate::strategy::Strategy;

/// Weighs, previews and compacts the sessions of coding agents, so that they stay inside the context window.
///
/// Without a command it shows how full the newest sessions on this machine are, and changes nothing.
///
/// Reads the sessions of coding agents, logs of evaluations and the bodies of requests: `wb formats` lists them, and the format is
/// told from the content. Works without a key and without a network, unless a model is named.
#[derive(Debug, Parser)]
#[command(name = "wb", version, after_long_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// What every command takes.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Print JSON: one object per file, errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: Color,
    /// Say nothing on standard error but errors
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Also show paths and notes in full, and say where the time went
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

/// When to use colours.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Color {
    #[default]
    Auto,
    Always,
    Never,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Shows how full the window is, and by what
    ///
    /// It also says whether the session would be compacted. Of a folder every session file below it is shown on one line.
    ///
    /// `wb formats` lists what is read.
    Weigh(Weigh),
    /// Shows what a compaction would do
    ///
    /// That is what it would drop, keep, clear and restore, message by message. Nothing is written.
    Plan(Plan),
    /// Compacts a session, so that its agent goes on with it
    ///
    /// Without -o and --in-place the report is shown and nothing is written. The report of a run that writes goes to
    /// standard error.
    #[command(visible_alias = "condense")]
    Compact(Compact),
    /// Takes a compaction back, also one that an agent wrote as its plug-in told it
    ///
    /// If the agent went on since, the old messages come back with what it wrote since behind them.
    Undo(Undo),
    /// Does again what `wb undo` took back
    Redo(Undo),
    /// Shows what `wb` did to a session
    ///
    /// What a compaction hides stays in the session of most agents: the list next to it, FILE.wb-log, says which records
    /// those are.
    Log(Log),
    /// Shows what one operation of `wb` did to a session
    ///
    /// `wb show FILE` shows the last one, `wb show FILE 3` the third; it is what `wb log FILE 3` shows: what it hides and
    /// keeps, what it brought, and its digest.
    Show(Show),
    /// Tries every strategy on a session, side by side
    ///
    /// The session is compacted in memory. Nothing is written.
    Compare(Compare),
    /// Shows what each strategy would have kept of past sessions, and cost
    ///
    /// At the places where a window would have been full, the history up to there is compacted with each strategy,
    /// without a model, and compared with what the next messages really needed. A folder stands for all session files
    /// below it.
    Replay(Replay),
    /// Checks every summary in a session against what was said
    ///
    /// Each is held against the messages that it stands for, and what they do not bear out is shown: paths that never occurred, changes and successes that no message shows, tasks in another state, constraints that
    /// are missing, work that the user took back, approvals that nobody gave. The exit code is 3 if something is found.
    Audit(Audit),
    /// Checks a session or a request against the rules of the providers
    ///
    /// A provider refuses a whole request for one call without its result. Each finding is a line: the number of the
    /// message, the rule, what is so, and what mends it; --json tells where the rule can be read too. A session is checked as
    /// the request that its next prompt would make: one of Claude Code as Anthropic gets it, one of Codex as the Responses API does, any
    /// other as all providers would. A request body, as JSON, is checked as it stands, in its own dialect. The exit code
    /// is 3 if something is found.
    Validate(Validate),
    /// Mends what providers would refuse of a session or a request
    ///
    /// Calls that were never answered get a result that says so, results without a call go, and of a request also what `wb
    /// validate` finds else. Without -o and --in-place it shows what would be done. What cannot be mended is told, with exit
    /// code 3.
    Repair(Repair),
    /// Writes a session or a request as another format has it
    ///
    /// What that format cannot hold is listed first. FORMAT is `native`, messages of our own as JSON lines, or the body of
    /// a request: `anthropic`, `openai` (Chat Completions), `openai-responses`, `gemini`.
    Convert(Convert),
    /// Lists the formats that are read, and what can be written in each
    Formats,
    /// Says why a session does not go on
    ///
    /// It looks for what its provider would refuse, a context that is larger than the window, compactions in a loop, a
    /// newest summary that contradicts the session (of what else `wb audit` finds in it, only the count is told), and lines
    /// that cannot be read: what is so, where, and the command that mends it, which was tried in memory, or what else
    /// helps. Nothing is written. The exit code is 3 if something is found.
    Doctor(Doctor),
    /// Answers an agent that compacts: one JSON document in, one out
    ///
    /// The plug-ins that `wb install` writes run it. What is asked comes on standard input, the answer goes to standard
    /// output and nothing else does. Where it cannot do better than the agent itself, or not in time, it says so and the
    /// agent goes its own way.
    Hook(Hook),
    /// Shows what is known of models: window, limits, prices, and where that was read
    ///
    /// A session whose file tells a model and no window is weighed with the window of its model. What is shown is a table
    /// with a date for each model; under `[models."ID"]` the settings say otherwise: `context_window`, `max_output_tokens`,
    /// and `input`, `cached`, `write` and `output` in US dollars per million tokens.
    Models(Models),
    /// Shows the settings of the agents' compactions, and where each comes from
    ///
    /// The user's own stand in ~/.config/wb/config.toml, those of a project in .wb.toml in its folder; what the project
    /// sets counts first. The keys: strategy (window-budget or ladder), `trigger_ratio`, `keep_recent_tokens`,
    /// `reserve_tokens` as the options of the same names; images (keep, marker or drop), which is what `wb compact` and `wb
    /// plan` do where no option says otherwise, since no agent lets its images be changed; pin, a list of sentences that every digest carries; under
    /// `[models."ID"]` what is known of a model better than `wb models` does; and under `[hosts]` claude-code, codex,
    /// gemini-cli, opencode and pi, which with false are left to their own way.
    Config,
    /// Puts `wb` into an agent, so that it compacts by it
    ///
    /// pi and Claude Code then compact without a request to a model, opencode stores the summary of `wb` in place of its
    /// own, the model of Gemini CLI reads it in place of its own, and Codex is told what its summary left out. Where `wb` cannot do better, or is gone, the agent goes its own
    /// way. What is written is what --dry-run shows; a settings file that is changed is copied next to it before.
    ///
    /// It works on Linux, and on macOS by the same paths, where it was not tried. On Windows nothing is written.
    Install(Install),
    /// Takes `wb` out of an agent
    ///
    /// Only what `wb install` wrote is removed; a settings file that nobody changed since gets its old bytes back.
    Uninstall(Uninstall),
    /// Looks into a session of pi, and changes it by appending
    ///
    /// `tree`, `show` and `context` write nothing. `compact`, `undo` and `branch` append entries that pi reads, and
    /// change nothing that is there. Close the session in pi before: a program that has it open does not notice.
    #[command(subcommand)]
    Session(SessionCommand),
    /// Prints completions for a shell
    ///
    /// bash: `wb completions bash > ~/.local/share/bash-completion/completions/wb`; fish: `wb completions fish >
    /// ~/.config/fish/completions/wb.fish`; zsh: `wb completions zsh > _wb` in a folder of your `fpath`.
    Completions(Completions),
    /// Prints the manual, for man
    ///
    /// `wb man > ~/.local/share/man/man1/wb.1` for keeps; `wb man weigh | man -l -` for a look.
    Man(Manual),
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Models {
    /// The model's id, as a provider, a gateway or an agent writes it [default: all]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// The command, such as `weigh` or `session branch` [default: wb itself]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Weigh {
    /// Session files, or folders of them; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// End with exit code 3 if a session is over its budget
    #[arg(long)]
    pub(crate) check: bool,
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
    /// What becomes of images in tool results before the last prompt, and of all but the newest six behind it [default: as
    /// `wb config` says, else keep]
    #[arg(long, value_parser = images())]
    pub(crate) images: Option<ImagePolicy>,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Compact {
    /// Session file; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the whole session with the compaction in it to OUT, in its own format; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Write over OUT if it is there already
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// Write the compaction into FILE as its agent would; `wb undo FILE` takes it back
    #[arg(long, conflicts_with = "out")]
    pub(crate) in_place: bool,
    /// Write into FILE although a program has it open or wrote to it in the last ten seconds
    #[arg(long, requires = "in_place")]
    pub(crate) even_if_open: bool,
    /// Show the report and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// How the session is brought down
    #[arg(long, value_enum, default_value_t)]
    pub(crate) strategy: Strategy,
    /// What becomes of images in tool results before the last prompt, and of all but the newest six behind it [default: as
    /// `wb config` says, else keep]
    #[arg(long, value_parser = images())]
    pub(crate) images: Option<ImagePolicy>,
    #[command(flatten)]
    pub(crate) policy: Policy,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// Session file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The operation, as `wb log` numbers them [default: the last one]
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: Option<u64>,
    /// Write into FILE although a program has it open or wrote to it in the last ten seconds
    #[arg(long)]
    pub(crate) even_if_open: bool,
    /// Show what would be done and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Session file [default: the compactions that agents asked for]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Show this operation alone: what it hides and keeps, what it brought, on which ones it stands, and its digest
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: Option<u64>,
    /// Say what became of a record: a line of FILE, or a row if that is a database
    #[arg(long, value_name = "RECORD", conflicts_with = "operation")]
    pub(crate) explain: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Session file
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The operation, as `wb log` numbers them [default: the last one]
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: Option<u64>,
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
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Session file, or the body of a request to Anthropic, to Chat Completions or Responses, or to Gemini; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Whose rules: anthropic, openai (Chat Completions), openai-responses, gemini; several with commas [default: those
    /// in which FILE is sent]
    #[arg(long, value_name = "DIALECT", value_delimiter = ',', value_parser = Dialect::from_str)]
    pub(crate) dialect: Vec<Dialect>,
}

#[derive(Debug, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is an option of its own")]
pub(crate) struct Repair {
    /// Session file, or the body of a request; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// Write the whole of it, mended, to OUT; `-` is standard output
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Write over OUT if it is there already
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// Write into FILE; `wb undo FILE` takes it back
    #[arg(long, conflicts_with = "out")]
    pub(crate) in_place: bool,
    /// Write into FILE although a program has it open or wrote to it in the last ten seconds
    #[arg(long, requires = "in_place")]
    pub(crate) even_if_open: bool,
    /// Show what would be mended and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Session file, or the body of a request; `-` is standard input
    #[arg(value_name = "FILE")]
    pub(crate) file: PathBuf,
    /// The format that is written
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Target,
    /// Where it is written [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Write over OUT if it is there already
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// Show what would get lost and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Session file; `-` is standard input [default: the newest session on this machine]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Context window in tokens, such as 200000, 200k or 1.5m [default: the file's, else its model's, else 200k]
    #[arg(long, value_name = "TOKENS", value_parser = window, allow_negative_numbers = true)]
    pub(crate) window: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// The most milliseconds that an answer may take
    #[arg(long, value_name = "MS", default_value_t = 8000)]
    pub(crate) budget_ms: u64,
    /// Print the JSON Schema of both documents
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Budget")]
pub(crate) struct Policy {
    /// Context window in tokens, such as 200000, 200k or 1.5m [default: the file's, else its model's, else 200k]
    #[arg(long, value_name = "TOKENS", value_parser = window, allow_negative_numbers = true)]
    pub(crate) window: Option<u64>,
    /// Part of the usable window, in (0, 1], above which a session is over budget
    #[arg(long, value_name = "RATIO", default_value_t = AUTO_CONDENSE_POLICY.trigger_ratio, value_parser = ratio, allow_negative_numbers = true)]
    pub(crate) trigger_ratio: f64,
    /// Tokens of the recent tail to keep verbatim
    #[arg(long, value_name = "TOKENS", default_value_t = AUTO_CONDENSE_POLICY.keep_recent, value_parser = tokens, allow_negative_numbers = true)]
    pub(crate) keep_recent_tokens: u64,
    /// Tokens to hold back for the answer
    #[arg(long, value_name = "TOKENS", default_value_t = AUTO_CONDENSE_POLICY.reserve_tokens.unwrap_or(0), value_parser = tokens, allow_negative_numbers = true)]
    pub(crate) reserve_tokens: u64,
    /// Compact although the session is within its budget
    ///
    /// A strategy that writes a digest then folds everything before the last prompt. The others go down to their
    /// target, and do nothing to a session that is below it already.
    #[arg(long)]
    pub(crate) force: bool,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            window: None,
            trigger_ratio: AUTO_CONDENSE_POLICY.trigger_ratio,
            keep_recent_tokens: AUTO_CONDENSE_POLICY.keep_recent,
            reserve_tokens: AUTO_CONDENSE_POLICY.reserve_tokens.unwrap_or(0),
            force: false,
        }
    }
}

impl Policy {
    /// Returns the options that say the same on a command line, each with a blank before it.
    pub(crate) fn options(&self) -> String {
        let plain = Self::default();
        let unless = |is_plain: bool, option: String| if is_plain { String::new() } else { option };
        let same_ratio = (self.trigger_ratio - plain.trigger_ratio).abs() < f64::EPSILON;
        [
            self.window.map_or_else(String::new, |window| format!(" --window {window}")),
            unless(same_ratio, format!(" --trigger-ratio {}", self.trigger_ratio)),
            unless(
                self.keep_recent_tokens == plain.keep_recent_tokens,
                format!(" --keep-recent-tokens {}", self.keep_recent_tokens),
            ),
            unless(
                self.reserve_tokens == plain.reserve_tokens,
                format!(" --reserve-tokens {}", self.reserve_tokens),
            ),
            unless(!self.force, " --force".to_owned()),
        ]
        .concat()
    }

    pub(crate) fn budget(&self) -> BudgetPolicy {
        BudgetPolicy {
            trigger_ratio: self.trigger_ratio,
            keep_recent: self.keep_recent_tokens,
            reserve_tokens: Some(self.reserve_tokens),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn options_say_what_was_asked_for_and_no_defaults() {
        for line in [
            "wb weigh f",
            "wb weigh f --window 32000 --force",
            "wb weigh f --trigger-ratio 0.5 --keep-recent-tokens 10 --reserve-tokens 0",
        ] {
            let Some(Command::Weigh(args)) = Cli::parse_from(line.split(' ')).command else {
                panic!("{line}")
            };
            assert_eq!(format!("wb weigh f{}", args.policy.options()), line);
        }
    }
}
