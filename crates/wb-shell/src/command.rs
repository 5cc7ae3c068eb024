//! A shell command that is taken apart once, whatever is asked of it.

use super::kind::{Kind, Role, kind, name, role};
use super::lexer::{Joint, Step, steps};

/// A command, its steps and what each of them is for.
#[derive(Debug)]
pub struct Command<'a> {
    /// The command as written.
    pub text: &'a str,
    /// Its simple commands, in order.
    pub steps: Vec<Step<'a>>,
    roles: Vec<Role>,
    /// The kind of program whose exit code and output are seen.
    pub kind: Kind,
}

impl<'a> Command<'a> {
    /// Parses a command.
    pub fn of(text: &'a str) -> Self {
        let steps = steps(text);
        let roles: Vec<Role> = steps.iter().map(role).collect();
        let kind = kind(text, &steps, &roles);
        Self { text, steps, roles, kind }
    }

    /// Visits the steps that do more than show something or prepare it.
    pub fn acts(&self) -> impl DoubleEndedIterator<Item = &Step<'a>> {
        self.with_roles().filter(|(_, role)| *role == Role::Acts).map(|(step, _)| step)
    }

    /// Returns whether the last that the command writes is an exit code: `make; echo $?` or `make; rc=$?; echo "rc=$rc"`.
    pub fn echoes_exit(&self) -> bool {
        let is_end = |step: &&Step| !matches!(name(&step.words), "exit" | "true" | "fi" | "");
        let Some(last) = self.steps.iter().rfind(is_end).filter(|step| step.before != Joint::Pipe) else {
            return false;
        };
        let is_echo = matches!(name(&last.words), "echo" | "printf") && last.targets.is_empty();
        is_echo && last.words.iter().any(|word| self.tells_exit(&word.text))
    }

    /// Returns whether a text holds the exit code of what was run before, or a variable that was set to it.
    fn tells_exit(&self, text: &str) -> bool {
        let is_exit = |text: &str| text.contains("$?") || text.contains("PIPESTATUS");
        let set = self.steps.iter().flat_map(|step| &step.words).filter_map(|word| word.text.split_once('='));
        let mut names = set.filter(|(_, value)| is_exit(value)).map(|(name, _)| name);
        let is_used =
            |name: &str| text.split('$').skip(1).any(|it| it.trim_start_matches('{').starts_with(name));
        is_exit(text) || text.contains('$') && names.any(is_used)
    }

    /// Returns the simple commands, each with its part in the whole.
    pub fn with_roles(&self) -> impl DoubleEndedIterator<Item = (&Step<'a>, Role)> + ExactSizeIterator {
        self.steps.iter().zip(self.roles.iter().copied())
    }
}
