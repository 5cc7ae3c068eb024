//! The local digest: the text that a reader needs to resume, from the facts of the session without
//! a model.

use std::borrow::{Borrow, Cow};
use std::cmp::Reverse;
use std::fmt;

use wb_message::markers::{digest_body, is_pinned, is_synthetic};
use wb_message::text::{clip, one_line, one_line_into, tidy};
use wb_message::{Message, ToolVocabulary};

use crate::evidence::{evidence, with_evidence};
use crate::git_entries::git_entries;
use crate::model_addition::{Addition, FIRST_PERCENT};
use crate::turn_steps::{LINE_CHARS, Step};
use wb_digest::labels::{
    ACTIVE, ALL_DONE, ANSWER, APPROVED, ASKED_SINCE, CHANGED_SINCE, EARLIER, FILES, FIRST, LATEST, MODIFIED,
    NO_TASKS, READ, REPLY, TICKED, TO, TURN, UNRESOLVED, USER_MESSAGES_APPLY,
};
use wb_digest::{Section, Sections};
use wb_facts::turns::ASKED_CHARS;
use wb_facts::{Change, Changed, Facts, Failure, FileFact, Noted, Turn};
use wb_language::short_answers::is_answer;
use wb_language::tasks::{Task, TaskState};
use wb_language::user_text::is_acknowledgement;
use wb_message::excerpt::excerpt;

/// Bytes of a user's request that are kept verbatim.
pub const REQUEST_BYTES: usize = wb_language::UTTERANCE_BYTES;
/// Bytes of the first request if a reader sees all of it next to the digest.
const SHOWN_BYTES: usize = 400;
/// The most paths listed of each kind.
const N_PATHS: usize = 40;
/// Bytes of the conclusion of a turn: the newest one, the two before it, and older ones.
const UTTERANCE_BYTES: [usize; 3] = [2_400, 1_000, 400];
/// The percentage of a digest that the user's words may take before their questions are left out.
const WORDS_PERCENT: usize = 12;
/// The newest turns, whose commands are listed even if they merely show something.
const WHOLE_TURNS: usize = 3;
/// Parts per hundred of a digest's size that lines of evidence may take, if it is of some size.
const EVIDENCE_PERCENT: usize = 45;
const LEAST_FOR_EVIDENCE: usize = 1_600;

/// A function from a message number and a line: true if a reader sees the line next to the digest.
type VisibleLines<'a> = &'a dyn Fn(u32, &str) -> bool;

/// A digest that needs no model, ready to be rendered at any size.
#[derive(Clone)]
pub struct LocalDigest<'a> {
    facts: Cow<'a, Facts>,
    n_elided: usize,
    n_total: usize,
    visible: Option<VisibleLines<'a>>,
}

impl fmt::Debug for LocalDigest<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LocalDigest").field("facts", &self.facts).finish_non_exhaustive()
    }
}

/// Creates the local digest of messages; the same input gives the same digest.
///
/// System texts and restored files are not read. Earlier digests, among the messages or given as
/// `prior`, are included.
pub fn local_digest<M: Borrow<Message>>(
    messages: &[M],
    vocabulary: &ToolVocabulary,
    prior: Option<&str>,
) -> LocalDigest<'static> {
    let mut facts = Facts::default();
    if let Some(prior) = prior {
        facts.observe_digest(prior);
    }
    for message in messages {
        facts.observe(message.borrow(), vocabulary);
    }
    let n_elided = n_elided(messages);
    LocalDigest { facts: Cow::Owned(facts), n_elided, n_total: n_elided, visible: None }
}

/// Returns the number of messages that a digest replaces: all but system texts, which stay.
pub fn n_elided<M: Borrow<Message>>(messages: &[M]) -> usize {
    messages.iter().filter(|message| !is_pinned((*message).borrow())).count()
}

impl<'a> LocalDigest<'a> {
    /// Starts from the facts of a session and the number of messages that the digest replaces.
    pub fn new(facts: &'a Facts, n_elided: usize) -> Self {
        Self { facts: Cow::Borrowed(facts), n_elided, n_total: n_elided, visible: None }
    }

    /// Sets the number of messages that it replaces together with earlier digests, if the facts
    /// include them.
    #[must_use]
    pub fn with_total(self, n_total: usize) -> Self {
        Self { n_total: n_total.max(self.n_elided), ..self }
    }

    /// Leaves out lines that a reader sees anyway: `is_visible` gets a message number and a line.
    #[must_use]
    pub fn omit_visible(self, is_visible: VisibleLines<'a>) -> Self {
        Self { visible: Some(is_visible), ..self }
    }

