//! The index over messages, and how it answers.

use std::borrow::{Borrow, Cow};
use std::fmt::Write as _;

use memchr::memmem::Finder;
use wb_budget::{TokenHeuristic, estimate_text};
use wb_language::answers::{asks_the_user, proposes_a_plan};
use wb_language::user_text::{is_bare_command, rejected_words, request_words};
use wb_message::text::one_line;
use wb_message::tools::normal_path;
use wb_message::{Aside, Message, Pairing, ToolRole, ToolVocabulary, Untrusted, Value, outline};

use crate::answer::{Answer, Excerpt};
use crate::author::{Answered, Author, shell_outcome};
use crate::excerpt::{NumberedLines, Wanted, excerpt, lines_from, n_bytes, n_lines};
use crate::later_event::{CallSubject, LaterEvent, Touch, file_touched};
use crate::message_body::{body, is_said};
use crate::message_numbers::numbers_of;
use crate::question::{Question, QuestionError, Subject};
use crate::tool::is_recall;
use crate::user_aside::{has_answer, quoted_aside};
use crate::word_hashes::words_of;
use crate::word_index::{Match, WordIndex};

/// The excerpts of an answer.
const MOST_FOUND: usize = 5;
/// The bytes that a heading takes.
const HEADING_BYTES: usize = 160;
/// The fewest bytes that an excerpt gets.
const LEAST_BYTES: usize = 300;
/// The bytes of messages that are searched for the exact words.
const EXACT_BYTES: usize = 8 << 20;
/// The newest parts and changes of a file that are shown.
const MOST_PARTS: usize = 2;
/// The words outside of messages that an answer quotes, and their share of its room.
const MOST_ASIDES: usize = 2;
const ASIDES_SHARE: usize = 4;
/// The message numbers listed for a kind of what overtakes an excerpt.
const MOST_LATER: usize = 4;
/// The characters of a question that a note repeats.
const NOTE_CHARS: usize = 80;

/// An index over the messages of a session.
///
/// Messages may be owned, borrowed or shared; the index holds no copy of a text.
#[derive(Clone, Debug)]
pub struct Recall<M = Message> {
    messages: Vec<M>,
    asides: Vec<Aside>,
    vocabulary: ToolVocabulary,
    words: WordIndex,
    pairing: Pairing,
    /// The messages from which each turn starts, numbered as in a digest.
    prompts: Vec<usize>,
    /// True after a command to the host until something follows: it is no turn then.
    is_void: bool,
    /// The messages from here on are in the model's context.
    first_visible: usize,
}

impl<'a> Recall<&'a Message> {
    /// Indexes the messages of a session.
    pub fn new(messages: &'a [Message], vocabulary: ToolVocabulary) -> Self {
        let mut recall = Self::empty(vocabulary);
        for message in messages {
            recall.push(message);
        }
        recall
    }
}

impl<M: Borrow<Message>> Recall<M> {
    /// Creates an index without messages.
    pub fn empty(vocabulary: ToolVocabulary) -> Self {
        Self {
            messages: Vec::new(),
            asides: Vec::new(),
            vocabulary,
            words: WordIndex::default(),
            pairing: Pairing::default(),
            prompts: Vec::new(),
            is_void: false,
            first_visible: 0,
        }
    }

    /// Adds the next message.
    pub fn push(&mut self, message: M) {
        let said = message.borrow();
        self.pairing.push(said);
        if let Some(words) = words_of_turn(said) {
            self.begin_turn(&words);
        } else if matches!(said, Message::Assistant { .. } | Message::BashExecution { .. }) {
            self.is_void = false;
        }
        let is_answer_of_ours = matches!(said, Message::ToolResult { tool_name, .. } if is_recall(tool_name));
        let is_searched = is_said(said) && !is_answer_of_ours;
        self.messages.push(message);
        let at = self.messages.len() - 1;
        // A result is also found by the call that it answers.
        let call = self.call_of(at).filter(|_| is_searched).map(|call| call.label(&self.vocabulary));
        let text = if is_searched { body(self.messages[at].borrow()) } else { Cow::Borrowed("") };
        self.words.push([text.as_ref(), call.as_ref().map_or("", Untrusted::inspect)]);
    }

