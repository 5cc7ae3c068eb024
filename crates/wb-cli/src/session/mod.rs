//! Opening a session and measuring it.

pub(crate) mod input_files;
pub(crate) mod find;
pub(crate) mod output_file;
pub(crate) mod copy;
pub(crate) mod provider_request;
pub(crate) mod project_file;
pub(crate) mod pins;
pub(crate) mod config;
pub(crate) mod agent_trigger;
pub(crate) mod connect;
pub(crate) mod model;
pub(crate) mod input;
pub(crate) mod validity;
pub(crate) mod outcome;
pub(crate) mod message_count;
pub(crate) mod json;
pub(crate) mod in_use;
pub(crate) mod history;
pub(crate) mod meter;
pub(crate) mod outline;
pub(crate) mod session_line;
pub(crate) mod report;

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use wb_bind::{KnownWindow, Measure, Size, Strategy, WindowFrom, card_of, whole_facts};
use wb_budget::{Catalog, ModelCard};
use wb_conductor::{Compactor, CondenseOpts, DropStep};
use wb_facts::Facts;
use wb_formats::{Document, FormatError, View, newest, open_path, open_path_as};
use wb_message::Message;
use wb_message::number::grouped;
use wb_passes::ImagePolicy;
use wb_record::{Access, MemoryParts};

use crate::args::database_url::is_database;
use crate::args::format_option;
use crate::args::values::TargetSize;
use crate::args::{CompactionArgs, Policy};
use crate::session::agent_trigger::{AgentSettings, AgentTrigger};
use crate::session::config::{Config, Pin, images};
use crate::session::find::database::{OneSession, split};
#[cfg(feature = "postgres")]
use crate::session::find::postgres;
use crate::session::input::other_formats;
use crate::session::pins::{Pins, SessionDrop, indices_of};
use crate::terminal::file_error::{not_opened_to_write, not_read};
use crate::terminal::shell::Shell;
use crate::terminal::user_error::UserError;

/// A session as the commands see it.
pub(crate) struct Session {
    pub(crate) file: String,
    /// The session over its own bytes.
    pub(crate) document: Box<dyn Document>,
    /// Which of its conversations it is.
    pub(crate) conversation: String,
    pub(crate) opened: View,
    pub(crate) policy: Policy,
    pub(crate) window: u64,
    /// The source of the window's size.
    pub(crate) window_from: WindowFrom,
    pub(crate) measure: Measure,
    /// The strategy of the compaction.
    pub(crate) strategy: Strategy,
    /// The treatment of images in older tool results.
    pub(crate) images: ImagePolicy,
    /// The size that the result should have.
    pub(crate) target: Option<TargetSize>,
    /// Replaces credentials in the digest by marks.
    redacts: bool,
    /// The tool with which the model looks up what is folded.
    recall_tool: Option<String>,
    /// The texts that the digest contains verbatim.
    pub(crate) pins: Vec<Pin>,
    /// The messages that are folded first.
    pub(crate) drops: Vec<SessionDrop>,
    /// The token limit.
    pub(crate) limit: u64,
    /// The size at which the agent compacts by itself, if its rule is known.
    pub(crate) agent_trigger: Option<AgentTrigger>,
}

impl Session {
    pub(crate) fn open(
        shell: &Shell,
        path: &Path,
        policy: Policy,
        strategy: Strategy,
    ) -> Result<Self, UserError> {
        Self::open_for(shell, path, policy, strategy, Access::Read)
    }

    /// Opens a session to change it, or to leave it as it is.
    pub(crate) fn open_for(
        shell: &Shell,
        path: &Path,
        policy: Policy,
        strategy: Strategy,
        access: Access,
    ) -> Result<Self, UserError> {
        let file = path.display().to_string();
        let progress = shell.progress_of_bytes(path);
        let read = || {
            let document = document(path, access)?;
            let failed = |error: FormatError| not_read(path, &error);
            let conversation = newest(document.as_ref()).map_err(failed)?;
            let mut opened = document.view(&conversation).map_err(failed)?;
            opened.notes.extend(other_formats(document.as_ref()));
            Ok((document, conversation, opened))
        };
        let (document, conversation, mut opened) = shell.timed("reading", read)?;
        drop(progress);
        let choices = if is_stream(path) || is_database(path) { None } else { Some(Pins::read(path)?) };
        let choices = choices.map(|it| (it.of_session(), it.drops_of_session()));
        let (pins, drops) = choices.unwrap_or_default();
        let Config { catalog, pin, .. } =
            Config::read(&shell.environment, shell.environment.working.as_deref())?;
        let pins = pin.into_iter().chain(pins.into_iter().map(Pin::Session)).collect();
        let agents = AgentSettings::read(&shell.environment);
        opened.context_window = agents.window(&opened).or(opened.context_window);
        let opened = (document, conversation, opened);
        let session = shell.timed("weighing", || Self::new(file, opened, policy, strategy, &catalog));
        Ok(Self { pins, drops, ..session }.with_agent_trigger(&agents, &catalog))
    }