    /// Renders the shortest digest, with the number of messages that are gone and nothing else.
    pub fn least(&self) -> String {
        let mut sections = Sections::default();
        sections.add(Section::Carryover, self.facts.elided_line(self.n_elided, self.n_total));
        sections.render(0)
    }

    /// Renders the digest under its six headings in at most `max_chars` characters: first the
    /// user's words, turns and open work, then the lines that the next step may need, in the
    /// remaining room.
    pub fn render(&self, max_chars: usize) -> String {
        self.render_with(max_chars, lines_within(max_chars))
    }

    /// Renders like [`Self::render`], with `line_chars` of the characters for the lines.
    pub fn render_with(&self, max_chars: usize, line_chars: usize) -> String {
        let line_chars = if max_chars < LEAST_FOR_EVIDENCE { 0 } else { line_chars.min(max_chars / 4 * 3) };
        let digest = self.sections(max_chars).render(max_chars - line_chars);
        if line_chars == 0 {
            return digest;
        }
        let left = max_chars.saturating_sub(digest.chars().count());
        let lines = self.lines_missing_in(&digest, left);
        with_evidence(digest, &lines)
    }

    /// Returns the addition to a model's digest of at most `max_chars` characters: the first
    /// request, constraints and certain facts, and lines.
    pub fn addition(&self, model_chars: usize, line_chars: usize) -> Addition {
        let mut kept = Sections::default();
        if let Some(first) = self.first_request() {
            let most = model_chars * FIRST_PERCENT / 100;
            kept.add(Section::Objective, labelled_words(FIRST, &clip(&first.asked, most)));
        }
        for constraint in self.constraints() {
            kept.add(Section::Guardrails, bullet(&constraint));
        }
        for task in self.open_tasks() {
            kept.add(Section::Plan, task_line(task));
        }
        self.certain(&mut kept);
        let entries = [Section::Objective, Section::Guardrails, Section::Plan, Section::Status]
            .into_iter()
            .flat_map(|section| kept.entries(section).iter().map(move |entry| (section, entry.clone())));
        Addition { model_chars, entries: entries.collect(), lines: self.lines(line_chars) }
    }

    /// Renders the lines alone that the next step may need.
    pub fn lines(&self, max_chars: usize) -> String {
        self.lines_missing_in("", max_chars)
    }

    fn lines_missing_in(&self, digest: &str, max_bytes: usize) -> String {
        evidence(self.facts.names(), digest, max_bytes, |message, line| self.shows(message, line))
    }

    fn shows(&self, message: u32, line: &str) -> bool {
        self.visible.is_some_and(|is_visible| is_visible(message, line))
    }

    fn is_shown(&self, message: u32) -> bool {
        self.shows(message, "")
    }

    /// Writes all entries that may fit into a number of characters.
    fn sections(&self, max_chars: usize) -> Sections {
        let mut out = Sections::default();
        self.objective(&mut out, max_chars);
        if self.facts.constraints().any(|it| self.is_shown(it.at)) {
            out.add(Section::Guardrails, USER_MESSAGES_APPLY);
        }
        for constraint in self.constraints() {
            out.add(Section::Guardrails, bullet(&constraint));
        }
        self.turns(&mut out, max_chars);
        self.status(&mut out);
        for line in self.facts.decided().iter().rev() {
            out.add(Section::Rationale, labelled("- ", &line.text, LINE_CHARS));
        }
        self.plan(&mut out);
        let is_planned = !self.facts.tasks().all().is_empty();
        out.add(Section::Carryover, self.facts.elided_line(self.n_elided, self.n_total));
        let read = self.files(|file| file.change.is_none() && file.read_at.is_some());
        path_entries(&mut out, Section::Carryover, READ, read);
        for (section, entry) in self.facts.foreign() {
            match section {
                Section::Objective => {}
                Section::Plan if is_planned => {}
                Section::Carryover => out.add(Section::Carried, entry.clone()),
                section => out.add(*section, entry.clone()),
            }
        }
        // That nothing is planned is not known: many agents plan in words alone.
        if out.entries(Section::Plan).is_empty() {
            out.add(Section::Plan, NO_TASKS);
        }
        out
    }

