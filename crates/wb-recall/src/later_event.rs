//! Events that overtake a message: later changes of the file that it shows, and later runs of its
//! command.

use std::borrow::{Borrow, Cow};

use serde::Serialize;
use wb_facts::calls::patch;
use wb_facts::files::is_same_file;
use wb_message::tools::normal_path;
use wb_message::{Message, ToolRole, ToolVocabulary};
use wb_shell::{Command, FileEffect, base_name, patch_effects};

use crate::author::Answered;

/// Something that happened later.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", content = "message", rename_all = "snake_case")]
#[non_exhaustive]
pub enum LaterEvent {
    /// The file was changed by a call in this message.
    Changed(usize),
    /// The file was read again in this message.
    Read(usize),
    /// The command ran again in this message.
    Ran(usize),
}

impl LaterEvent {
    /// Returns what happened, in words.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Changed(_) => "changed",
            Self::Read(_) => "read again",
            Self::Ran(_) => "run again",
        }
    }

    /// Returns the number of the message in which it happened.
    pub fn message(&self) -> usize {
        let (Self::Changed(at) | Self::Read(at) | Self::Ran(at)) = self;
        *at
    }
}

/// The subject of a call: the file that it reads or changes, or the command that it runs.
#[derive(Clone, Debug)]
pub(crate) enum CallSubject<'m> {
    File(Cow<'m, str>),
    Command(Cow<'m, str>),
}

impl<'m> CallSubject<'m> {
    pub(crate) fn from_call(call: &Answered<'m>, vocabulary: &ToolVocabulary) -> Option<Self> {
        let path = || vocabulary.path(call.input).map(normal_path).map(Self::File);
        match vocabulary.call_role(call.name, call.input) {
            Some(ToolRole::Read | ToolRole::Edit | ToolRole::Write) => path(),
            _ => call.command().map(Self::Command).or_else(path),
        }
    }

    /// Returns what a later call means for the subject; changes are checked for success.
    pub(crate) fn overtaken_by<M: Borrow<Message>>(
        &self,
        call: &Answered<'_>,
        messages: &[M],
        vocabulary: &ToolVocabulary,
    ) -> Option<LaterEvent> {
        let worked = || !call.failed(messages[call.result].borrow());
        match self {
            Self::Command(text) => {
                (call.command()?.trim() == text.trim()).then_some(LaterEvent::Ran(call.result))
            }
            Self::File(path) => match file_touched(call, path, vocabulary)? {
                Touch::Changed => worked().then_some(LaterEvent::Changed(call.call)),
                Touch::Read => worked().then_some(LaterEvent::Read(call.result)),
            },
        }
    }
}

/// The effect of a call on a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Touch {
    Read,
    Changed,
}

/// Returns the effect of a call on a file, none if it has none.
pub(crate) fn file_touched(call: &Answered<'_>, path: &str, vocabulary: &ToolVocabulary) -> Option<Touch> {
    let role = vocabulary.call_role(call.name, call.input);
    if let Some(role @ (ToolRole::Read | ToolRole::Edit | ToolRole::Write)) = role
        && let Some(of) = vocabulary.path(call.input)
    {
        let touch = if role == ToolRole::Read { Touch::Read } else { Touch::Changed };
        return is_same_file(&normal_path(of), path).then_some(touch);
    }
    let command = call.command();
    let name = base_name(path);
    if let Some(diff) = patch(call.input, command.as_deref()) {
        let effects = if diff.contains(name) { patch_effects(diff) } else { Vec::new() };
        return effects.iter().any(|effect| changes(effect, path)).then_some(Touch::Changed);
    }
    let command = command.filter(|command| command.contains(name))?;
    let effects = Command::parse(&command).effects().files;
    effects.iter().any(|effect| changes(effect, path)).then_some(Touch::Changed)
}

fn changes(effect: &FileEffect<'_>, path: &str) -> bool {
    match effect {
        FileEffect::Moved { from, to } => is_same_file(from, path) || is_same_file(to, path),
        FileEffect::Wrote(of)
        | FileEffect::Deleted(of)
        | FileEffect::Restored(of)
        | FileEffect::Edited(of) => is_same_file(of, path),
    }
}
