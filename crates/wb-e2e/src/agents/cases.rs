//! Runs with our plug-in: the agent compacts by itself, and asks `wb` or its stand-in.
//!
//! One table and one check: after the window was full, every request holds our digest, or the
//! agent's summary if `wb` does not answer as it should. In any case the run ends as scripted.

use std::collections::BTreeMap;
use std::path::Path;

use super::hosts::{Compacts, Moment, Plug, Session};
use super::play::Play;
use super::plug_in::{self, StandIn};
use super::plugged::{self, ITS_OWN, OURS, TAIL_STAYS, WISHED};
use super::provider::AgentRequest;
use super::script::{self, LAST_PROMPT, NEXT_PROMPT, TAIL_PROMPT, TASK, THIRD_PROMPT, Turn, WISH};
use super::validate::{self, Check, Sent, UNDONE};
use super::wb::Wb;

/// The words that an agent prints after a compaction if it shows our notices.
const NOTICE: &str = "to undo: wb undo ";

/// A run.
#[derive(Debug)]
pub(crate) struct Case {
    /// The subject.
    pub(crate) name: &'static str,
    /// The program at the path where the plug-in looks for `wb`.
    stand_in: StandIn,
    steps: &'static [Step],
}

/// An action with the agent, each in a separate process.
#[derive(Debug)]
enum Step {
    /// A prompt.
    Say(&'static str, Answers),
    /// The user asks for a compaction.
    Compact,
    /// The user undoes it.
    Undo,
    /// The user undoes all of them, one by one, and redoes them.
    UndoAndRedoAll,
}

/// The model's answers.
#[derive(Clone, Copy, Debug)]
enum Answers {
    /// The first prompt's, and whether the window is then reported as full.
    Head { is_full: bool },
    /// The second prompt's, and whether the window is then reported as full.
    Tail { is_full: bool },
    /// Those with outputs that fill the window.
    Large,
    /// A few more.
    More,
    /// A call for what the first compaction folded.
    Recall,
}

const FAULT: &[Step] =
    &[Step::Say(TASK, Answers::Head { is_full: true }), Step::Say(NEXT_PROMPT, Answers::More)];

/// Every run.
pub(crate) const CASES: [Case; 11] = [
    Case {
        name: "ours",
        stand_in: StandIn::None,
        steps: &[
            Step::Say(TASK, Answers::Head { is_full: false }),
            Step::Say(TAIL_PROMPT, Answers::Tail { is_full: true }),
            Step::Say(NEXT_PROMPT, Answers::Large),
            Step::Say(THIRD_PROMPT, Answers::Large),
            Step::UndoAndRedoAll,
            Step::Say(LAST_PROMPT, Answers::Recall),
        ],
    },
    Case {
        name: "asked for",
        stand_in: StandIn::None,
        steps: &[
            Step::Say(TASK, Answers::Head { is_full: false }),
            Step::Say(TAIL_PROMPT, Answers::Tail { is_full: false }),
            Step::Compact,
            Step::Say(NEXT_PROMPT, Answers::More),
            Step::Undo,
            Step::Say(LAST_PROMPT, Answers::More),
        ],
    },
    fault("missing", StandIn::Nothing),
    fault("crashes", StandIn::Script("exit 101")),
    fault("says nothing", StandIn::Script("cat > /dev/null")),
    fault("garbage", StandIn::Script("head -c 3000 /dev/urandom")),
    fault(
        "another version",
        StandIn::Script(r#"echo '{"version":2,"action":"replace","digest":"x","keep":[]}'"#),
    ),
    fault("half an answer", StandIn::Script(r#"echo '{"version":1,"action":"replace"}'"#)),
    fault("no time", StandIn::Script("exec \"$0.real\" hook --budget-ms 0")),
    fault("hangs", StandIn::Script("sleep 60; true")),
    fault("too late", StandIn::Script("sleep 25; exec \"$0.real\" hook")),
];

const fn fault(name: &'static str, stand_in: StandIn) -> Case {
    Case { name, stand_in, steps: FAULT }
}

impl Answers {
    fn turns(self, project: &Path, plug: &Plug) -> Vec<Turn> {
        let filled = |turns| script::filled(turns, plug.full_tokens, plug.is_midway());
        match self {
            Self::Head { is_full: false } => script::head(project),
            Self::Head { is_full: true } => filled(script::head(project)),
            Self::Tail { is_full: false } => script::tail(project),
            Self::Tail { is_full: true } => filled(script::tail(project)),
            Self::Large => script::large(plug.full_tokens),
            Self::More => script::resumed(),
            Self::Recall => script::recalling(),
        }
    }

    /// Returns how many of the requests are sent before the window is full.
    fn n_before(self, n_turns: usize, plug: &Plug) -> usize {
        n_turns - usize::from(self.fills() && plug.is_midway())
    }

    fn fills(self) -> bool {
        !matches!(
            self,
            Self::Head { is_full: false } | Self::Tail { is_full: false } | Self::More | Self::Recall
        )
    }
}

/// The state of a run so far.
struct Course<'a> {
    case: &'a Case,
    wb: &'a Wb,
    plug: Plug,
    first: Option<AgentRequest>,
    /// The beginning of each output, by the id of its call.
    outputs: BTreeMap<String, String>,
    /// Compactions that had to be.
    n_compactions: usize,
    /// Marks the next request as the first after the second prompt filled the window.
    is_tail_due: bool,
    /// Expects the user's wish in the request.
    is_wish_due: bool,
    /// Marks a compaction that was undone.
    is_undone: bool,
}

impl Case {
    /// Plays it with an agent that has a plug-in.
    pub(crate) fn play(&self, play: &mut Play, plug: Plug, root: &Path, wb: &Wb) -> Result<(), String> {
        (play.host.configure)(play.stage, Compacts::Itself)?;
        plug_in::install(play.stage, &plug, root)?;
        plug_in::stand_in(play.stage, self.stand_in, wb)?;
        let mut course = Course {
            case: self,
            wb,
            plug,
            first: None,
            outputs: BTreeMap::new(),
            n_compactions: 0,
            is_tail_due: false,
            is_wish_due: false,
            is_undone: false,
        };
        // An agent that continues with it in the same run shows its normal way at once.
        let n_steps = if self.is_ours() || !plug.is_midway() { self.steps.len() } else { 1 };
        for (at, step) in self.steps.iter().take(n_steps).enumerate() {
            course.step(play, &format!("{}-{}", at + 1, self.name.replace(' ', "-")), step)?;
        }
        course.count_summaries(play);
        play.report("afterwards", plug_in::leaked_words(play.stage));
        Ok(())
    }

    /// Returns whether the compaction should use our digest.
    pub(crate) fn is_ours(&self) -> bool {
        self.stand_in == StandIn::None
    }
}

impl Course<'_> {
    fn step(&mut self, play: &mut Play, label: &str, step: &Step) -> Result<(), String> {
        let (prompt, answers) = match step {
            Step::Say(prompt, answers) => (prompt, answers),
            Step::Compact => {
                play.act(label, Vec::new(), (self.plug.compact)(play.stage, WISH))?;
                self.n_compactions += 1;
                self.is_wish_due = self.plug.hands_over_words;
                return Ok(());
            }
            Step::Undo => {
                self.is_undone = true;
                return self.wb.undo(play.stage, &(play.host.session)(play.stage)?);
            }
            Step::UndoAndRedoAll => return self.undo_and_redo_all(play, label),
        };
        let session = if self.first.is_none() { Session::New } else { Session::Last };
        let turns = answers.turns(&play.stage.project(), &self.plug);
        let n_before = if self.n_compactions == 0 { answers.n_before(turns.len(), &self.plug) } else { 0 };
        let is_cut_short = answers.fills() && self.plug.moment == Moment::Midway { keeps_calls: false };
        self.is_tail_due |= matches!(answers, Answers::Tail { .. }) && !is_cut_short;
        let played = play.say(label, prompt, turns, session)?;
        if matches!(answers, Answers::Recall) {
            play.report(label, plugged::not_recalled(&played));
            // From the call on, what was folded is there again.
            self.check(play, label, prompt, &played.requests[..1.min(played.requests.len())], n_before);
        } else {
            self.check(play, label, prompt, &played.requests, n_before);
        }
        self.n_compactions += usize::from(answers.fills());
        let is_noticed = played.printed.contains(NOTICE);
        let is_due = answers.fills() && self.case.is_ours() && self.plug.prints_notice;
        play.report(label, (is_due && !is_noticed).then(|| format!("the agent does not print `{NOTICE}`")));
        Ok(())
    }

    /// Undoes every compaction and redoes it: the session is as it was.
    fn undo_and_redo_all(&self, play: &mut Play, label: &str) -> Result<(), String> {
        let file = (play.host.session)(play.stage)?;
        let bytes = || std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()));
        let before = bytes()?;
        for _ in 0..self.n_compactions {
            self.wb.undo(play.stage, &file)?;
        }
        let undone = bytes()?;
        for _ in 0..self.n_compactions {
            self.wb.redo(play.stage, &file)?;
        }
        let after = bytes()?;
        // The pages of a database may move.
        let is_database = after.starts_with(b"SQLite");
        let is_other = !is_database && (after != before || undone == before);
        play.report(label, is_other.then(|| "undo and redo do not lead back to the session".to_owned()));
        Ok(())
    }