    /// Lists the tasks that are not done, then those that vanished from the list unfinished, newest
    /// first.
    fn plan(&self, out: &mut Sections) {
        let is = |state: TaskState| move |task: &&Task| task.state == state;
        let (dropped, listed): (Vec<&Task>, Vec<&Task>) =
            self.facts.tasks().all().iter().partition(is(TaskState::Dropped));
        for task in listed.iter().filter(|task| task.state != TaskState::Done) {
            out.add(Section::Plan, task_line(task));
        }
        if !listed.is_empty() && listed.iter().all(is(TaskState::Done)) {
            let asked_at = self.requests().next_back().map(|turn| turn.start);
            let is_old = self.facts.tasks_at().is_some_and(|at| asked_at.is_some_and(|asked| at < asked));
            out.add(Section::Plan, [ALL_DONE, if is_old { ASKED_SINCE } else { "" }, "."].concat());
        }
        if let Some(plan) = self.facts.approved().filter(|plan| !self.is_shown(plan.at)) {
            out.add(Section::Plan, [APPROVED, &indented(&tidy(&plan.text))].concat());
        }
        if let Some(list) = self.facts.ticked() {
            out.add(Section::Plan, [TICKED, &list.text].concat());
        }
        for task in dropped.into_iter().rev() {
            out.add(Section::Plan, task_line(task));
        }
    }

    /// Returns the constraints that a reader does not see next to the digest, verbatim, bans first,
    /// newest first.
    fn constraints(&self) -> impl Iterator<Item = String> {
        let unseen = || self.facts.constraints().rev().filter(|it| !self.is_shown(it.at));
        let with = |forbids| unseen().filter(move |it| it.forbids == forbids);
        with(true).chain(with(false)).map(|it| it.text.clone())
    }

    fn requests(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.facts.turns().iter().filter(|turn| !turn.asked.is_empty())
    }

    fn first_request(&self) -> Option<&Turn> {
        self.requests().next().filter(|_| self.facts.has_first())
    }

    /// Returns the first and last requests as a digest words them, without those that a reader sees
    /// anyway.
    pub fn listed_requests(&self) -> String {
        let (first, last) = (self.first_request(), self.requests().next_back());
        let last = last.filter(|last| first.is_none_or(|first| first.start != last.start));
        let requests = [(FIRST, first), (LATEST, last)].into_iter().filter_map(|(label, turn)| {
            let turn = turn.filter(|turn| !self.is_shown(turn.start))?;
            Some(labelled_words(label, &turn.asked))
        });
        requests.collect::<Vec<_>>().join("\n")
    }

    /// The first request leads, then the goal in the words of a model, then the newest.
    fn objective(&self, out: &mut Sections, max_chars: usize) {
        let first = self.first_request();
        if let Some(first) = first {
            let most = if self.is_shown(first.start) { SHOWN_BYTES } else { usize::MAX };
            out.add(Section::Objective, labelled_words(FIRST, &clip(&first.asked, most)));
        }
        let mut goals = self.facts.foreign().iter().filter(|(section, _)| *section == Section::Objective);
        if let Some((_, goal)) = goals.next() {
            out.add(Section::Objective, goal.clone());
        }
        let is_first = |turn: &Turn| first.is_some_and(|first| std::ptr::eq(first, turn));
        let has_content = |turn: &&Turn| !is_acknowledgement(&turn.asked) || !turn.to.is_empty();
        let others: Vec<&Turn> =
            self.requests().rev().filter(|turn| !is_first(turn)).filter(has_content).collect();
        // A later request next to the digest supersedes all that are in it.
        let shown = self.requests().rev().find(|turn| self.is_shown(turn.start)).map(|turn| turn.number);
        let is_last = |turn: &&Turn| shown.is_none_or(|shown| shown < turn.number);
        let latest = others.iter().position(|turn| !is_answer(&turn.asked));
        let latest = latest.filter(|at| is_last(&others[*at]));
        let mut listed: Vec<&str> = first.iter().map(|first| first.asked.as_str()).collect();
        let mut n_bytes = 0;
        let all = others.iter().filter(|turn| !self.is_shown(turn.start)).map(|turn| turn.asked.len());
        // The context of older answers gives way to the user's words.
        let mut for_questions = (max_chars * WORDS_PERCENT / 100).saturating_sub(all.sum());
        for (age, turn) in others.iter().enumerate().filter(|(_, turn)| !self.is_shown(turn.start)) {
            if n_bytes > max_chars {
                break;
            }
            n_bytes += turn.asked.len();
            if is_answer(&turn.asked) {
                let left = for_questions.checked_sub(turn.to.len());
                for_questions = left.unwrap_or(for_questions);
                // A nod says nothing alone.
                if left.is_some() || !is_acknowledgement(&turn.asked) {
                    out.add(Section::Objective, answer_entry(turn, left.is_some()));
                }
            } else if !listed.contains(&turn.asked.as_str()) {
                listed.push(&turn.asked);
                let (label, most) =
                    if latest == Some(age) { (LATEST, usize::MAX) } else { (EARLIER, REQUEST_BYTES) };
                out.add(Section::Objective, labelled_words(label, &clip(&turn.asked, most)));
            }
        }
        goals.for_each(|(_, goal)| out.add(Section::Objective, goal.clone()));
    }