    /// Applies the rule and settings of the session's agent, unless another window is tried out.
    fn with_agent_trigger(self, agents: &AgentSettings, catalog: &Catalog) -> Self {
        let card = self.opened.model.as_deref().and_then(|id| catalog.find(id));
        let answer = card.map_or(u64::MAX, |entry| entry.card.max_output_tokens);
        let is_tried_out = self.policy.window.is_some();
        let agent_trigger = agents.trigger(&self.opened, self.window, answer).filter(|_| !is_tried_out);
        Self { agent_trigger, ..self }
    }

    /// Opens a session with the settings of a compaction.
    pub(crate) fn open_to_compact(
        shell: &Shell,
        args: &CompactionArgs,
        access: Access,
    ) -> Result<Self, UserError> {
        let images = images(shell, args.images)?;
        let session = Self::open_for(shell, &args.file, args.policy, args.strategy, access)?;
        if session.limit == 0 && args.target.is_none() {
            let (window, reserve) = (grouped(session.window), grouped(session.policy.reserve_tokens));
            let what = format!(
                "a window of {window} tokens leaves nothing next to {reserve} reserved for the answer"
            );
            return Err(UserError::new(what, "set a larger --window, or less with --reserve-tokens"));
        }
        Ok(session
            .with_images(images)
            .with_target(args.target)
            .without_redaction(args.no_redact)
            .with_recall_tool(args.recall.clone()))
    }

    /// Weighs a session that was read.
    pub(crate) fn new(
        file: String,
        (document, conversation, opened): (Box<dyn Document>, String, View),
        policy: Policy,
        strategy: Strategy,
        catalog: &Catalog,
    ) -> Self {
        let read = (document.as_ref(), conversation.as_str(), &opened);
        let Size { window, limit, measure } = Size::new(read, policy.window, &policy.budget(), 0, catalog);
        let KnownWindow { tokens: window, from: window_from } = window;
        let images = ImagePolicy::default();
        Self {
            file,
            document,
            conversation,
            opened,
            policy,
            window,
            window_from,
            measure,
            strategy,
            images,
            target: None,
            redacts: true,
            recall_tool: None,
            pins: Vec::new(),
            drops: Vec::new(),
            limit,
            agent_trigger: None,
        }
    }

    /// Sets the treatment of images in older tool results.
    fn with_images(self, images: ImagePolicy) -> Self {
        Self { images, ..self }
    }

    /// Sets the size of the result.
    fn with_target(self, target: Option<TargetSize>) -> Self {
        Self { target, ..self }
    }

    /// Keeps credentials in the digest.
    fn without_redaction(self, keeps: bool) -> Self {
        Self { redacts: !keeps, ..self }
    }

    /// Names the tool with which the model looks up what is folded.
    pub(crate) fn with_recall_tool(self, tool: Option<String>) -> Self {
        Self { recall_tool: tool, ..self }
    }

    /// Adds those of the session to empty facts, with what was said before a compaction as far as
    /// the document still has it.
    pub(crate) fn facts(&self, messages: &[Message], empty: fn() -> Facts) -> Facts {
        whole_facts(empty, (self.document.as_ref(), &self.conversation, &self.opened), messages)
    }

    pub(crate) fn card(&self) -> ModelCard {
        card_of(&self.opened, self.window)
    }

