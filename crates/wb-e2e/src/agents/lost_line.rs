//! A line of a session is lost: `wb repair` links the line after it to the one before, and the
//! agent resumes.

use std::path::Path;

use super::by_hand::first;
use super::hosts::{Compacts, Session};
use super::play::Play;
use super::script::{self, HEAD_ANSWER, NEXT_PROMPT, TAIL_PROMPT, TASK};
use super::validate::{self, REPAIRED, Sent};
use super::wb::Wb;

/// The names of the cases, and the text that replaces the line.
pub(crate) const CASES: [(&str, &str); 2] = [("lost line", ""), ("garbled line", "{\"type\":\"mess\n")];

/// Plays one of them.
pub(crate) fn play(play: &mut Play, wb: &Wb, garbage: &str) -> Result<(), String> {
    let project = play.stage.project();
    (play.host.configure)(play.stage, Compacts::ByHand)?;
    let first = self::first(play.say("1-head", TASK, script::head(&project), Session::New)?)?;
    play.say("2-tail", TAIL_PROMPT, script::tail(&project), Session::Last)?;
    let file = (play.host.session)(play.stage)?;
    lose(&file, garbage)?;
    wb.repair(play.stage, &file)?;
    let asked = self::first(play.say("3-repaired", NEXT_PROMPT, script::resumed(), Session::Last)?)?;
    let sent = Sent { request: &asked, first: &first, prompt: NEXT_PROMPT };
    play.report("3-repaired", validate::findings(&REPAIRED, sent));
    Ok(())
}

/// Puts garbage in the place of the one line that holds the answer which ends the head.
fn lose(file: &Path, garbage: &str) -> Result<(), String> {
    let failure = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(|error| failure(&error))?;
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let mut held = lines.iter_mut().filter(|line| line.contains(HEAD_ANSWER));
    let (Some(line), None) = (held.next(), held.next()) else {
        return Err(failure(&format_args!("not one line holds `{HEAD_ANSWER}`")));
    };
    *line = garbage;
    std::fs::write(file, lines.concat()).map_err(|error| failure(&error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_the_answer_is_lost_and_no_other() {
        let file = std::env::temp_dir().join(format!("wb-lost-line-{}", std::process::id()));
        std::fs::write(&file, format!("one\n{HEAD_ANSWER}\ntwo\n")).unwrap();
        lose(&file, "?\n").unwrap();
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\n?\ntwo\n");
        assert!(lose(&file, "").unwrap_err().contains("not one line"));
        std::fs::remove_file(file).unwrap();
    }
}