    /// Adds words of the user that no message has, said before the next message.
    pub fn push_aside(&mut self, words: impl Into<String>) {
        let words = words.into();
        if request_words(&Message::user(words.as_str())).is_some() {
            self.begin_turn(&words);
            self.asides.push(Aside { n_before: self.messages.len(), words });
        }
    }

    fn begin_turn(&mut self, words: &str) {
        self.prompts.pop_if(|_| self.is_void);
        self.prompts.push(self.messages.len());
        self.is_void = is_bare_command(words);
    }

    /// Sets the number of the first message that the model still sees; those before are answered
    /// first. It is 0 at first.
    #[must_use]
    pub fn visible_from(self, message: usize) -> Self {
        Self { first_visible: message, ..self }
    }

    /// Returns the number of the first message that the model still sees.
    pub fn first_visible(&self) -> usize {
        self.first_visible
    }

    /// Returns the messages, in order of their numbers.
    pub fn messages(&self) -> &[M] {
        &self.messages
    }

    /// Returns the message of a number.
    pub fn message_of_number(&self, number: usize) -> Option<&Message> {
        self.messages.get(number).map(Borrow::borrow)
    }

    /// Returns the number of each message of a context; none for what a compaction wrote.
    pub fn numbers_of(&self, context: &[Message]) -> Vec<Option<usize>> {
        numbers_of(context, &self.messages)
    }

    /// Returns the number of messages.
    pub fn len(&self) -> usize {
        self.messages.len()
    }

    /// Returns whether there are no messages.
    pub fn is_empty(&self) -> bool {
        self.messages.is_empty()
    }

    /// Returns the bytes that the index takes in addition to the messages.
    pub fn index_bytes(&self) -> usize {
        self.words.n_bytes()
    }

    /// Answers a question.
    pub fn answer(&self, question: &Question) -> Answer {
        let mut max_bytes = TokenHeuristic::DEFAULT.chars_within(question.max_tokens);
        loop {
            let answer = self.answer_within(question, max_bytes);
            let tokens = estimate_text(&answer.to_string());
            if tokens <= question.max_tokens || max_bytes < LEAST_BYTES {
                return answer;
            }
            // Headings were longer than reckoned.
            max_bytes -= max_bytes / 8;
        }
    }

    fn answer_within(&self, question: &Question, max_bytes: usize) -> Answer {
        let answer = match &question.subject {
            Subject::Words(text) => self.by_words(text.trim(), max_bytes),
            Subject::Message(at) => self.message(*at, question.from_line, max_bytes),
            Subject::File(path) => self.file(path, question.from_line, max_bytes),
            Subject::Command(text) => self.command(text, question.from_line, max_bytes),
            Subject::Turn(turn) => self.turn(*turn, max_bytes),
        };
        Answer { n_messages: self.len(), ..answer }
    }

    /// Answers a call of the tool in text, with credentials marked.
    pub fn call(&self, arguments: &Value) -> Result<String, QuestionError> {
        Ok(self.answer(&Question::from_arguments(arguments)?).redacted().to_string())
    }

    fn by_words(&self, text: &str, max_bytes: usize) -> Answer {
        let words = words_of(text);
        let (matches, weights) = self.words.matches(&words);
        let finder = Finder::new(text);
        let ranked = self.ranked(matches, &finder);
        let wanted = Wanted { words: &words, weights: &weights, exact: Some(&finder) };
        let asides = self.asides_with(&wanted, max_bytes / ASIDES_SHARE);
        if asides.is_empty() && ranked.is_empty() {
            return self.by_part(text, max_bytes);
        }
        let left = if asides.is_empty() { max_bytes } else { max_bytes - max_bytes / ASIDES_SHARE };
        let mut answer = self.excerpts(&ranked, &wanted, left);
        answer.excerpts.splice(0..0, asides);
        answer
    }

