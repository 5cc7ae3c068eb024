//! The local digest: the text that a reader needs to resume, from the facts of the session without
//! a model.

use std::borrow::{Borrow, Cow};
use std::cmp::Reverse;
use std::collections::HashSet;
use std::fmt;

use wb_message::markers::{digest_body, is_pinned, is_synthetic};
use wb_message::text::{head, one_line, tidy};
use wb_message::{Message, ToolVocabulary, Untrusted};

use crate::evidence::{evidence, recall_line, with_evidence};
use crate::git_entries::git_entries;
use crate::model_addition::{Addition, FIRST_PERCENT};
use crate::turn_steps::{LINE_CHARS, Step};
use crate::user_requests::{self, REQUEST_BYTES, indented, request_words};
use wb_digest::labels::{
    ACTIVE, ALL_DONE, APPROVED, ASKED_SINCE, CHANGED_SINCE, FILES, FIRST, MODIFIED, NO_TASKS, READ, REPLY,
    TICKED, TURN, UNRESOLVED, USER_MESSAGES_APPLY, updated_mark,
};
use wb_digest::{OmittedRequests, Section, Sections, quote_behind_label, quote_in_line};
use wb_facts::turns::ASKED_CHARS;
use wb_facts::{Change, Facts, Failure, FileFact, Noted, RequestSource, Turn};
use wb_language::plain_words;
use wb_language::short_answers::is_answer;
use wb_language::tasks::{Task, TaskState};
use wb_message::excerpt::excerpt;

/// Bytes of the first request if a reader sees all of it next to the digest.
const SHOWN_BYTES: usize = 400;
/// Bytes of a first request that stay in any digest.
const LEAST_FIRST_BYTES: usize = 120;
/// The most paths listed of each kind.
const N_PATHS: usize = 40;
/// Bytes of the conclusion of a turn: the newest one, the two before it, and older ones; and the
/// part of a large digest that each may take instead, as a divisor.
const UTTERANCES: [(usize, usize); 3] = [(2_400, 8), (1_000, 16), (400, 40)];
/// Parts per hundred of a digest's size that the user's requests may take.
const WORDS_PERCENT: usize = 32;
/// The newest turns, whose commands are listed even if they merely show something.
const WHOLE_TURNS: usize = 3;
/// Parts per hundred of a digest's size that lines of evidence may take, if it is of some size.
const EVIDENCE_PERCENT: usize = 45;
const LEAST_FOR_EVIDENCE: usize = 1_600;

/// Characters that the lines leave, so that the whole digest fits its size when it is rendered
/// again, which reserves `none` below each heading; rounded up.
const SPARE_CHARS: usize = 40;

/// A function from a message number and a line: true if a reader sees the line next to the digest.
type VisibleLines<'a> = &'a dyn Fn(u32, &str) -> bool;

/// A digest that needs no model, ready to be rendered at any size.
#[derive(Clone)]
pub struct LocalDigest<'a> {
    facts: Cow<'a, Facts>,
    n_elided: usize,
    n_total: usize,
    visible: Option<VisibleLines<'a>>,
    /// The line about the tool for looking up what is folded; empty without one.
    recall_line: Cow<'a, str>,
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
    let mut facts = Facts::without_words();
    if let Some(prior) = prior {
        facts.observe_digest(prior);
    }
    let facts = facts.with_messages(messages, vocabulary);
    LocalDigest::with_facts(Cow::Owned(facts), n_elided(messages))
}

/// Returns the number of messages that a digest replaces: all but system texts, which stay.
pub fn n_elided<M: Borrow<Message>>(messages: &[M]) -> usize {
    messages.iter().filter(|message| !is_pinned((*message).borrow())).count()
}

impl<'a> LocalDigest<'a> {
    /// Starts from the facts of a session and the number of messages that the digest replaces.
    pub fn new(facts: &'a Facts, n_elided: usize) -> Self {
        Self::with_facts(Cow::Borrowed(facts), n_elided)
    }

    fn with_facts(facts: Cow<'a, Facts>, n_elided: usize) -> Self {
        Self { facts, n_elided, n_total: n_elided, visible: None, recall_line: Cow::Borrowed("") }
    }

    /// Closes the digest with a line on the tool with which its reader looks up folded messages.
    #[must_use]
    pub fn with_recall_tool(self, tool: Option<&str>) -> Self {
        Self { recall_line: tool.map_or(Cow::Borrowed(""), |tool| Cow::Owned(recall_line(tool))), ..self }
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
        let word_chars = self.floor(max_chars / 2).chars().count();
        let line_chars = max_chars.saturating_sub(word_chars) * EVIDENCE_PERCENT / 100;
        self.render_with(max_chars, line_chars, word_chars)
    }