    /// Checks the requests of a step: before some of them nothing was compacted yet.
    fn check(
        &mut self,
        play: &mut Play,
        label: &str,
        prompt: &'static str,
        requests: &[AgentRequest],
        n_before: usize,
    ) {
        let checks: &[Check] = if self.case.is_ours() { &OURS } else { &ITS_OWN };
        let wish: &[Check] = if self.is_wish_due { &WISHED } else { &[] };
        for (at, asked) in requests.iter().enumerate() {
            let first = self.first.get_or_insert_with(|| asked.clone());
            let sent = Sent { request: asked, first, prompt };
            let label = format!("{label}, request {}", at + 1);
            play.report(&label, plugged::outputs(&asked.items, &mut self.outputs));
            if self.is_undone {
                // The messages since then follow the prompt, from the second request on.
                let undone = if at == 0 { &UNDONE[..] } else { &UNDONE[..4] };
                play.report(&label, validate::findings(undone, sent));
                continue;
            }
            if at < n_before {
                let early = sent.has_digest().then(|| "the digest is there already".to_owned());
                play.report(&label, early);
                continue;
            }
            let tail: &[Check] = if std::mem::take(&mut self.is_tail_due) { &TAIL_STAYS } else { &[] };
            let findings = [checks, tail, wish].map(|checks| validate::findings(checks, sent));
            play.report(&label, findings.into_iter().flatten());
        }
    }

