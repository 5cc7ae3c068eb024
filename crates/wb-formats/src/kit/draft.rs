//! Messages assembled record by record, each with its source records.

use std::collections::{HashMap, HashSet};

use wb_budget::Usage;
use wb_message::{Block, Message};
use wb_record::{Place, Provenance, Segment, Span, UsageAt};

/// The messages so far.
#[derive(Debug, Default)]
pub(crate) struct Draft {
    messages: Vec<Message>,
    places: Vec<Vec<Place>>,
    usage: Vec<UsageAt>,
    calls: Calls,
    /// Positions that wait for the first message.
    waiting: Vec<Place>,
    n_orphans: usize,
    /// The ids of calls whose result may precede them.
    early: HashSet<String>,
}

/// The names of the tools that were called, by the id of the call, each with the message of the
/// call.
#[derive(Debug, Default)]
struct Calls(HashMap<String, (usize, String)>);

impl Calls {
    /// Notes a call; if several in one message share an id, a result answers the first.
    fn note(&mut self, at: usize, id: &str, name: &str) {
        if self.0.get(id).is_none_or(|(last, _)| *last != at) {
            self.0.insert(id.to_owned(), (at, name.to_owned()));
        }
    }

    fn name_of(&self, id: &str) -> Option<String> {
        self.0.get(id).map(|(_, name)| name.clone())
    }
}

impl Draft {
    /// Starts a draft in which results of calls with these ids may precede them.
    pub(crate) fn with_early(early: HashSet<String>) -> Self {
        Self { early, ..Self::default() }
    }

    /// Returns whether there is a call with an id.
    pub(crate) fn is_called(&self, id: &str) -> bool {
        self.calls.0.contains_key(id)
    }

    /// Adds a message of one record.
    pub(crate) fn add(&mut self, record: Span, message: Message) {
        for (id, name, _) in message.calls() {
            self.calls.note(self.messages.len(), id, name);
        }
        let place = Place::whole(record, &message);
        self.messages.push(message);
        self.places.push(std::mem::take(&mut self.waiting).into_iter().chain([place]).collect());
    }

    /// Adds a message without a position, which the host writes each time.
    pub(crate) fn add_apart(&mut self, message: Message) {
        self.messages.push(message);
        self.places.push(Vec::new());
    }

    /// Adds a part to the answer before it, or begins one.
    pub(crate) fn answer(&mut self, record: Span, blocks: Vec<Block>) {
        let at = self.messages.len().saturating_sub(1);
        let (Some(Message::Assistant { content, .. }), Some(places)) =
            (self.messages.last_mut(), self.places.last_mut())
        else {
            return self.begin_answer(record, blocks);
        };
        for block in &blocks {
            if let Block::ToolCall { id, name, .. } = block {
                self.calls.note(at, id, name);
            }
        }
        places.push(place(record, content.len(), blocks.len()));
        content.extend(blocks);
    }

    /// Begins an answer, which may have no blocks yet.
    fn begin_answer(&mut self, record: Span, blocks: Vec<Block>) {
        let n_blocks = blocks.len();
        self.add(record, Message::assistant_blocks(blocks));
        if let Some(place) = self.places.last_mut().and_then(|places| places.last_mut()) {
            place.blocks = 0..n_blocks;
        }
    }

    /// Adds the result of a call. One that no call precedes is left out and counted, unless its
    /// call is known to come later.
    pub(crate) fn result(&mut self, record: Span, call_id: String, content: Vec<Block>, is_error: bool) {
        match self.calls.name_of(&call_id) {
            Some(tool_name) => {
                self.add(
                    record,
                    Message::ToolResult {
                        tool_call_id: call_id,
                        tool_name,
                        content,
                        is_error,
                        is_refusal: false,
                    },
                );
            }
            None if self.early.contains(&call_id) => self.any_result(record, call_id, content, is_error),
            None => self.n_orphans += 1,
        }
    }

    /// Adds the result of a call, also one without a call.
    pub(crate) fn any_result(&mut self, record: Span, call_id: String, content: Vec<Block>, is_error: bool) {
        let tool_name = self.calls.name_of(&call_id).unwrap_or_default();
        self.add(
            record,
            Message::ToolResult { tool_call_id: call_id, tool_name, content, is_error, is_refusal: false },
        );
    }

    /// Marks the result that was just added as a refusal of the user, which its host records.
    pub(crate) fn mark_refusal(&mut self) {
        if let Some(Message::ToolResult { is_refusal, .. }) = self.messages.last_mut() {
            *is_refusal = true;
        }
    }

    /// Adds a record that no model sees to the message before it.
    pub(crate) fn hide(&mut self, record: Span) {
        let n_blocks = self.messages.last().map_or(0, |message| message.blocks().len());
        let place = place(record, n_blocks, 0);
        self.places.last_mut().unwrap_or(&mut self.waiting).push(place);
    }

    /// Notes the usage of the request that the last message answers.
    pub(crate) fn count(&mut self, usage: Usage, model: Option<String>) {
        let Some(at) = self.messages.len().checked_sub(1) else { return };
        self.usage.pop_if(|last| last.at == at);
        self.usage.push(UsageAt { at, usage, model });
    }

    /// Returns the messages so far.
    pub(crate) fn messages(&self) -> &[Message] {
        &self.messages
    }

    /// Returns how many results without a call were left out.
    pub(crate) fn n_orphans(&self) -> usize {
        self.n_orphans
    }

    /// Returns the messages with their usage and positions.
    pub(crate) fn finish(self) -> (Segment, Provenance) {
        let mut provenance = Provenance::default();
        for (at, (message, places)) in self.messages.iter().zip(self.places).enumerate() {
            provenance.push(places);
            // The host sends a command and its output in one text.
            if matches!(message, Message::BashExecution { .. }) {
                provenance.fix(at);
            }
        }
        (Segment::new(self.messages, self.usage), provenance)
    }
}

fn place(record: Span, start: usize, n_blocks: usize) -> Place {
    Place { record, blocks: start..start + n_blocks }
}
