//! The command line.

pub(crate) mod format_option;
pub(crate) mod database_url;
pub(crate) mod command_groups;
pub(crate) mod values;
pub(crate) mod model;
#[cfg(feature = "mcp")]
pub(crate) mod mcp;
mod policy;
mod write_to;
pub(crate) mod install;
pub(crate) mod config;
pub(crate) mod session;
pub(crate) mod replay;
pub(crate) mod recall;
pub(crate) mod pin;
#[cfg(feature = "view")]
pub(crate) mod view;

use std::ffi::OsString;
use std::path::PathBuf;
use std::str::FromStr;

use clap::{Args, Parser, Subcommand, ValueEnum};
use wb_dialect::Dialect;
use wb_passes::ImagePolicy;

use crate::args::config::ConfigArgs;
use crate::args::install::{Install, Uninstall};
#[cfg(feature = "mcp")]
use crate::args::mcp::McpArgs;
use crate::args::model::ModelArgs;
use crate::args::pin::{DropArgs, PinArgs, UnpinArgs};
use crate::args::recall::RecallArgs;
use crate::args::replay::Replay;
use crate::args::session::SessionCommand;
use crate::args::values::{TargetSize, images, target_size, window};
#[cfg(feature = "view")]
use crate::args::view::ViewArgs;
use crate::args::write_to::WriteTo;
use wb_bind::Strategy;
use wb_bind::Target;

pub(crate) use crate::args::policy::Policy;

/// The word for the newest session of the working folder, as any folder is the newest in it.
pub(crate) const NEWEST: &str = ".";

/// The end of the help and of the manual of `wb`.
const AFTER_HELP: &str = "\
Exit codes:
  0  done, or nothing to do
  1  error
  2  wrong usage
  3  findings:
     wb weigh --check    a session over its budget
     wb audit            a wrong or missing claim
     wb validate         a violation
     wb repair           a problem that cannot be repaired
     wb doctor           a reason why a session won't resume
     wb recall           nothing is found
     wb install --check  an agent that would not use wb

Environment:
  HOME               your home directory
  COLUMNS            width of the output, instead of the terminal's
  ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY or GOOGLE_API_KEY, OPENAI_COMPATIBLE_API_KEY
                     keys of the providers of --model
  PGPASSWORD, PGPASSFILE
                     password of a database, file of passwords instead of ~/.pgpass
  NO_COLOR           no colours, unless --color=always
  WB_PAGER, PAGER    program that shows long text on a terminal, instead of less
  VISUAL, EDITOR     editor of `wb config edit`, instead of vi
  CLAUDE_CONFIG_DIR  folder of Claude Code, in addition to ~/.claude
  CODEX_HOME         folder of Codex, instead of ~/.codex
  GEMINI_CLI_HOME    folder with .gemini of Gemini CLI, instead of your home
  PI_CODING_AGENT_DIR
                     folder of pi, instead of ~/.pi/agent
  XDG_CONFIG_HOME    folder of settings, including those of opencode, instead of ~/.config
  XDG_STATE_HOME     folder of the log of agents' compactions, instead of ~/.local/state
  XDG_CACHE_HOME     folder of the titles and figures of sessions, instead of ~/.cache";

/// Measure, preview and compact the sessions of coding agents.
///
/// Without a command, lists the sessions of this folder and the newest elsewhere, with their ids
/// and how full they are. A command takes a session by its file, its id or the start of it, words
/// of its title, or none for the newest of this folder; in PostgreSQL it is
/// `postgres://USER@HOST/DATABASE#SESSION`.
///
/// Reads sessions of coding agents, logs of evaluations and request bodies, and detects their
/// format: see `wb formats`. Needs no key and no network unless you name a model or a database.
#[derive(Debug, Parser)]
#[command(name = "wb", version, after_long_help = AFTER_HELP)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    /// List all sessions, not only the newest
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) global: Global,
}