    /// Finds requests for a summary that were not to be, or that were and are missing.
    fn count_summaries(&self, play: &mut Play) {
        let n_summaries = play.outcome.n_summaries;
        let is_right = match (self.case.is_ours(), self.plug.asks_anyway) {
            (true, true) => n_summaries == self.n_compactions,
            (true, false) => n_summaries == 0,
            (false, _) => n_summaries > 0,
        };
        let finding = format!("{n_summaries} requests for a summary in {} compactions", self.n_compactions);
        play.report("all of it", (!is_right).then_some(finding));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::hosts::named;

    fn plug(name: &str) -> Plug {
        named(name).unwrap()[0].plug.unwrap()
    }

    #[test]
    fn the_window_is_full_before_the_last_request_or_behind_it() {
        let n_before = |answers: Answers, name| {
            let turns = answers.turns(Path::new("p"), &plug(name));
            (
                turns.len() - answers.n_before(turns.len(), &plug(name)),
                turns.iter().map(|turn| turn.reported_tokens).max(),
            )
        };
        assert_eq!(
            n_before(Answers::Tail { is_full: true }, "opencode"),
            (1, Some(plug("opencode").full_tokens))
        );
        assert_eq!(n_before(Answers::Tail { is_full: true }, "pi"), (0, Some(plug("pi").full_tokens)));
        assert_eq!(n_before(Answers::More, "opencode"), (0, Some(0)));
    }

    #[test]
    fn every_case_begins_with_the_first_prompt_and_has_a_name_of_its_own() {
        let names: Vec<&str> = CASES.iter().map(|case| case.name).collect();
        assert!(names.iter().enumerate().all(|(at, name)| !names[..at].contains(name)), "{names:?}");
        assert!(CASES.iter().all(|case| matches!(case.steps[0], Step::Say(TASK, Answers::Head { .. }))));
    }
}
