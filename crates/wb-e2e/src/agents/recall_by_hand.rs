//! An agent that does not compact by itself: `wb` compacts its session by hand, and its model looks
//! up what was folded.

use super::hosts::{Compacts, Session};
use super::play::Play;
use super::plugged;
use super::script::{self, NEXT_PROMPT, TAIL_PROMPT, TASK};
use super::wb::Wb;

/// The name of this case.
pub(crate) const NAME: &str = "looked up";

/// Plays it.
pub(crate) fn play(play: &mut Play, wb: &Wb) -> Result<(), String> {
    let project = play.stage.project();
    (play.host.configure)(play.stage, Compacts::ByHand)?;
    wb.put(play.stage, "install", play.host.name)?;
    play.say("1-head", TASK, script::head(&project), Session::New)?;
    play.say("2-tail", TAIL_PROMPT, script::tail(&project), Session::Last)?;
    wb.compact(play.stage, &(play.host.session)(play.stage)?)?;
    let played = play.say("3-recalled", NEXT_PROMPT, script::recalling(), Session::Last)?;
    play.report("3-recalled", plugged::not_recalled(&played));
    wb.put(play.stage, "uninstall", play.host.name)
}