    /// Renders like [`Self::render`], with `line_chars` of the characters for the lines and at
    /// least `word_chars` for the user's requests.
    pub fn render_with(&self, max_chars: usize, line_chars: usize, word_chars: usize) -> String {
        let max_chars = max_chars.saturating_sub(self.recall_line.chars().count());
        let line_chars = if max_chars < LEAST_FOR_EVIDENCE { 0 } else { line_chars.min(max_chars / 4 * 3) };
        let word_chars = word_chars.max((max_chars - line_chars) * WORDS_PERCENT / 100);
        let digest = self.sections(max_chars - line_chars, word_chars).render(max_chars - line_chars);
        let left = max_chars.saturating_sub(digest.chars().count() + SPARE_CHARS);
        let left = if line_chars == 0 { 0 } else { left };
        let lines = self.lines_missing_in(&digest, left);
        with_evidence(digest, &lines)
    }

    /// Returns the addition to a model's digest of at most `model_chars` characters: the user's
    /// requests in at most `word_chars`, constraints, open tasks and certain facts, and lines.
    pub fn addition(&self, model_chars: usize, line_chars: usize, word_chars: usize) -> Addition {
        let mut kept = Sections::default();
        let word_chars = word_chars.max(model_chars / 100 * FIRST_PERCENT);
        self.objective(&mut kept, word_chars);
        for constraint in self.constraints() {
            kept.add(Section::Guardrails, bullet(&constraint));
        }
        for task in self.open_tasks() {
            kept.add(Section::Plan, task_line(task));
        }
        self.certain(&mut kept);
        let entries = [Section::Objective, Section::Guardrails, Section::Plan, Section::Status]
            .into_iter()
            .flat_map(|section| kept.entries(section).iter().map(move |entry| (section, entry.clone())))
            // The model words the goal again, and what was left out.
            .filter(|entry| {
                !self.facts.foreign().contains(entry) && OmittedRequests::parse(&entry.1).is_none()
            });
        Addition { model_chars, word_chars, entries: entries.collect(), lines: self.lines(line_chars) }
    }

    /// Renders the lines alone that the next step may need.
    pub fn lines(&self, max_chars: usize) -> String {
        self.lines_missing_in("", max_chars)
    }

    fn lines_missing_in(&self, digest: &str, max_bytes: usize) -> String {
        let is_shown = |message, line: &str| self.shows(message, line);
        let mut lines = match max_bytes {
            0 => String::new(),
            _ => evidence(self.facts.names(), digest, max_bytes, is_shown),
        };
        lines.push_str(&self.recall_line);
        lines
    }

    fn shows(&self, message: u32, line: &str) -> bool {
        self.visible.is_some_and(|is_visible| is_visible(message, line))
    }

    fn is_shown(&self, message: u32) -> bool {
        self.shows(message, "")
    }

    /// Writes all entries that may fit into a number of characters.
    fn sections(&self, max_chars: usize, word_chars: usize) -> Sections {
        let mut out = Sections::default();
        out.add(Section::Carryover, self.facts.elided_line(self.n_elided, self.n_total));
        self.guardrails(&mut out);
        self.plan(&mut out);
        let room = max_chars.saturating_sub(Sections::frame_chars() + out.n_chars(Section::Carryover));
        let left = room.saturating_sub(out.n_chars(Section::Guardrails) + out.n_chars(Section::Plan));
        // A short first request comes before the rules.
        let first_chars = self.first_request().filter(|first| is_short(first)).map_or(0, first_chars);
        self.objective(&mut out, word_chars.min(left.max(room / 2)).max(first_chars.min(room)));
        self.turns(&mut out, max_chars);
        self.status(&mut out, max_chars);
        for line in self.facts.decided().iter().rev() {
            if !repeats(&out, line.text.inspect()) {
                out.add(Section::Rationale, labelled("- ", &line.text, usize::MAX));
            }
        }
        let is_planned = !self.facts.tasks().all().is_empty();
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
            out.add(Section::Plan, labelled_lines(APPROVED, &plan.text.map(tidy)));
        }
        if let Some(list) = self.facts.ticked() {
            out.add(Section::Plan, labelled(TICKED, &list.text, usize::MAX));
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
        with(true).chain(with(false)).map(|it| [&it.text, updated_mark(it.is_updated)].concat())
    }

    fn requests(&self) -> impl DoubleEndedIterator<Item = &Turn> {
        self.facts.turns().iter().filter(|turn| !turn.asked.is_empty() && turn.source != RequestSource::Name)
    }

    fn first_request(&self) -> Option<&Turn> {
        self.requests().next().filter(|_| self.facts.has_first())
    }