    /// Quotes what the user said outside of messages, newest first.
    fn asides_with(&self, wanted: &Wanted<'_>, max_bytes: usize) -> Vec<Excerpt> {
        let answers = |aside: &&Aside| wanted.exact.is_some_and(|text| has_answer(aside, text, wanted.words));
        let newest = self.asides.iter().rev().filter(answers).take(MOST_ASIDES);
        let room = (max_bytes / MOST_ASIDES).saturating_sub(HEADING_BYTES / 2);
        let turn = |aside: &Aside| self.prompts.partition_point(|start| *start < aside.n_before) + 1;
        newest.map(|aside| quoted_aside(aside, turn(aside), wanted, room)).collect()
    }

    /// Returns the matching messages, best first: the newest with the exact words, then those with
    /// the best score; messages that the model sees come last.
    fn ranked(&self, mut matches: Vec<Match>, exact: &Finder<'_>) -> Vec<usize> {
        let n = self.len().max(1) as f32;
        for it in &mut matches {
            let newer = 1.0 + 0.25 * it.message as f32 / n;
            it.score *= newer * self.worth(it.message);
        }
        let newest = self.newest_exact(&matches, exact);
        let is_visible = |at: usize| at >= self.first_visible;
        matches.sort_by(|one, two| {
            let order = is_visible(one.message).cmp(&is_visible(two.message));
            let order = order.then(two.has_all.cmp(&one.has_all));
            order.then(two.score.total_cmp(&one.score)).then(two.message.cmp(&one.message))
        });
        let rest = matches.iter().map(|it| it.message).filter(|at| Some(*at) != newest);
        newest.into_iter().chain(rest).collect()
    }

    /// Returns the worth of a match by its author: the user's words are the best answer, a mere
    /// call is less than its result.
    fn worth(&self, at: usize) -> f32 {
        let message = self.message_at(at);
        match Author::from_message(message) {
            Author::User => 1.5,
            Author::Agent if !message.blocks().iter().any(|block| block.as_text().is_some()) => 0.6,
            _ => 1.0,
        }
    }

    /// Returns the newest message with exactly these words, of those that the model does not see
    /// if there are any.
    fn newest_exact(&self, matches: &[Match], exact: &Finder<'_>) -> Option<usize> {
        let mut left = EXACT_BYTES;
        let mut has_exact = |it: &&Match| {
            if !it.has_all || left == 0 {
                return false;
            }
            let text = body(self.message_at(it.message));
            left = left.saturating_sub(text.len());
            exact.find(text.as_bytes()).is_some()
        };
        let n_folded = matches.partition_point(|it| it.message < self.first_visible);
        let (folded, visible) = matches.split_at(n_folded);
        let newest = folded.iter().rfind(&mut has_exact).or_else(|| visible.iter().rfind(&mut has_exact));
        newest.map(|it| it.message)
    }

    /// Finds a part of a word, whose hash no index has.
    fn by_part(&self, text: &str, max_bytes: usize) -> Answer {
        let part = text.to_lowercase();
        let finder = Finder::new(&part);
        let has = |at: &usize| {
            let message = self.message_at(*at);
            is_said(message) && finder.find(body(message).to_lowercase().as_bytes()).is_some()
        };
        let is_any = part.chars().any(char::is_alphanumeric);
        let found: Vec<usize> =
            (0..self.len()).rev().filter(|_| is_any).filter(has).take(MOST_FOUND * 4).collect();
        if found.is_empty() {
            let note = "Nothing found. Try fewer or other words, or a name as it was written.";
            return Answer { note: Some(note.to_owned()), ..Answer::default() };
        }
        let exact = Finder::new(text);
        self.excerpts(&found, &Wanted { words: &[], weights: &[], exact: Some(&exact) }, max_bytes)
    }