/// Options of every command.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Global {
    /// Print JSON: one object per file, including errors
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// When to use colours
    #[arg(long, global = true, value_enum, value_name = "WHEN", default_value_t)]
    pub(crate) color: Color,
    /// Read sessions as this format; `wb formats` lists them
    #[arg(long, global = true, value_name = "FORMAT", value_parser = format_option::parse, hide_short_help = true)]
    pub(crate) format: Option<&'static str>,
    /// Print only errors to standard error
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Show paths, notes and the digest in full, and timings
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
    /// Show how full the context window is, and what fills it
    ///
    /// Reports whether the session would be compacted. A folder gives one line for each session
    /// file below it. `wb formats` lists the formats.
    Weigh(Weigh),
    /// Preview a compaction: `wb compact --dry-run`
    ///
    /// Prints what would happen and the figures, and writes nothing. --outline shows each message,
    /// --digest what would replace the older ones.
    Plan(CompactionArgs),
    /// Compact a session so that its agent can resume it
    ///
    /// Without -o or --in-place, prints what would happen and the figures, and writes nothing;
    /// --digest, --outline and -v print more. A run that writes prints its report to standard
    /// error.
    ///
    /// Example: wb compact session.jsonl --in-place
    #[command(visible_alias = "condense")]
    Compact(Compact),
    /// Undo a compaction, including one written by an agent's plug-in
    ///
    /// Messages added since then are kept, after the restored ones.
    Undo(Undo),
    /// Redo an undone compaction
    Redo(Undo),
    /// List the operations of `wb` on a session, or show one
    ///
    /// Most agents keep the messages that a compaction hides: FILE.wb-log, next to the session,
    /// says which ones.
    ///
    /// Examples: wb log session.jsonl; wb log session.jsonl 3; wb log session.jsonl --explain 12
    Log(Log),
    /// Show a compaction: what it hid and kept, and its digest
    ///
    /// Without a number, the last one; `wb log SESSION` numbers them. One that the agent wrote by
    /// itself is shown by its summary.
    ///
    /// Examples: wb show; wb show session.jsonl 3
    Show(Show),
    /// Keep messages or a text in every later digest, or list them
    ///
    /// The texts are verbatim in each compaction by `wb`, also in agents with its plug-in, up to
    /// 2,000 tokens in all. They are in SESSION.wb-pins, next to the session.
    ///
    /// Examples: wb pin 12; wb pin session.jsonl 3 12; wb pin --text "Never push."
    Pin(PinArgs),
    /// Remove texts that were pinned
    Unpin(UnpinArgs),
    /// Fold messages first in each later compaction, or list them
    ///
    /// A call goes with its results. A compaction then folds these messages before all others, also
    /// from the part that stays otherwise, and restores no file from them; the digest still covers
    /// them, and `wb recall` finds them. Pinned texts stay.
    ///
    /// Examples: wb drop 12; wb drop session.jsonl 3 12; wb drop --undo 12
    Drop(DropArgs),
    /// Look up what was said in a session, across all compactions
    ///
    /// Prints exact excerpts with message number, author, outcome, and what happened to the file or
    /// command since. Exits with 3 if nothing is found.
    ///
    /// Examples: wb recall admin port; wb recall session.jsonl --file src/cart.rs
    Recall(RecallArgs),
    /// See the context item by item, and what a compaction would do
    ///
    /// Shows each message with its weight, the digest with the source of each line, and follows the
    /// session while its agent works. Keys compact, undo, redo, pin and drop after a question;
    /// nothing else writes. With --html, writes a page instead.
    ///
    /// Examples: wb view; wb view session.jsonl --html context.html
    #[cfg(feature = "view")]
    View(ViewArgs),
    /// Serve `recall` and `context` to an agent over MCP
    ///
    /// Speaks the Model Context Protocol on standard input and output, reads the newest session of
    /// the project, writes nothing and needs no network. `wb install` registers it.
    #[cfg(feature = "mcp")]
    Mcp(McpArgs),
    /// Compare all strategies on one session
    ///
    /// Compacts the session in memory with each strategy. Writes nothing.
    Compare(Compare),
    /// Replay past sessions: what each strategy keeps, and its cost
    ///
    /// Compacts the history at every point where a window would have been full, without a model,
    /// and compares the result with what the next messages needed. A folder includes all session
    /// files below it.
    Replay(Replay),
    /// Report on the sessions of a company, in Parquet or JSON lines
    ///
    /// Runs the program `wb-fleet`, which is installed on its own, from next to `wb` or from PATH.
    /// `wb fleet report --help` lists its options.
    ///
    /// Example: wb fleet report traces --html fleet.html
    Fleet(Fleet),
    /// Check every summary in a session against its messages
    ///
    /// Reports made-up paths, changes and successes that no message shows, wrong task states,
    /// missing constraints, work that the user undid, and approvals that nobody gave. Exits with 3
    /// if anything is found.
    Audit(Audit),
    /// Check a session or a request against the rules of the providers
    ///
    /// Prints one line per violation: the message, the rule, the problem and its fix; --json adds a
    /// link to the rule. A session is checked as its next request, in the dialect of its agent (all
    /// dialects if unknown); a JSON request body is checked as is. Exits with 3 if anything is
    /// found.
    Validate(Validate),
    /// Repair whatever a provider would reject in a session or a request
    ///
    /// Unanswered calls get a result that says so, results without a call are removed, and in a
    /// request so is anything else `wb validate` reports. Without -o or --in-place, only reports.
    /// Exits with 3 if something cannot be repaired.
    Repair(Repair),
    /// Convert a session or a request to another format
    ///
    /// First lists what that format cannot hold. FORMAT is `native` (JSON lines of wb), a request
    /// body (`anthropic`, `openai` for Chat Completions, `openai-responses`, `gemini`) or a new
    /// session of an agent.
    Convert(Convert),
    /// List the supported formats and what can be written in each
    Formats,
    /// Diagnose sessions that won't resume
    ///
    /// Reports each problem, its location and a command that fixes it (tested in memory first):
    /// requests that the provider would reject, a context above the window, compactions in a loop,
    /// a summary that contradicts the session, unreadable lines. Of several sessions, --all or a
    /// folder, prints a line each. Writes nothing. Exits with 3 if anything is found.
    Doctor(Doctor),
    /// Carry out one call in JSON
    ///
    /// The packages for Python and JavaScript answer the same calls. Reads the call from standard
    /// input and writes the answer to standard output.
    ///
    /// Example call: {"operation": "weigh", "format": "openai-chat", "messages": []}
    Api,
    /// Print one line for the status line of Claude Code
    ///
    /// Reads the JSON of Claude Code on standard input, and prints a meter up to the size at which
    /// it compacts, and the last compaction. `wb install claude-code --statusline` sets it up.
    Statusline,
    /// Handle a compaction request from an agent (JSON in, JSON out)
    ///
    /// The plug-ins of `wb install` run it. Reads the request from standard input and writes the
    /// answer to standard output. If `wb` can't improve on the agent's compaction in time, the
    /// answer says so and the agent continues.
    Hook(Hook),
    /// Show known models: window, limits, prices and their sources
    ///
    /// A session that names a model but no window is weighed with the window of its model. Settings
    /// override a model under `[models."ID"]`: `context_window`, `max_output_tokens`, and `input`,
    /// `cached`, `write` and `output` in US dollars per million tokens.
    Models(Models),
    /// Show or change the settings for agents' compactions
    ///
    /// `set`, `unset` and `edit` change ~/.config/wb/config.toml; `example` prints one.
    ///
    /// .wb.toml in a project that you trust overrides ~/.config/wb/config.toml. Keys: strategy
    /// (window-budget or ladder), `trigger_ratio`, `keep_recent_tokens`, `reserve_tokens`; images
    /// (keep, marker or drop; `wb compact` and `wb plan` only); pin, a list of sentences for every
    /// digest; `[models."ID"]`, as in `wb models`; `[hosts]`, where claude-code, codex, gemini-cli,
    /// opencode or pi = false turns `wb` off for that agent.
    Config(ConfigArgs),
    /// Install the plug-in for an agent
    ///
    /// pi and Claude Code then compact without a model; opencode and Gemini CLI use the summary of
    /// `wb` instead of their own; Codex is given what its summary left out. If `wb` can't improve
    /// on it or isn't installed, the agent compacts by itself. --dry-run shows what is written; a
    /// changed settings file is backed up next to it. Linux; untested on macOS.
    Install(Install),
    /// Remove the plug-in from an agent
    ///
    /// Removes only what `wb install` wrote, and restores a settings file that nobody changed
    /// since.
    Uninstall(Uninstall),
    /// Inspect and edit pi sessions
    ///
    /// `tree`, `show` and `context` write nothing; the others append entries and change none. Close
    /// the session in pi first: pi won't notice changes to an open session.
    #[command(subcommand)]
    Session(SessionCommand),
    /// Print shell completions
    ///
    /// bash: `wb completions bash > ~/.local/share/bash-completion/completions/wb`; fish: `wb
    /// completions fish > ~/.config/fish/completions/wb.fish`; zsh: `wb completions zsh > _wb` in a
    /// folder of your `fpath`.
    Completions(Completions),
    /// Print the manual as a man page
    ///
    /// To install: `wb man > ~/.local/share/man/man1/wb.1`. To view: `wb man weigh | man -l -`.
    Man(Manual),
}