    /// Returns what no compaction drops as a digest words it, without what a reader sees anyway:
    /// the user's requests, all in at most `max_chars`, the constraints and the open tasks.
    pub fn floor(&self, max_chars: usize) -> String {
        let mut out = Sections::default();
        self.objective(&mut out, max_chars);
        self.guardrails(&mut out);
        self.plan(&mut out);
        let floor = [Section::Objective, Section::Guardrails, Section::Plan];
        floor.map(|section| out.entries(section).join("\n")).join("\n")
    }

    /// The first request leads, then the goal in the words of a model, then the newest.
    fn objective(&self, out: &mut Sections, max_chars: usize) {
        let goals = self.facts.foreign().iter().filter(|(section, _)| *section == Section::Objective);
        let goals: Vec<&String> = goals.map(|(_, goal)| goal).collect();
        let left = max_chars.saturating_sub(goals.iter().map(|goal| goal.chars().count() + 1).sum());
        let is_shown = |first: &Turn| self.is_shown(first.start);
        let first = |most| {
            let first = self.first_request();
            first.map(|first| request_words(FIRST, first, if is_shown(first) { SHOWN_BYTES } else { most }))
        };
        let others = |first: Option<&String>| {
            self.other_requests(left.saturating_sub(first.map_or(0, |first| first.chars().count() + 1)))
        };
        let mut lead = first(usize::MAX);
        let mut entries = others(lead.as_ref());
        let is_whole = lead.as_ref().is_none_or(|lead| lead.chars().count() <= left);
        let may_shorten = self.first_request().is_some_and(|first| !is_short(first));
        if !is_whole || !entries.are_whole && may_shorten {
            lead = first((left / 2).max(LEAST_FIRST_BYTES));
            entries = others(lead.as_ref());
        }
        let mut omitted = self.facts.omitted().clone();
        entries.omitted.into_iter().rev().for_each(|(n_requests, message)| omitted.add(n_requests, message));
        lead.into_iter()
            .chain(goals.into_iter().cloned())
            .chain(omitted.entry())
            .chain(entries.list)
            .for_each(|entry| out.add(Section::Objective, entry));
    }

    fn other_requests(&self, max_chars: usize) -> user_requests::Entries {
        let first = self.first_request();
        let is_other = |turn: &&Turn| {
            let is_first = first.is_some_and(|first| first.start == turn.start && first.asked == turn.asked);
            !is_first && !self.is_rule(turn)
        };
        // A later request next to the digest supersedes all that are in it.
        let shown = self.requests().rev().find(|turn| self.is_shown(turn.start)).map(|turn| turn.number);
        let latest = self.requests().rev().filter(is_other).find(|turn| !is_answer(&turn.asked));
        let latest =
            latest.map(|turn| turn.number).filter(|number| shown.is_none_or(|shown| shown < *number));
        let others = self.requests().rev().filter(is_other).filter(|turn| !self.is_shown(turn.start));
        user_requests::entries(&self.facts, others, latest, max_chars)
    }

    /// Returns whether a request is nothing but one rule, which the guardrails quote, and asks for
    /// no step. The last request is quoted twice if it is short.
    fn is_rule(&self, turn: &Turn) -> bool {
        const SHORT_BYTES: usize = 120;
        let asked = turn.asked.trim();
        let is_last = || self.requests().next_back().is_some_and(|last| last.number == turn.number);
        let is_repeated = asked.len() <= SHORT_BYTES && is_last();
        !is_repeated
            && !asks(asked)
            && self.facts.constraints().any(|it| it.text == asked && !self.is_shown(it.at))
    }

    fn guardrails(&self, out: &mut Sections) {
        if self.facts.constraints().any(|it| self.is_shown(it.at)) {
            out.add(Section::Guardrails, USER_MESSAGES_APPLY);
        }
        for constraint in self.constraints() {
            out.add(Section::Guardrails, bullet(&constraint));
        }
    }

    /// Writes each turn: its request, actions, output and conclusion; the newest one is first in
    /// the list.
    fn turns(&self, out: &mut Sections, max_chars: usize) {
        let last = self.active().map(|turn| turn.number);
        let (mut n_bytes, mut n_replies, mut bodies) = (0, 0_usize, HashSet::new());
        for (age, turn) in self.facts.turns().iter().rev().enumerate() {
            if n_bytes > max_chars {
                break;
            }
            let is_last = Some(turn.number) == last;
            // The last reply is not part of the turns.
            let shows_reply = !turn.said.is_empty() && !is_last && !self.is_shown(turn.said_at);
            let most = utterance_bytes([0, 1, 1, 2][n_replies.min(3)], max_chars);
            let reply = shows_reply.then(|| turn.said.map(|said| tidy(&excerpt(said, most))));
            n_replies += usize::from(shows_reply);
            let body = self.turn(turn, age, reply.as_ref());
            if body.is_empty() || bodies.contains(&body) {
                continue;
            }
            n_bytes += body.len();
            let asked = one_line(&turn.asked, ASKED_CHARS);
            let quoted = if asked.is_empty() { String::new() } else { format!(" (“{asked}”)") };
            let mark = updated_mark(turn.is_updated);
            out.add(Section::Turns, format!("{TURN}{}{quoted}{mark}:{body}", turn.number));
            bodies.insert(body);
        }
    }