    fn excerpts(&self, ranked: &[usize], wanted: &Wanted<'_>, max_bytes: usize) -> Answer {
        let mut answer = Answer::default();
        let mut left = max_bytes;
        for at in ranked {
            let n_more = MOST_FOUND.saturating_sub(answer.excerpts.len()).min(ranked.len());
            if n_more == 0 || left < HEADING_BYTES + LEAST_BYTES.min(max_bytes / 2) {
                answer.others.push(*at);
                continue;
            }
            let text = body(self.message_at(*at));
            let room = (left / n_more.min(3)).max(LEAST_BYTES).min(left) - HEADING_BYTES.min(left / 2);
            let lines = excerpt(&text, wanted, room);
            if let Some(same) = answer.excerpts.iter_mut().find(|found| has_same_lines(&found.lines, &lines))
            {
                same.same.push(*at);
                continue;
            }
            left = left.saturating_sub(HEADING_BYTES + n_bytes(&lines));
            answer.excerpts.push(self.excerpt(*at, &text, lines));
        }
        answer
    }

    fn message(&self, at: usize, from_line: usize, max_bytes: usize) -> Answer {
        let Some(message) = self.messages.get(at).map(Borrow::borrow) else {
            let last = self.len().saturating_sub(1);
            let note = format!("There is no message {at}; the last one is #{last}.");
            return Answer { note: Some(note), ..Answer::default() };
        };
        let text = body(message);
        let lines = lines_from(&text, from_line, max_bytes.saturating_sub(HEADING_BYTES));
        let found = self.excerpt(at, &text, lines);
        let note = match found.n_lines {
            last if from_line > last => Some(format!("Message {at} ends at line {last}.")),
            _ => rest(&found, &format!("message {at}"), from_line),
        };
        Answer { excerpts: vec![found], note, ..Answer::default() }
    }

    /// Answers with the file as it was last read whole or written, and its newest changes since;
    /// without that, with the newest parts that were read or changed.
    fn file(&self, path: &str, from_line: usize, max_bytes: usize) -> Answer {
        let path = normal_path(path);
        let mut parts = Vec::new();
        let mut whole = None;
        for call in self.answered().rev() {
            let Some(touch) = file_touched(&call, &path, &self.vocabulary) else { continue };
            let result = self.message_at(call.result);
            if is_recall(call.name) || call.failed(result) {
                continue;
            }
            whole = self.content(&call);
            if whole.is_some() {
                break;
            }
            parts.push(if touch == Touch::Changed { call.call } else { call.result });
        }
        let named = one_line(&path, NOTE_CHARS);
        let (shown, others) = parts.split_at(parts.len().min(MOST_PARTS));
        // From a later line on, only the file is asked for.
        let shown = if from_line > 1 && whole.is_some() { &[][..] } else { shown };
        let room = max_bytes.saturating_sub(HEADING_BYTES * (shown.len() + 1));
        let for_parts = room / (if whole.is_some() { 3 } else { 1 }) / shown.len().max(1);
        let mut found = Vec::new();
        let note;
        if let Some((at, label, text)) = &whole {
            let lines = lines_from(text, from_line, room.saturating_sub(for_parts * shown.len()));
            let file = Excerpt { call: Some(label.clone()), ..self.excerpt(*at, text, lines) };
            note = rest(&file, &format!("file {named}"), from_line);
            found.push(file);
        } else if shown.is_empty() {
            return self.mentions(&path, &named, max_bytes);
        } else {
            note =
                Some(format!("No message has the whole of {named}: these are its newest parts and changes."));
        }
        for at in shown {
            let text = body(self.message_at(*at));
            found.push(self.excerpt(*at, &text, lines_from(&text, 1, for_parts)));
        }
        Answer { excerpts: found, note, others: others.to_vec(), ..Answer::default() }
    }