    /// Writes each turn: its request, actions, output and conclusion; the newest one is first in
    /// the list.
    fn turns(&self, out: &mut Sections, max_chars: usize) {
        let last = self.active().map(|turn| turn.number);
        let (mut n_bytes, mut n_replies) = (0, 0_usize);
        for (age, turn) in self.facts.turns().iter().rev().enumerate() {
            if n_bytes > max_chars {
                break;
            }
            let is_last = Some(turn.number) == last;
            // The last reply is not part of the turns.
            let shows_reply = !turn.said.is_empty() && !is_last && !self.is_shown(turn.said_at);
            let most = UTTERANCE_BYTES[[0, 1, 1, 2][n_replies.min(3)]];
            let reply = shows_reply.then(|| excerpt(&turn.said, most));
            n_replies += usize::from(shows_reply);
            let body = self.turn(turn, age, reply.as_deref());
            if body.is_empty() {
                continue;
            }
            n_bytes += body.len();
            let asked = one_line(&turn.asked, ASKED_CHARS);
            let quoted = if asked.is_empty() { String::new() } else { format!(" (“{asked}”)") };
            out.add(Section::Turns, format!("{TURN}{}{quoted}:{body}", turn.number));
        }
    }

    fn turn(&self, turn: &Turn, age: usize, reply: Option<&str>) -> String {
        let mut body = if turn.restored.is_empty() { String::new() } else { ["\n", &turn.restored].concat() };
        let changed: Vec<String> = turn.changed.iter().map(Changed::line).collect();
        if !changed.is_empty() {
            body.extend(["\n  ", FILES, &changed.join(", ")]);
        }
        for answer in &turn.answers {
            body.extend(["\n  ", &one_line(answer, LINE_CHARS * 2)]);
        }
        let steps = self.steps(turn, age);
        // The last reply is in its place, so that nothing before it reads as the last word.
        let (before, after) = steps.split_at(steps.partition_point(|step| step.message() <= turn.said_at));
        for step in before {
            step.push_line(&mut body);
        }
        if let Some(reply) = reply {
            body.extend(["\n  ", REPLY, &indented(&tidy(reply))]);
        }
        for step in after {
            step.push_line(&mut body);
        }
        body
    }

    /// Returns what was run in a turn, and said on the way, in order.
    fn steps<'t>(&self, turn: &'t Turn, age: usize) -> Vec<Step<'t>> {
        let is_new = age < WHOLE_TURNS;
        let runs = turn.runs.iter().filter(|run| (is_new || run.is_notable) && !self.is_shown(run.at));
        let mut steps: Vec<Step<'t>> = runs.map(Step::Run).collect();
        let is_unseen = |note: &&Noted| (is_new || turn.said.is_empty()) && !self.is_shown(note.at);
        for note in turn.notes.iter().filter(is_unseen) {
            let at = steps.partition_point(|step| step.message() < note.at);
            steps.insert(at, Step::Note(note));
        }
        steps
    }

    fn open_tasks(&self) -> impl Iterator<Item = &Task> {
        self.facts.tasks().all().iter().filter(|task| task.state != TaskState::Done)
    }

    fn status(&self, out: &mut Sections) {
        if let Some(turn) = self.active().filter(|turn| !self.is_shown(turn.said_at)) {
            out.add(
                Section::Status,
                [ACTIVE, &indented(&tidy(&excerpt(&turn.said, UTTERANCE_BYTES[1])))].concat(),
            );
        }
        self.certain(out);
    }

    /// Writes the certain facts: failures, the state of git, changed files.
    fn certain(&self, out: &mut Sections) {
        // Stopped operations are part of the state of git.
        let is_stopped = self.facts.git_state().stopped().is_some();
        let is_unseen = |it: &&Failure| !(self.is_shown(it.at) || is_stopped && it.is_conflict());
        let changed_at = self.facts.files().newest().map(|file| file.changed_at).max();
        for failure in self.facts.failures().newest().filter(is_unseen) {
            let may_work = !failure.checks.is_empty() && changed_at > Some(failure.at);
            let since = if may_work { CHANGED_SINCE } else { "" };
            let line = [&failure.what, since, ": ", &failure.lines.join(" | ")].concat();
            out.add(Section::Status, labelled(UNRESOLVED, &line, LINE_CHARS * 2));
        }
        for entry in git_entries(&self.facts, |at| self.is_shown(at)) {
            out.add(Section::Status, entry);
        }
        let is_modified = |file: &&FileFact| matches!(file.change, Some(Change::Written | Change::Edited));
        let mut modified: Vec<&FileFact> = self.facts.files().newest().filter(is_modified).collect();
        modified.sort_by_key(|file| Reverse(file.changed_at));
        path_entries(out, Section::Status, MODIFIED, modified.into_iter().map(|file| file.path.as_str()));
    }

    /// Returns the current turn if the agent has said more than a word or two in it.
    fn active(&self) -> Option<&Turn> {
        let has_words = |turn: &&Turn| turn.said.split_whitespace().nth(2).is_some();
        self.facts.turns().iter().next_back().filter(has_words)
    }

    fn files(&self, is_one: impl Fn(&FileFact) -> bool) -> impl Iterator<Item = &str> {
        self.facts.files().newest().filter(move |file| is_one(file)).map(|file| file.path.as_str())
    }
}