    fn turn(&self, turn: &Turn, age: usize, reply: Option<&Untrusted>) -> String {
        let mut body = if turn.restored.is_empty() { String::new() } else { ["\n", &turn.restored].concat() };
        let is_shown = |at| self.is_shown(at);
        let changed: Vec<String> = turn.changed.iter().filter_map(|it| it.line(is_shown)).collect();
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
            body.extend(["\n  ", REPLY]);
            quote_behind_label(&mut body, reply);
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

    fn status(&self, out: &mut Sections, max_chars: usize) {
        if let Some(turn) = self.active().filter(|turn| !self.is_shown(turn.said_at)) {
            let said = turn.said.map(|said| tidy(&excerpt(said, utterance_bytes(1, max_chars))));
            out.add(Section::Status, labelled_lines(ACTIVE, &said));
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
            let lines: Vec<_> = failure.lines.iter().map(Untrusted::inspect).collect();
            let line = failure.what.map(|what| [what, since, ": ", &lines.join(" | ")].concat());
            out.add(Section::Status, labelled(UNRESOLVED, &line, LINE_CHARS * 2));
        }
        for entry in git_entries(&self.facts, |at| self.is_shown(at)) {
            out.add(Section::Status, entry);
        }
        let is_modified = |file: &&FileFact| matches!(file.change, Some(Change::Written | Change::Edited));
        let mut modified: Vec<&FileFact> = self.facts.files().newest().filter(is_modified).collect();
        modified.sort_by_key(|file| (file.path.starts_with("/tmp/"), Reverse(file.changed_at)));
        path_entries(out, Section::Status, MODIFIED, modified.into_iter().map(|file| file.path.as_str()));
    }

    /// Returns the current turn if the agent has said more than a word or two in it.
    fn active(&self) -> Option<&Turn> {
        let has_words = |turn: &&Turn| turn.said.inspect().split_whitespace().nth(2).is_some();
        self.facts.turns().iter().next_back().filter(has_words)
    }

    fn files(&self, is_one: impl Fn(&FileFact) -> bool) -> impl Iterator<Item = &str> {
        self.facts.files().newest().filter(move |file| is_one(file)).map(|file| file.path.as_str())
    }
}

/// Returns whether a turn or the status quotes the start of a reason.
fn repeats(digest: &Sections, reason: &str) -> bool {
    const START_BYTES: usize = 60;
    let words = reason.split_once(") ").map_or(reason, |(_, words)| words);
    let start = head(words, START_BYTES);
    let quotes = |section| digest.entries(section).iter().any(|entry| entry.contains(start));
    start.len() + 4 > START_BYTES && (quotes(Section::Turns) || quotes(Section::Status))
}

/// Returns the bytes of a conclusion of this age in a digest of that size.
fn utterance_bytes(age: usize, max_chars: usize) -> usize {
    let (n_bytes, part) = UTTERANCES[age];
    n_bytes.max(max_chars / part)
}

fn task_line(task: &Task) -> String {
    let mut line = format!("- [{}] ", task.state.as_str());
    quote_in_line(&mut line, &task.text, LINE_CHARS);
    line
}

/// Writes a sentence of the user as one entry; it is not cut.
fn bullet(words: &str) -> String {
    let words = words.trim();
    let words = words.strip_prefix("- ").unwrap_or(words);
    ["- ", &indented(words)].concat()
}

/// Returns a text on one line behind a label.
fn labelled(label: &str, text: &Untrusted, max_chars: usize) -> String {
    let mut line = label.to_owned();
    quote_in_line(&mut line, text, max_chars);
    line
}

/// Returns a text on its lines behind a label.
fn labelled_lines(label: &str, text: &Untrusted) -> String {
    let mut lines = label.to_owned();
    quote_behind_label(&mut lines, text);
    lines
}

/// Returns whether the user's words ask for something: "can we also add a switch for that".
fn asks(words: &str) -> bool {
    const FIRST: [&str; 9] = ["can", "could", "would", "will", "please", "let", "lets", "how", "what"];
    let first = plain_words(words).next().unwrap_or_default();
    words.ends_with(['?', '？']) || FIRST.iter().any(|word| first.eq_ignore_ascii_case(word))
}

/// Returns whether a first request stays whole in any digest.
fn is_short(first: &Turn) -> bool {
    first.asked.len() <= REQUEST_BYTES
}

/// Returns the characters of the entry for a first request.
fn first_chars(first: &Turn) -> usize {
    request_words(FIRST, first, usize::MAX).chars().count() + 1
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