    /// Returns the message that has the whole of a file, the call, and the content.
    fn content<'m>(&'m self, call: &Answered<'m>) -> Option<(usize, Untrusted, Cow<'m, str>)> {
        let is_whole = !self.vocabulary.is_partial_read(call.input);
        let (at, text) = match self.vocabulary.call_role(call.name, call.input) {
            Some(ToolRole::Read) if is_whole => (call.result, body(self.message_at(call.result))),
            Some(ToolRole::Write) => (call.call, written(call.input)?),
            _ => return None,
        };
        Some((at, call.label(&self.vocabulary), text))
    }

    /// Answers with messages that name a file which no call reads or changes.
    fn mentions(&self, path: &str, named: &str, max_bytes: usize) -> Answer {
        let words = words_of(path);
        let (matches, weights) = self.words.matches(&words);
        let exact = Finder::new(path);
        let note = Some(format!("No call reads or changes {named}."));
        let Some(newest) = self.newest_exact(&matches, &exact) else {
            return Answer { note, ..Answer::default() };
        };
        let wanted = Wanted { words: &words, weights: &weights, exact: Some(&exact) };
        Answer { note, ..self.excerpts(&[newest], &wanted, max_bytes) }
    }

    fn command(&self, text: &str, from_line: usize, max_bytes: usize) -> Answer {
        let wanted: Vec<&str> = text.split_whitespace().collect();
        let has_all = |command: &str| wanted.iter().all(|word| command.contains(word));
        let runs = self.answered().rev().filter(|call| call.command().is_some_and(|it| has_all(&it)));
        let by_user = (0..self.len()).rev().filter(
            |at| matches!(self.message_at(*at), Message::BashExecution { command, .. } if has_all(command)),
        );
        let mut runs: Vec<usize> = runs.map(|call| call.result).chain(by_user).collect();
        runs.sort_unstable_by(|one, two| two.cmp(one));
        let Some((newest, earlier)) = runs.split_first() else {
            let note = format!("No command has these words: {}", one_line(text, NOTE_CHARS));
            return Answer { note: Some(note), ..Answer::default() };
        };
        let answer = self.message(*newest, from_line, max_bytes);
        Answer { others: earlier.to_vec(), ..answer }
    }

    /// Answers with the user's words of a turn and a line for each message.
    fn turn(&self, turn: usize, max_bytes: usize) -> Answer {
        let Some(start) = turn.checked_sub(1).and_then(|nth| self.prompts.get(nth)) else {
            let there = match self.prompts.len() {
                1 => "there is 1 turn".to_owned(),
                n => format!("there are {n} turns"),
            };
            let note = format!("There is no turn {turn}; {there}.");
            return Answer { note: Some(note), ..Answer::default() };
        };
        let end = self.prompts.get(turn).copied().unwrap_or(self.len());
        let n_before = self.prompts[..turn - 1].iter().rev().take_while(|it| *it == start).count();
        let aside = self.asides.iter().filter(|aside| aside.n_before == *start).nth(n_before);
        let (answer, listed) = match aside {
            Some(aside) => {
                let excerpt = quoted_aside(aside, turn, &Wanted::default(), max_bytes / 2);
                (Answer { excerpts: vec![excerpt], ..Answer::default() }, *start..end)
            }
            None => (self.message(*start, 1, max_bytes / 2), start + 1..end),
        };
        if *start == end {
            return Answer { note: Some(format!("Turn {turn} has no messages.")), ..answer };
        }
        let mut left = max_bytes / 2;
        // Writing to a string cannot fail.
        let mut outline = format!("Turn {turn} has messages #{start} to #{}:", end - 1);
        for at in listed {
            let line = outline::line(self.message_at(at));
            let Some(rest) = left.checked_sub(line.len() + 8) else {
                let _ = write!(outline, "\n   … {} more", end - at);
                break;
            };
            left = rest;
            let _ = write!(outline, "\n{at:>6}| {line}");
        }
        Answer { note: Some(outline), ..answer }
    }

    fn excerpt(&self, at: usize, text: &str, lines: NumberedLines) -> Excerpt {
        let message = self.message_at(at);
        let call = self.call_of(at);
        let outcome = match message {
            Message::BashExecution { command, output, exit_code } => {
                Some(shell_outcome(command, output, *exit_code))
            }
            _ => call.and_then(|call| call.outcome(message)),
        };
        Excerpt {
            message: at,
            turn: self.prompts.partition_point(|start| *start <= at),
            author: Author::from_message(message),
            call: call.map(|call| call.label(&self.vocabulary)),
            outcome,
            later: self.later(at),
            same: Vec::new(),
            lines,
            n_lines: n_lines(text),
        }
    }

    /// Returns the newest changes of the file that a message shows, or runs of its command.
    fn later(&self, at: usize) -> Vec<LaterEvent> {
        let subject = self.call_of(at).or_else(|| self.first_call_in(at));
        let Some(subject) = subject.and_then(|call| CallSubject::from_call(&call, &self.vocabulary)) else {
            return Vec::new();
        };
        let mut later: Vec<LaterEvent> = Vec::new();
        for call in self.answered().rev().take_while(|call| call.call > at) {
            if let Some(new) = subject.overtaken_by(&call, &self.messages, &self.vocabulary) {
                let n = later.iter().filter(|known| known.as_str() == new.as_str()).count();
                if n < MOST_LATER {
                    later.push(new);
                }
            }
        }
        later
    }

    /// Returns the answered calls in order of their results.
    fn answered(&self) -> impl DoubleEndedIterator<Item = Answered<'_>> {
        let pairs = self.pairing.pairs().iter().filter(|pair| !pair.repeated);
        pairs.filter_map(|pair| Answered::new(&self.messages, pair.call, pair.result))
    }

    /// Returns the call that a message answers.
    fn call_of(&self, at: usize) -> Option<Answered<'_>> {
        let pairs = self.pairing.pairs();
        let first = pairs.partition_point(|pair| (pair.result as usize) < at);
        let pair = pairs.get(first).filter(|pair| pair.result as usize == at)?;
        Answered::new(&self.messages, pair.call, pair.result)
    }

    /// Returns the first call that a message makes, if it was answered.
    fn first_call_in(&self, at: usize) -> Option<Answered<'_>> {
        let pairs = self.pairing.pairs();
        let first = pairs.partition_point(|pair| pair.result as usize <= at);
        let pair = pairs[first..].iter().find(|pair| pair.call.message as usize == at)?;
        Answered::new(&self.messages, pair.call, pair.result)
    }

    fn message_at(&self, at: usize) -> &Message {
        self.messages[at].borrow()
    }
}

