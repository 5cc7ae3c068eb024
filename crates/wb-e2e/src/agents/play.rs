//! Runs of an agent: the prompts it gets in a separate folder, and the outcome.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use super::hosts::{Host, Session};
use super::provider::{Played, Provider};
use super::script::{self, Turn};
use super::stage::Stage;
use super::validate;

/// The outcome of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// The name of the case.
    pub(crate) name: &'static str,
    /// The faults in the agent's requests, or the reason why it did not run to the end.
    pub(crate) findings: Vec<String>,
    /// The number of requests of its loop.
    pub(crate) n_requests: usize,
    /// The number of requests for a summary.
    pub(crate) n_summaries: usize,
    /// The number of other requests.
    pub(crate) n_aside: usize,
    /// The duration.
    pub(crate) seconds: f64,
    /// The longest time between an answer of the provider and the next request of the agent.
    pub(crate) pause_seconds: f64,
    /// The folder of the run, if it is still there.
    pub(crate) kept: Option<PathBuf>,
}

/// The actions of a run.
pub(crate) type Scene<'a> = &'a dyn Fn(&mut Play) -> Result<(), String>;

/// Runs an agent in a folder that is deleted if nothing is wrong, or kept if that is wished.
pub(crate) fn run(
    name: &'static str,
    host: &Host,
    modules: &Path,
    is_kept: bool,
    scene: Scene,
) -> Result<Outcome, String> {
    let start = Instant::now();
    let folder = format!("wb-e2e-{}-{}-{}", host.name, name.replace(' ', "-"), std::process::id());
    let root = std::env::temp_dir().join(folder);
    std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let provider = Provider::start(&root.join("requests.jsonl"))?;
    let stage = Stage::create(root.clone(), modules.to_owned(), provider.port())?;
    let outcome = Outcome { name, ..Outcome::default() };
    let mut play = Play { host, stage: &stage, provider: &provider, outcome };
    if let Err(why) = script::write_files(&stage.project()).and_then(|()| scene(&mut play)) {
        play.outcome.findings.push(why);
    }
    let mut outcome = play.outcome;
    if is_kept || !outcome.findings.is_empty() {
        outcome.kept = Some(root);
    } else {
        stage.delete()?;
    }
    outcome.seconds = start.elapsed().as_secs_f64();
    Ok(outcome)
}

/// A run that is underway.
pub(crate) struct Play<'a> {
    pub(crate) host: &'a Host,
    pub(crate) stage: &'a Stage,
    pub(crate) provider: &'a Provider,
    pub(crate) outcome: Outcome,
}

impl Play<'_> {
    /// Says a prompt and returns what came of it; in all requests calls are to be answered.
    pub(crate) fn say(
        &mut self,
        label: &str,
        prompt: &str,
        turns: Vec<Turn>,
        session: Session,
    ) -> Result<Played, String> {
        self.stage.heard();
        let played = self.act(label, turns, (self.host.say)(self.stage, prompt, session))?;
        self.report(label, self.stage.heard().iter().map(|port| format!("something listens on port {port}")));
        Ok(played)
    }

    /// Runs a program of the agent and returns what came of it.
    pub(crate) fn act(&mut self, label: &str, turns: Vec<Turn>, program: Command) -> Result<Played, String> {
        self.provider.play(turns);
        let ended = self.stage.run(label, program);
        let mut played = self.provider.played();
        let faults = played.faults.drain(..).map(|fault| format!("{label}: {fault}"));
        let mut faults: Vec<String> = faults.collect();
        match ended {
            Ok(printed) => played.printed = printed,
            Err(why) => faults.push(why),
        }
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        self.outcome.n_requests += played.requests.len();
        self.outcome.n_summaries += played.summaries.len();
        self.outcome.n_aside += played.n_aside;
        self.outcome.pause_seconds = self.outcome.pause_seconds.max(played.pause.as_secs_f64());
        if self.host.repeats_outputs {
            let untouched = played.requests.iter_mut().filter(|asked| validate::no_digest(asked).is_empty());
            untouched.for_each(|asked| validate::without_repeats(&mut asked.items));
        }
        self.report(label, played.requests.iter().flat_map(|asked| validate::pairs(&asked.items)));
        Ok(played)
    }

    /// Adds what was found.
    pub(crate) fn report(&mut self, label: &str, findings: impl IntoIterator<Item = String>) {
        let findings = findings.into_iter().map(|finding| format!("{label}: {finding}"));
        self.outcome.findings.extend(findings);
    }
}