    /// Returns why the strategy's plan cannot be written in the session's own format; none if it
    /// can.
    pub(crate) fn why_not_native(&self) -> Option<&'static str> {
        self.strategy.why_not_held(&self.document.abilities())
    }

    /// Returns the steps that the session's own format cannot hold, and why.
    pub(crate) fn left_out(&self) -> Vec<(String, &'static str)> {
        self.strategy.left_out(self.images, &self.document.abilities())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.measure.context_tokens > self.limit
    }

    /// Returns the drop of the messages that the user chose, as the session's format holds it.
    fn drop_step(&self) -> DropStep {
        let able = self.document.abilities();
        let (has_gaps, clears) = (able.fold_inside.is_there(), able.clear.is_there());
        let messages = indices_of(&self.drops, &self.opened.messages);
        let messages = if has_gaps || clears { messages } else { Vec::new() };
        DropStep { messages, clears_only: !has_gaps }
    }

    pub(crate) fn settings(&self) -> Compactor {
        let drops = self.drop_step();
        let settings = Compactor::new()
            .card(self.card())
            .policy(self.policy.budget())
            .pipeline(self.strategy.within(self.images, &self.document.abilities()).drop_first(drops))
            .vocabulary(self.opened.vocabulary)
            .counter(self.measure.counter())
            .overhead_tokens(self.measure.overhead_tokens)
            .redact(self.redacts);
        match &self.recall_tool {
            Some(tool) => settings.recall_tool(tool.as_str()),
            None => settings,
        }
    }

    /// Returns the input of one compaction.
    pub(crate) fn opts(&self) -> CondenseOpts {
        let context_tokens = self.measure.counted_within(self.window);
        let provenance = &self.opened.provenance;
        let (fixed, joined) = (provenance.fixed().to_vec().into(), provenance.joined().to_vec().into());
        CondenseOpts { force: self.policy.force, context_tokens, fixed, joined, ..CondenseOpts::default() }
    }
}

/// Opens a session of any format; `-` is standard input.
pub(crate) fn document(path: &Path, access: Access) -> Result<Box<dyn Document>, UserError> {
    if access == Access::Write && is_stream(path) {
        let what = "a pipe can't be written in place";
        return Err(UserError::of_file(path.display().to_string(), what, "name the session's own file"));
    }
    #[cfg(feature = "postgres")]
    if is_database(path) {
        return postgres::document(path, access);
    }
    let of_io = |error| not_read(path, &FormatError::Io(error));
    let Some(mut stream) = stream(path).map_err(of_io)? else {
        let (file, session) = split(path);
        let opened = match format_option::format() {
            Some(format) => open_path_as(file, access, format),
            None => open_path(file, access),
        };
        let opened = opened.map_err(|error| match access {
            Access::Write if File::open(file).is_ok() => not_opened_to_write(file, &error),
            _ => not_read(file, &error),
        })?;
        let Some(session) = session else { return Ok(opened) };
        let one = OneSession::new(opened, session).map_err(|error| not_read(file, &error))?;
        return Ok(Box::new(one));
    };
    let parts = MemoryParts::read_from(&mut stream).map_err(of_io)?;
    format_option::open(Box::new(parts)).map_err(|error| not_read(path, &error))
}

/// Opens standard input or a pipe; none if the path is neither.
pub(crate) fn stream(path: &Path) -> io::Result<Option<Box<dyn Read>>> {
    Ok(match is_stream(path) {
        true if path == Path::new("-") => Some(Box::new(io::stdin().lock())),
        true => Some(Box::new(File::open(path)?)),
        false => None,
    })
}

/// Returns the option that sets a command's destination: the file itself, or a new file if the
/// input is a pipe.
pub(crate) fn place_word(path: &Path, out: &str) -> String {
    if is_stream(path) { format!("-o {out}") } else { "--in-place".to_owned() }
}

/// Returns whether a path is standard input or a pipe, not a file or a folder.
fn is_stream(path: &Path) -> bool {
    path == Path::new("-") || fs::metadata(path).is_ok_and(|there| !there.is_file() && !there.is_dir())
}

/// Reads a session as it was said; `-` is standard input.
pub(crate) fn past_session(path: &Path) -> Result<wb_replay::Session, UserError> {
    let document = document(path, Access::Read)?;
    let read = wb_replay::Session::read(path.display().to_string(), document.as_ref());
    read.map_err(|error| not_read(path, &error))
}