#[derive(Debug, Args)]
pub(crate) struct Fleet {
    /// Command of `wb-fleet`, with its options
    #[arg(value_name = "WORD", trailing_var_arg = true, allow_hyphen_values = true)]
    pub(crate) words: Vec<OsString>,
}

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_name = "SHELL")]
    pub(crate) shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Models {
    /// Model id, as a provider, gateway or agent writes it [default: all]
    #[arg(value_name = "ID")]
    pub(crate) id: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Manual {
    /// Command, such as `weigh` or `session tree` [default: wb]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Weigh {
    /// Sessions or folders [default: the newest session of this folder]
    ///
    /// A session is a file, an id or the start of it, or words of a title; `-` is standard input.
    #[arg(value_name = "SESSION")]
    pub(crate) files: Vec<PathBuf>,
    /// Exit with 3 if a session is over its budget
    #[arg(long)]
    pub(crate) check: bool,
    /// Count messages with the model's tokenizer, if `wb` has it
    ///
    /// It has those of GPT models; for others the figure stays an estimate.
    #[cfg(feature = "exact")]
    #[arg(long)]
    pub(crate) exact: bool,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

/// A session to compact, and its strategy.
#[derive(Debug, Args)]
pub(crate) struct CompactionArgs {
    /// Session [default: the newest of this folder]
    ///
    /// A file, an id or the start of it, or words of a title; `-` is standard input.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Compaction strategy
    #[arg(long, value_enum, default_value_t)]
    pub(crate) strategy: Strategy,
    /// Policy for old images [default: the setting `images`, else keep]
    ///
    /// Images are old in tool results before the last prompt, and after it in all but the newest
    /// six.
    #[arg(long, value_parser = images())]
    pub(crate) images: Option<ImagePolicy>,
    /// Size of the resulting messages, such as 12k or 15%
    ///
    /// In tokens, or in parts of the messages; system prompt and tools come in addition. Tail,
    /// digest and restored files divide it in proportion, whatever the window is.
    #[arg(long, value_name = "TOKENS|PERCENT", value_parser = target_size, conflicts_with = "force")]
    pub(crate) target: Option<TargetSize>,
    /// Print the digest
    #[arg(long)]
    pub(crate) digest: bool,
    /// Print each message, and whether it stays
    #[arg(long)]
    pub(crate) outline: bool,
    /// Name the tool that looks up folded messages in the digest
    ///
    /// For an agent that has it; fewer lines and files are then copied into the digest.
    #[arg(long, value_name = "TOOL", num_args = 0..=1, require_equals = true, default_missing_value = "recall")]
    pub(crate) recall: Option<String>,
    /// Keep passwords, keys and tokens in the digest
    ///
    /// Without it, each that is recognized becomes a mark; the session keeps the original.
    #[arg(long)]
    pub(crate) no_redact: bool,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct Compact {
    #[command(flatten)]
    pub(crate) write: WriteTo,
    #[command(flatten)]
    pub(crate) compaction: CompactionArgs,
    #[command(flatten)]
    pub(crate) model: ModelArgs,
}

impl Compact {
    /// Returns the compaction that writes nothing.
    pub(crate) fn preview(compaction: CompactionArgs) -> Self {
        let write = WriteTo { dry_run: true, ..WriteTo::default() };
        Self { write, compaction, model: ModelArgs::default() }
    }
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// Session [default: the newest of this folder]
    ///
    /// A file, an id or the start of it, or words of a title.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Number of the operation in `wb log` [default: the last]
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: Option<u64>,
    /// Write into FILE even if another program uses it
    #[arg(long, alias = "even-if-open")]
    pub(crate) allow_open: bool,
    /// Report what would be done and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Session [default: list the compactions requested by agents]
    ///
    /// A file, an id or words of a title; `.` is the newest session of this folder.
    #[arg(value_name = "SESSION")]
    pub(crate) file: Option<PathBuf>,
    /// Show one operation in full
    ///
    /// Lists what it hides, keeps and adds, the operations it builds on, and its digest.
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: Option<u64>,
    /// Explain what happened to a line of FILE or a row of a database
    #[arg(long, value_name = "RECORD", conflicts_with = "operation")]
    pub(crate) explain: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// Session [default: the newest of this folder]
    ///
    /// A file, an id or the start of it, or words of a title.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Number of the operation in `wb log` [default: the last compaction]
    #[arg(value_name = "OPERATION")]
    pub(crate) operation: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Compare {
    /// Session [default: the newest of this folder]
    ///
    /// A file, an id or the start of it, or words of a title; `-` is standard input.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) policy: Policy,
}

#[derive(Debug, Args)]
pub(crate) struct Audit {
    /// Session [default: the newest of this folder]
    ///
    /// A file, an id or the start of it, or words of a title; `-` is standard input.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
}

#[derive(Debug, Args)]
pub(crate) struct Validate {
    /// Session or request body [default: the newest session of this folder]
    ///
    /// A file, an id or the start of it, or words of a title; `-` is standard input. A body is for
    /// Anthropic, Chat Completions, Responses or Gemini.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Rules to check, separated by commas [default: those of FILE]
    ///
    /// Any of anthropic, openai (Chat Completions), openai-responses and gemini.
    #[arg(long, value_name = "DIALECT", value_delimiter = ',', value_parser = Dialect::from_str)]
    pub(crate) dialect: Vec<Dialect>,
}

#[derive(Debug, Args)]
pub(crate) struct Repair {
    /// Session or request body [default: the newest session of this folder]
    ///
    /// A file, an id or the start of it, or words of a title; `-` is standard input.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) write: WriteTo,
}

#[derive(Debug, Args)]
pub(crate) struct Convert {
    /// Session or request body [default: the newest session of this folder]
    ///
    /// A file, an id or the start of it, or words of a title; `-` is standard input.
    #[arg(value_name = "SESSION", default_value = NEWEST, hide_default_value = true)]
    pub(crate) file: PathBuf,
    /// Format to write
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) to: Target,
    /// File to write [default: standard output]
    #[arg(short, long, value_name = "OUT")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite OUT if it exists
    #[arg(long, requires = "out")]
    pub(crate) overwrite: bool,
    /// Report what would be lost and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    /// Sessions or folders [default: the newest session of this folder]
    ///
    /// A session is a file, an id or the start of it, or words of a title; `-` is standard input.
    /// Several are a line each, the worst first.
    #[arg(value_name = "SESSION", conflicts_with = "all")]
    pub(crate) files: Vec<PathBuf>,
    /// Examine all sessions of this folder
    #[arg(long)]
    pub(crate) all: bool,
    /// Context window, such as 200k [default: the file's, model's or 200k]
    ///
    /// A number of tokens, such as 200000, 200k or 1.5m.
    #[arg(long, value_name = "TOKENS", value_parser = window, allow_negative_numbers = true)]
    pub(crate) window: Option<u64>,
}

#[derive(Debug, Args)]
pub(crate) struct Hook {
    /// Time limit for the answer, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 8000)]
    pub(crate) budget_ms: u64,
    /// Print the JSON Schema of the request and the answer
    #[arg(long)]
    pub(crate) schema: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        <Cli as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn the_former_name_of_allow_open_is_an_alias() {
        for option in ["--allow-open", "--even-if-open"] {
            let Some(Command::Undo(undo)) = Cli::parse_from(["wb", "undo", "f", option]).command else {
                panic!("{option}")
            };
            let repair = Cli::parse_from(["wb", "repair", "f", "--in-place", option]).command;
            let Some(Command::Repair(repair)) = repair else { panic!("{option}") };
            assert!(undo.allow_open && repair.write.allow_open, "{option}");
        }
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
