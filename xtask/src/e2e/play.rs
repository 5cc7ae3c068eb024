//! One run of an agent: a session, its compaction, its going on, and all of that taken back.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::hosts::{Host, Session};
use super::provider::{Asked, Provider};
use super::script::{self, LAST_PROMPT, NEXT_PROMPT, TAIL_PROMPT, TASK, Turn};
use super::stage::Stage;
use super::validate::{self, COMPACTED, Check, Sent, UNDONE};
use super::wb::Wb;

/// What came of a run.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    /// Whether the session was compacted; if not, it was resumed as it was.
    pub(crate) is_compacted: bool,
    /// What is wrong with the requests that the agent sent, or why it was not run to the end.
    pub(crate) findings: Vec<String>,
    /// How many requests of its loop the agent sent.
    pub(crate) n_asked: usize,
    /// How many requests it sent beside them.
    pub(crate) n_aside: usize,
    /// How long all of it took.
    pub(crate) seconds: f64,
    /// The folder of the run, if it is still there.
    pub(crate) kept: Option<PathBuf>,
}

/// Runs an agent from end to end in a folder that is deleted if nothing is wrong, or kept if that is wished.
pub(crate) fn run(host: &Host, wb: &Wb, modules: &Path, is_kept: bool) -> Result<Outcome, String> {
    let start = Instant::now();
    let root = std::env::temp_dir().join(format!("wb-e2e-{}-{}", host.name, std::process::id()));
    std::fs::create_dir_all(&root).map_err(|error| format!("{}: {error}", root.display()))?;
    let provider = Provider::start(&root.join("requests.jsonl"))?;
    let stage = Stage::create(root.clone(), modules.to_owned(), provider.port())?;
    let mut play =
        Play { host, stage: &stage, provider: &provider, first: None, outcome: Outcome::default() };
    if let Err(why) = play.all(wb) {
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

struct Play<'a> {
    host: &'a Host,
    stage: &'a Stage,
    provider: &'a Provider,
    first: Option<Asked>,
    outcome: Outcome,
}

impl Play<'_> {
    fn all(&mut self, wb: &Wb) -> Result<(), String> {
        let project = self.stage.project();
        script::write_files(&project)?;
        (self.host.configure)(self.stage)?;
        self.first = Some(self.say("1-head", TASK, script::head(&project), Session::New)?);
        self.say("2-tail", TAIL_PROMPT, script::tail(&project), Session::Last)?;
        let file = (self.host.session)(self.stage)?;
        wb.compact(self.stage, &file)?;
        self.outcome.is_compacted = true;
        self.resume("3-compacted", NEXT_PROMPT, &COMPACTED)?;
        wb.undo(self.stage, &file)?;
        self.resume("4-undone", LAST_PROMPT, &UNDONE)
    }

    /// Goes on with the session and checks the first request that comes of it.
    fn resume(&mut self, label: &str, prompt: &str, checks: &[Check]) -> Result<(), String> {
        let asked = self.say(label, prompt, script::resumed(), Session::Last)?;
        let first = self.first.as_ref().unwrap_or(&asked);
        let findings = validate::findings(checks, Sent { asked: &asked, first, prompt });
        self.outcome.findings.extend(findings.iter().map(|finding| format!("{label}: {finding}")));
        Ok(())
    }

    /// Says a prompt and returns the first request that came of it; in all of them calls are to be answered.
    fn say(
        &mut self,
        label: &str,
        prompt: &str,
        turns: Vec<Turn>,
        session: Session,
    ) -> Result<Asked, String> {
        self.provider.play(turns);
        let ended = self.stage.run(label, (self.host.say)(self.stage, prompt, session));
        let played = self.provider.played();
        let faults = played.faults.into_iter().map(|fault| format!("{label}: {fault}"));
        let faults: Vec<String> = faults.chain(ended.err()).collect();
        if !faults.is_empty() {
            return Err(faults.join("\n"));
        }
        self.outcome.n_asked += played.asked.len();
        self.outcome.n_aside += played.n_aside;
        let findings = played.asked.iter().flat_map(|asked| validate::pairs(&asked.items));
        self.outcome.findings.extend(findings.map(|finding| format!("{label}: {finding}")));
        let first = played.asked.into_iter().next();
        first.ok_or_else(|| format!("{label}: the agent asked nothing"))
    }
}