/// Returns the characters of a digest that lines of evidence may take by default.
fn lines_within(max_chars: usize) -> usize {
    max_chars * EVIDENCE_PERCENT / 100
}

fn task_line(task: &Task) -> String {
    format!("- [{}] {}", task.state.as_str(), one_line(&task.text, LINE_CHARS))
}

/// Writes a sentence of the user as one entry; it is not cut.
fn bullet(words: &str) -> String {
    let words = words.trim();
    let words = words.strip_prefix("- ").unwrap_or(words);
    ["- ", &indented(words)].concat()
}

/// Returns a text on one line behind a label.
fn labelled(label: &str, text: &str, max_chars: usize) -> String {
    let mut line = String::with_capacity(label.len() + text.len().min(max_chars + '…'.len_utf8()));
    line.push_str(label);
    one_line_into(&mut line, text, max_chars);
    line
}

/// Returns the user's words behind a label, with further lines indented.
fn labelled_words(label: &str, words: &str) -> String {
    [label, " ", &indented(&tidy(words))].concat()
}

/// Returns the user's words, and on demand the question that they answer.
fn answer_entry(turn: &Turn, has_question: bool) -> String {
    let to = if turn.to.is_empty() || !has_question { String::new() } else { [TO, &turn.to].concat() };
    [&labelled_words(ANSWER, &turn.asked), to.as_str()].concat()
}

/// Indents all lines but the first and the empty ones.
fn indented(words: &str) -> String {
    let mut out = String::with_capacity(words.len() + words.matches('\n').count() * 2);
    for (nth, line) in words.split('\n').enumerate() {
        if nth > 0 {
            out.push_str(if line.is_empty() { "\n" } else { "\n  " });
        }
        out.push_str(line);
    }
    out
}

/// Adds paths as one list; where not all fit, it is cut behind one of them.
fn path_entries<'p>(out: &mut Sections, section: Section, label: &str, paths: impl Iterator<Item = &'p str>) {
    let paths: Vec<&str> = paths.filter(|path| !path.contains('\n')).take(N_PATHS).collect();
    if !paths.is_empty() {
        out.add(section, [label, &paths.join(", ")].concat());
    }
}

/// Returns what the earlier digests among messages say, oldest first, nothing if there is none.
pub fn carried_digest<M: Borrow<Message>>(messages: &[M]) -> Option<String> {
    let bodies: Vec<_> = messages.iter().filter_map(|message| digest_body(message.borrow())).collect();
    let said = bodies.iter().map(|body| body.trim()).filter(|body| !body.is_empty());
    let carried = said.collect::<Vec<_>>().join("\n\n");
    (!carried.is_empty()).then_some(carried)
}

/// Returns whether a digest of these messages would add anything to existing digests and restored
/// files.
pub fn has_news<M: Borrow<Message>>(messages: &[M]) -> bool {
    let is_new = |message: &Message| !is_synthetic(message) && !is_pinned(message);
    messages.iter().any(|message| is_new(message.borrow()))
}
