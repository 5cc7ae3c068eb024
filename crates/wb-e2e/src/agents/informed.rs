//! An agent whose model writes the summary: it gets our instructions, and facts from `wb` are added
//! to the summary.

use super::hosts::{Compacts, Session};
use super::play::Play;
use super::plug_in;
use super::plugged::{self, ITS_OWN};
use super::provider::{ITS_INSTRUCTIONS, OUR_INSTRUCTIONS, Played};
use super::script::{self, NEXT_PROMPT, TAIL_PROMPT, TASK, Turn};
use super::validate::{self, COMPACTED, Check, Sent};
use super::wb::Wb;

/// The name of this case.
pub(crate) const NAME: &str = "informed";

/// The first words of our facts next to a summary.
const FACTS: &str = "Collected from the whole session:";

/// The checks of the request after a summary that followed our instructions.
pub(crate) const INFORMED: [Check; 3] = {
    let ([digest, ..], [_, summary]) = (COMPACTED, ITS_OWN);
    [summary, ("what wb knows", |sent| sent.expect_text(FACTS)), digest]
};

/// Plays it: `wb` is installed, the window is full; `wb` is uninstalled, and the window is full
/// again.
pub(crate) fn play(play: &mut Play, wb: &Wb, full_tokens: usize) -> Result<(), String> {
    let project = play.stage.project();
    let full = |turns| script::filled(turns, full_tokens, true);
    (play.host.configure)(play.stage, Compacts::Itself)?;
    wb.put(play.stage, "install", play.host.name)?;
    let first = (TASK, full(script::head(&project)), Session::New);
    let played = say(play, "1-installed", first, [OUR_INSTRUCTIONS, ITS_INSTRUCTIONS])?;
    let asked = played.requests.last().zip(played.requests.first());
    let (asked, first) = asked.ok_or("the agent asked nothing")?;
    play.report("1-installed", validate::findings(&INFORMED, Sent { request: asked, first, prompt: TASK }));
    let played = play.say("2-recalled", NEXT_PROMPT, script::recalling(), Session::Last)?;
    play.report("2-recalled", plugged::not_recalled(&played));
    wb.put(play.stage, "uninstall", play.host.name)?;
    let second = (TAIL_PROMPT, full(script::tail(&project)), Session::Last);
    say(play, "3-taken-out", second, [ITS_INSTRUCTIONS, OUR_INSTRUCTIONS])?;
    play.report("afterwards", plug_in::leaked_words(play.stage));
    Ok(())
}

/// Says a prompt; the one request for a summary holds some words, and others not.
fn say(
    play: &mut Play,
    label: &str,
    (prompt, turns, session): (&str, Vec<Turn>, Session),
    [held, missing]: [&str; 2],
) -> Result<Played, String> {
    let played = play.say(label, prompt, turns, session)?;
    let is_right = |text: &String| text.contains(held) && !text.contains(missing);
    let n_right = played.summaries.iter().filter(|text| is_right(text)).count();
    let n_all = played.summaries.len();
    let finding = format!("{n_all} requests for a summary, {n_right} of them with `{held}` alone");
    play.report(label, ((n_all, n_right) != (1, 1)).then_some(finding));
    Ok(played)
}