/// Returns the user's words that begin a turn: a request, or the reason of a refusal.
fn words_of_turn(message: &Message) -> Option<String> {
    let Message::ToolResult { tool_name, is_refusal, .. } = message else { return request_words(message) };
    let is_answer = *is_refusal || asks_the_user(tool_name) || proposes_a_plan(tool_name);
    is_answer.then(|| rejected_words(&body(message)).map(str::to_owned)).flatten()
}

/// Returns the text that a call writes to a file.
fn written(input: &Value) -> Option<Cow<'_, str>> {
    let of = |key: &&str| wb_message::tools::field(input, key)?.as_str();
    ["content", "contents", "file_text", "text"].iter().find_map(of).map(Cow::Borrowed)
}

fn has_same_lines(one: &NumberedLines, other: &NumberedLines) -> bool {
    let texts = |lines| <&NumberedLines as IntoIterator>::into_iter(lines).map(|(_, line)| line);
    one.len() == other.len() && texts(one).eq(texts(other))
}

/// Returns how to get the lines that an excerpt leaves out.
fn rest(found: &Excerpt, of: &str, from_line: usize) -> Option<String> {
    match found.lines.last() {
        Some((last, _)) if *last < found.n_lines => Some(format!("More: {of}, line {}.", last + 1)),
        None if from_line > found.n_lines => {
            Some(format!("There is no line {from_line}: the last one of {of} is {}.", found.n_lines))
        }
        _ => None,
    }
}
