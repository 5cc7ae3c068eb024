//! A session of an agent that does not compact: `wb` compacts it in its file, the agent resumes it,
//! `wb` undoes the compaction.

use super::hosts::{Compacts, Session};
use super::play::Play;
use super::provider::{AgentRequest, Played};
use super::script::{self, LAST_PROMPT, NEXT_PROMPT, TAIL_PROMPT, TASK};
use super::validate::{self, COMPACTED, Check, Sent, UNDONE};
use super::wb::Wb;

/// The name of this case.
pub(crate) const NAME: &str = "by hand";

/// Plays it.
pub(crate) fn play(play: &mut Play, wb: &Wb) -> Result<(), String> {
    let project = play.stage.project();
    (play.host.configure)(play.stage, Compacts::ByHand)?;
    let first = first(play.say("1-head", TASK, script::head(&project), Session::New)?)?;
    play.say("2-tail", TAIL_PROMPT, script::tail(&project), Session::Last)?;
    let file = (play.host.session)(play.stage)?;
    wb.compact(play.stage, &file)?;
    resume(play, &first, ("3-compacted", NEXT_PROMPT), &COMPACTED)?;
    wb.undo(play.stage, &file)?;
    resume(play, &first, ("4-undone", LAST_PROMPT), &UNDONE)
}

/// Resumes the session and checks the first request.
fn resume(
    play: &mut Play,
    first: &AgentRequest,
    (label, prompt): (&str, &str),
    checks: &[Check],
) -> Result<(), String> {
    let asked = self::first(play.say(label, prompt, script::resumed(), Session::Last)?)?;
    play.report(label, validate::findings(checks, Sent { request: &asked, first, prompt }));
    Ok(())
}

/// Returns the first request.
pub(super) fn first(played: Played) -> Result<AgentRequest, String> {
    played.requests.into_iter().next().ok_or_else(|| "the agent asked nothing".to_owned())
}
