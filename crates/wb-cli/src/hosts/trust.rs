//! Finds whether the user has answered the question of trust that an agent puts first.

use std::path::Path;

use serde_json::Value;

use super::Host;
use super::place::InstallPlace;
use crate::platform::environment::Environment;

/// An installed file that the agent may not trust yet.
pub(crate) struct Untrusted<'a> {
    pub(crate) host: &'a Host,
    pub(crate) place: &'a InstallPlace,
    pub(crate) file: &'a Path,
    /// The hooks in it: each with its event, its place below it and the program.
    pub(crate) programs: &'a [(String, [usize; 2], String)],
    pub(crate) environment: &'a Environment,
}

/// Reports that the user has not yet trusted the project, or a folder above it, in Claude Code.
pub(crate) fn by_claude_code(untrusted: &Untrusted<'_>) -> Option<&'static str> {
    let Untrusted { place, environment, .. } = untrusted;
    let folder = environment.claude_config.as_ref().or(environment.home.as_ref());
    let text = folder.and_then(|folder| std::fs::read(folder.join(".claude.json")).ok());
    let noted: Value = text.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
    let is_trusted = |folder: &Path| {
        let project = noted.get("projects")?.get(folder.to_str()?)?;
        project.get("hasTrustDialogAccepted")?.as_bool()
    };
    let is_known = place.root.ancestors().any(|folder| is_trusted(folder) == Some(true));
    (place.is_project && !is_known)
        .then_some("Claude Code has not asked you yet whether to trust this folder: start claude here")
}

/// Reports that the user has not yet trusted the hooks of a file in Codex. Whether they changed
/// since, it alone knows.
pub(crate) fn by_codex(untrusted: &Untrusted<'_>) -> Option<&'static str> {
    let user = InstallPlace::new(untrusted.host, untrusted.environment, false).ok();
    let settings = user.and_then(|place| std::fs::read_to_string(place.file("config.toml")).ok());
    let settings = settings.unwrap_or_default();
    let is_noted = |event: &str, [at, nth]: [usize; 2]| {
        let key = format!("{}:{}:{at}:{nth}", untrusted.file.display(), snake(event));
        settings.contains(&key)
    };
    let is_known = untrusted.programs.iter().all(|(event, at, _)| is_noted(event, *at));
    (!is_known).then_some("Codex has not asked you yet whether to trust it: start codex and enter /hooks")
}

fn snake(event: &str) -> String {
    let words = event.split_inclusive(|_: char| true);
    let lower = words.map(|c| {
        let is_upper = c.chars().all(char::is_uppercase);
        if is_upper { format!("_{}", c.to_lowercase()) } else { c.to_owned() }
    });
    lower.collect::<String>().trim_start_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_named_as_codex_notes_them() {
        assert_eq!(
            (snake("PreCompact"), snake("SessionStart")),
            ("pre_compact".into(), "session_start".into())
        );
    }
}
