//! A reason why a session may not resume, with the remedy.

use serde::Serialize;

/// A reason why a session may not resume.
#[derive(Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Problem {
    /// The id of the rule.
    pub(crate) rule: &'static str,
    /// The finding.
    pub(crate) what: String,
    /// The line of the file, if it has one.
    pub(crate) line: Option<usize>,
    /// The command that fixes it, or shows all of it.
    #[serde(rename = "mend")]
    pub(crate) command: Option<String>,
    /// The advice when no command fixes it.
    pub(crate) advice: Option<String>,
}

impl Problem {
    /// Names the command that fixes it, or else the advice.
    pub(crate) fn new(what: String, command: Option<String>, otherwise: &str) -> Self {
        let advice = command.is_none().then(|| otherwise.to_owned());
        Self { rule: "", what, line: None, command, advice }
    }

    pub(crate) fn at_line(self, line: Option<usize>) -> Self {
        Self { line, ..self }
    }
}
