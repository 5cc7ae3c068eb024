//! A shell command, parsed once for all questions about it.

use super::kind::{Kind, Role, kind, name, role};
use super::lexer::{Joint, Step, steps};

/// A command, its steps and their roles.
#[derive(Debug)]
pub struct Command<'a> {
    /// The command as written.
    pub text: &'a str,
    /// Its simple commands, in order.
    pub steps: Vec<Step<'a>>,
    roles: Vec<Role>,
    /// The kind of the command.
    pub kind: Kind,
}

impl<'a> Command<'a> {
    /// Parses a command.
    pub fn parse(text: &'a str) -> Self {
        let steps = steps(text);
        let roles: Vec<Role> = steps.iter().map(role).collect();
        let kind = kind(text, &steps, &roles);
        Self { text, steps, roles, kind }
    }

    /// Returns the steps that do more than show or prepare something.
    pub fn acts(&self) -> impl DoubleEndedIterator<Item = &Step<'a>> {
        self.with_roles().filter(|(_, role)| *role == Role::Acts).map(|(step, _)| step)
    }

    /// Returns whether the command prints an exit code last: `make; echo $?` or `make; rc=$?; echo
    /// $rc`.
    pub(crate) fn echoes_exit(&self) -> bool {
        let is_end = |step: &&Step| !matches!(name(&step.words), "exit" | "true" | "fi" | "");
        let Some(last) = self.steps.iter().rfind(is_end).filter(|step| step.before != Joint::Pipe) else {
            return false;
        };
        let is_echo = matches!(name(&last.words), "echo" | "printf") && last.targets.is_empty();
        is_echo && last.words.iter().any(|word| self.has_exit_code(&word.text))
    }

    /// Returns whether a text contains an exit code, or a variable that was set to one.
    fn has_exit_code(&self, text: &str) -> bool {
        let is_exit = |text: &str| text.contains("$?") || text.contains("PIPESTATUS");
        let set = self.steps.iter().flat_map(|step| &step.words).filter_map(|word| word.text.split_once('='));
        let mut names = set.filter(|(_, value)| is_exit(value)).map(|(name, _)| name);
        let is_used =
            |name: &str| text.split('$').skip(1).any(|it| it.trim_start_matches('{').starts_with(name));
        is_exit(text) || text.contains('$') && names.any(is_used)
    }

    /// Returns the steps, each with its role.
    pub fn with_roles(&self) -> impl DoubleEndedIterator<Item = (&Step<'a>, Role)> + ExactSizeIterator {
        self.steps.iter().zip(self.roles.iter().copied())
    }
}
