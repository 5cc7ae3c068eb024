//! The command `wb-agent`: an agent in the terminal.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a program for the terminal")]

mod word_wrap;
mod line_editor;

use std::io::{IsTerminal as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{LazyLock, Mutex, PoisonError};
use std::time::Duration;

use clap::Parser;
use terminal_size::terminal_size;
use tokio_util::sync::CancellationToken;
use wb_agent::commands::{self, Command};
use wb_agent::{Agent, AgentError, Ended, Event, Journal, Model, Sandbox, ToolBox, ToolLimits, demo};
use wb_message::Message;
use wb_message::markers::is_prompt;
use wb_message::number::{grouped, grouped_in};
use wb_message::text::one_line;
use wb_session::{SettingsRead, read_settings};

use crate::line_editor::Lines;
use crate::word_wrap::WordWrap;

/// The value of `--resume` for the newest session of the folder.
const NEWEST: &str = "newest";
/// The pause after each step of the demo, of which there are about forty.
const DEMO_PAUSE: Duration = Duration::from_millis(1_300);
/// The characters of a line that shows the beginning of a text, where there is no terminal, and the
/// fewest of the text.
const LINE_CHARS: usize = 110;
const LEAST_CHARS: usize = 20;

/// Works in one folder with five tools, for hours inside a small window; without --model offline
/// and for nothing.
///
/// A line is a prompt, or a command; /help shows them.
#[derive(Debug, Parser)]
#[command(name = "wb-agent", version)]
struct Args {
    /// The folder that the tools work in
    #[arg(default_value = ".")]
    folder: PathBuf,
    /// Who answers: offline, script:FILE, or PROVIDER:MODEL such as anthropic:claude-haiku-4-5
    ///
    /// PROVIDER is anthropic, openai, openai-responses, gemini, openai-compatible or ollama; the
    /// key is taken from its environment variable. What the tools read is sent there.
    #[arg(long, default_value = "offline")]
    model: String,
    /// Base URL of the requests [default: the provider]
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// The model's context window [default: as the catalog has it, else 200000; 32000 offline]
    #[arg(long, value_name = "TOKENS")]
    window: Option<u64>,
    /// Go on with the session in FILE [default: the newest one of the folder]
    #[arg(long, value_name = "FILE", num_args = 0..=1, require_equals = true, default_missing_value = NEWEST)]
    resume: Option<PathBuf>,
    /// Folder of the logs [default: wb-agent in `$XDG_STATE_HOME`, or in ~/.local/state]
    #[arg(long, value_name = "FOLDER")]
    logs: Option<PathBuf>,
    /// Settings of when and how the session is compacted [default: wb-agent/settings.json in
    /// `$XDG_CONFIG_HOME`, or in ~/.config]
    ///
    /// Sections are `compaction` (`enabled`, `reserveTokens`, `keepRecentTokens`), `branchSummary`,
    /// and `context` with the settings of an agent. Keys in .wb-agent/settings.json of the
    /// folder override them.
    #[arg(long, value_name = "FILE")]
    settings: Option<PathBuf>,
    /// Leave the bash tool out; a command is not held in the folder
    #[arg(long)]
    no_bash: bool,
    /// Time limit of a command
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    command_timeout: u64,
    /// Take one prompt from here and leave
    #[arg(long, short, value_name = "PROMPT")]
    prompt: Option<String>,
}

fn main() -> ExitCode {
    let args = Args::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = match runtime {
        Ok(runtime) => {
            let done = runtime.block_on(run(&args));
            // A thread may still be waiting for a line.
            runtime.shutdown_background();
            done
        }
        Err(error) => Err(AgentError::Usage(error.to_string())),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn run(args: &Args) -> Result<(), AgentError> {
    let mut agent = agent(args)?;
    if let Some(prompt) = &args.prompt {
        prompted(&mut agent, prompt).await?;
        return agent.sync();
    }
    say(&format!("{} · {} · /help shows the commands", agent.folder().display(), args.model));
    say(&commands::context(&mut agent));
    let mut lines = Lines::start(earlier_prompts(&agent));
    while let Some(line) = lines.next_line().await {
        if Command::parse(&line) == Command::Demo {
            play_demo(lines.is_edited()).await?;
        } else if !obey(&mut agent, &line).await? {
            break;
        }
    }
    println!();
    agent.sync()
}

/// Returns the user's prompts in the transcript, for the history of the line editor.
fn earlier_prompts(agent: &Agent) -> Vec<String> {
    let prompts = agent.messages().iter().filter(|message| is_prompt(message));
    let texts = prompts.filter_map(|message| match message {
        Message::User { content, .. } => content.texts().next().map(str::to_owned),
        _ => None,
    });
    texts.filter(|text| !text.contains('\n')).collect()
}

/// Plays a scripted hour, slowly if somebody watches, and shows what is left of it.
async fn play_demo(is_watched: bool) -> Result<(), AgentError> {
    let folder = std::env::temp_dir().join(format!("wb-agent-demo-{}", std::process::id()));
    let mut agent = demo::begin(&folder)?;
    for text in demo::PROMPTS {
        say(&format!("> {text}"));
        let cancel = CancellationToken::new();
        let show = &mut |event: Event<'_>| {
            show(&event);
            if is_watched && matches!(event, Event::Result(_) | Event::Compacted(_)) {
                std::thread::sleep(DEMO_PAUSE);
            }
        };
        let ended = stoppable(&cancel, agent.prompt(text, &cancel, show)).await?;
        say("");
        if ended == Ended::Stopped {
            break;
        }
    }
    say(&format!("\nThe window after the hour:\n{}\n", commands::context(&mut agent)));
    say(&format!("{}\n", commands::why(&agent)));
    say(&format!("And undone: {}\n{}", commands::undo(&mut agent)?, commands::context(&mut agent)));
    drop(agent);
    let what = folder.display().to_string();
    std::fs::remove_dir_all(&folder).map_err(|source| AgentError::File { what, source })
}

fn agent(args: &Args) -> Result<Agent, AgentError> {
    let named = |what: &Path| format!("{}", what.display());
    let sandbox = Sandbox::new(&args.folder)
        .map_err(|source| AgentError::File { what: named(&args.folder), source })?;
    let mut model = Model::find(&args.model, args.base_url.as_deref())?;
    model.card.context_window = args.window.unwrap_or(model.card.context_window);
    let logs = logs(args)?;
    let journal = match &args.resume {
        None => Journal::create(&logs, sandbox.root())?,
        Some(file) if file != Path::new(NEWEST) => Journal::open(file)?,
        Some(_) => {
            let newest = Journal::newest(&logs, sandbox.root());
            let none = || AgentError::Usage(format!("{} has no session of this folder", logs.display()));
            Journal::open(&newest.ok_or_else(none)?)?
        }
    };
    let limits = ToolLimits {
        command_timeout: Duration::from_secs(args.command_timeout),
        has_bash: !args.no_bash,
        ..ToolLimits::default()
    };
    let read = settings(args, sandbox.root())?;
    for note in &read.notes {
        eprintln!("note: {note}");
    }
    Agent::with_settings(model, ToolBox::new(sandbox, limits), journal, &read)
}

/// Reads the user's settings and those of the folder.
fn settings(args: &Args, folder: &Path) -> Result<SettingsRead, AgentError> {
    if let Some(file) = args.settings.as_ref().filter(|file| !file.exists()) {
        return Err(AgentError::Usage(format!("{}: there is no such settings file", file.display())));
    }
    let config = || variable("XDG_CONFIG_HOME").or_else(|| Some(variable("HOME")?.join(".config")));
    let user = args.settings.clone().or_else(|| Some(config()?.join("wb-agent/settings.json")));
    Ok(read_settings(user.as_deref(), Some(&folder.join(".wb-agent/settings.json")))?)
}

fn variable(name: &str) -> Option<PathBuf> {
    std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from)
}

fn logs(args: &Args) -> Result<PathBuf, AgentError> {
    let state = || variable("XDG_STATE_HOME").or_else(|| Some(variable("HOME")?.join(".local/state")));
    let logs = args.logs.clone().or_else(|| Some(state()?.join("wb-agent")));
    logs.ok_or_else(|| AgentError::Usage("there is no home folder; name a folder with --logs".to_owned()))
}

/// Carries out a line; false at the end.
async fn obey(agent: &mut Agent, line: &str) -> Result<bool, AgentError> {
    match Command::parse(line) {
        Command::Nothing | Command::Demo => {}
        Command::Quit => return Ok(false),
        Command::Help => say(commands::HELP),
        Command::Unknown(name) => say(&format!("there is no {name}; /help shows the commands")),
        Command::Context => say(&commands::context(agent)),
        Command::Why => say(&commands::why(agent)),
        Command::Recall(words) => say(&commands::recall(agent, words)?),
        Command::Undo => say(&commands::undo(agent)?),
        Command::Branch(entry) => match commands::branch(agent, entry).await {
            Err(error @ AgentError::Session(_)) => say(&error.to_string()),
            done => say(&done?),
        },
        Command::Compact(instructions) => {
            let cancel = CancellationToken::new();
            let done = stoppable(&cancel, commands::compact(agent, instructions, &cancel)).await?;
            say(&done);
        }
        Command::Prompt(text) => match prompted(agent, text).await {
            Err(AgentError::Model(error)) => {
                say(&format!("\nthe model failed: {error}; what was said is kept"));
            }
            Err(error @ AgentError::TooLarge { .. }) => say(&format!("\n{error}")),
            done => done?,
        },
    }
    Ok(true)
}

async fn prompted(agent: &mut Agent, text: &str) -> Result<(), AgentError> {
    let cancel = CancellationToken::new();
    let ended = stoppable(&cancel, agent.prompt(text, &cancel, &mut |event| show(&event))).await?;
    say(if ended == Ended::Stopped { "\n[stopped]" } else { "" });
    Ok(())
}

/// Lets Ctrl-C cancel the current work, which then ends by itself.
async fn stoppable<T>(cancel: &CancellationToken, work: impl Future<Output = T>) -> T {
    tokio::pin!(work);
    loop {
        tokio::select! {
            done = &mut work => return done,
            Ok(()) = tokio::signal::ctrl_c() => cancel.cancel(),
        }
    }
}

/// The output, wrapped at the width of the terminal.
static TEXT: LazyLock<Mutex<WordWrap>> = LazyLock::new(|| {
    let columns = std::io::stdout().is_terminal().then(terminal_size).flatten();
    Mutex::new(WordWrap::new(columns.map(|(columns, _)| usize::from(columns.0))))
});

/// Prints the rest of the line, then a text and a line end.
fn say(text: &str) {
    let mut wrap = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    println!("{}{}{}", wrap.finish(), wrap.push(text), wrap.finish());
}

/// Returns the beginning of a text that fits on the line behind some columns.
fn head(text: &str, behind: usize) -> String {
    let wrap = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    one_line(text, wrap.columns().unwrap_or(LINE_CHARS).saturating_sub(behind).max(LEAST_CHARS))
}

fn show(event: &Event<'_>) {
    match event {
        Event::Text(delta) => {
            print!("{}", TEXT.lock().unwrap_or_else(PoisonError::into_inner).push(delta));
        }
        Event::Call { name, input } => {
            say(&format!("\n· {name} {}", head(&input.to_string(), name.len() + 3)));
        }
        Event::Result(output) => {
            let mark = if output.is_error { '✗' } else { ' ' };
            let start = format!("{mark} {} bytes: ", grouped(output.text.len() as u64));
            say(&format!("{start}{}", head(&output.text, start.len())));
        }
        Event::CompactedByHook(entry) => say(&format!("\n⟲ compacted by a hook, in entry {entry}")),
        Event::Compacted(report) => say(&format!("\n⟲ {}", grouped_in(&report.to_string()))),
        _ => print!("{}", TEXT.lock().unwrap_or_else(PoisonError::into_inner).finish()),
    }
    let _ = std::io::stdout().flush();
}
