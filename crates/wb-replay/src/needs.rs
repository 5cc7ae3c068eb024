//! What the steps after a place needed of what stood before it.

use std::collections::{HashMap, HashSet};

use wb_message::Message;

use crate::message_text::{each_text, size, texts};
use crate::names::{entities, is_space};

/// A line is looked at up to this many characters.
const LINE_CHARS: usize = 2000;

/// A name that a later tool call used, and the last line of the history that holds it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need<'a> {
    /// The name.
    pub name: &'a str,
    /// The line, without blanks around it.
    pub line: &'a str,
}

/// The names in a transcript, found once: which message holds each in which line, and which calls use it.
#[derive(Debug, Default)]
pub struct Names {
    bodies: Vec<String>,
    sizes: Vec<f64>,
    /// Every name once; its place is its number.
    all: Vec<Box<str>>,
    /// For each name the messages that hold it, each with its last line there, ascending.
    held: Vec<Vec<Place>>,
    /// For each message the names that it says.
    said: Vec<Vec<u32>>,
    /// For each message the names in the texts of its tool calls' arguments.
    used: Vec<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    message: usize,
    start: usize,
    end: usize,
}

impl Names {
    /// Finds the names in a transcript.
    pub fn of(messages: &[Message]) -> Self {
        let mut names = Self::default();
        let mut ids = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            let body = texts(message);
            let said = names.hold(at, &body, &mut ids);
            names.said.push(said);
            let mut arguments = Vec::new();
            message.calls().for_each(|(_, _, input)| each_text(input, &mut |text| arguments.push(text)));
            let used = names.ids(arguments.into_iter().flat_map(entities), &mut ids);
            names.used.push(used);
            names.bodies.push(body);
            names.sizes.push(size(message));
        }
        names
    }

    /// Returns the names that the tool calls of the next `n_future` messages use and the first `cut` messages hold,
    /// without those that came up again after the cut before they were used.
    pub fn needs(&self, cut: usize, n_future: usize) -> Vec<Need<'_>> {
        let (mut needs, mut fresh, mut known) = (Vec::new(), HashSet::<u32>::new(), HashSet::new());
        for at in cut..cut.saturating_add(n_future).min(self.bodies.len()) {
            for id in &self.used[at] {
                if !fresh.contains(id) && known.insert(*id) {
                    needs.extend(self.need(*id, cut));
                }
            }
            fresh.extend(&self.said[at]);
        }
        needs
    }

    /// Returns the size of each message; see [`crate::size`].
    pub fn sizes(&self) -> Vec<f64> {
        self.sizes.clone()
    }

    fn need(&self, id: u32, cut: usize) -> Option<Need<'_>> {
        let id = id as usize;
        let places = &self.held[id];
        let last = places[..places.partition_point(|place| place.message < cut)].last()?;
        let line = self.bodies[last.message][last.start..last.end].trim_matches(is_space);
        Some(Need { name: &self.all[id], line })
    }

    /// Notes which lines of a message hold which names, and returns which names it says; none goes over a line's end.
    fn hold(&mut self, message: usize, body: &str, ids: &mut HashMap<Box<str>, u32>) -> Vec<u32> {
        let (mut start, mut said) = (0, Vec::new());
        for line in body.split('\n') {
            let place = Place { message, start, end: start + line.len() };
            let looked_at = first_chars(line);
            let held = self.ids(entities(looked_at), ids);
            for id in &held {
                let places = &mut self.held[*id as usize];
                match places.last_mut() {
                    Some(last) if last.message == message => *last = place,
                    _ => places.push(place),
                }
            }
            said.extend(if looked_at.len() < line.len() { self.ids(entities(line), ids) } else { held });
            start = place.end + 1;
        }
        said.sort_unstable();
        said.dedup();
        said
    }

    /// Returns the numbers of names, each once; a new name gets the next number.
    fn ids<'t>(
        &mut self,
        found: impl Iterator<Item = &'t str>,
        ids: &mut HashMap<Box<str>, u32>,
    ) -> Vec<u32> {
        let mut all: Vec<u32> = found.map(|name| self.id(name, ids)).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn id(&mut self, name: &str, ids: &mut HashMap<Box<str>, u32>) -> u32 {
        if let Some(id) = ids.get(name) {
            return *id;
        }
        let id = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        ids.insert(name.into(), id);
        self.all.push(name.into());
        self.held.push(Vec::new());
        id
    }
}

fn first_chars(line: &str) -> &str {
    line.char_indices().nth(LINE_CHARS).map_or(line, |(end, _)| &line[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;
    use wb_message::Block;

    fn call(input: serde_json::Value) -> Message {
        Message::assistant_blocks(vec![Block::call("c", "Bash", input)])
    }

    fn needed(messages: &[Message], cut: usize) -> Vec<(String, String)> {
        let names = Names::of(messages);
        let needs = names.needs(cut, 40);
        needs.iter().map(|need| (need.name.to_owned(), need.line.to_owned())).collect()
    }

    #[test]
    fn a_name_that_a_later_call_uses_is_needed_with_the_last_line_that_holds_it() {
        let messages = [
            Message::user("Look at src/parser.rs."),
            Message::assistant("  In src/parser.rs, parseHeader is wrong.\nI fix it."),
            call(json!({"command": "vim src/parser.rs other/file.rs"})),
        ];
        let line = "In src/parser.rs, parseHeader is wrong.";
        assert_eq!(needed(&messages, 2), [("src/parser.rs".to_owned(), line.to_owned())]);
        assert_eq!(needed(&messages, 1), [], "the message after the cut says it anew");
        assert_eq!(needed(&messages, 0), [], "nothing was before");
    }

    #[test]
    fn a_name_that_came_up_again_before_it_was_used_is_not_needed() {
        let messages = [
            Message::user("src/parser.rs and src/lexer.rs"),
            Message::tool_result("c", "Grep", "src/parser.rs: 3 matches"),
            call(json!({"path": "src/parser.rs"})),
            call(json!({"path": "src/lexer.rs"})),
            call(json!({"path": "src/lexer.rs"})),
        ];
        let names: Vec<String> = needed(&messages, 1).into_iter().map(|(name, _)| name).collect();
        assert_eq!(names, ["src/lexer.rs"]);
    }

    #[test]
    fn only_so_many_messages_after_the_cut_count() {
        let mut messages = vec![Message::user("src/parser.rs")];
        messages.extend((0..3).map(|_| Message::assistant("Well.")));
        messages.push(call(json!({"path": "src/parser.rs"})));
        let names = Names::of(&messages);
        assert_eq!((names.needs(1, 3).len(), names.needs(1, 4).len()), (0, 1));
    }

    #[test]
    fn a_name_behind_the_first_characters_of_a_line_is_not_held() {
        let messages = [
            Message::user(format!("{} src/parser.rs", "ä ".repeat(1000))),
            call(json!({"a": "src/parser.rs"})),
        ];
        assert_eq!(needed(&messages, 1), []);
    }

    #[test]
    fn a_name_is_said_wherever_in_a_line_it_stands() {
        let long = format!("{} src/lexer.rs\nsrc/parser.rs", "ä ".repeat(1000));
        let names = Names::of(&[Message::user(long.as_str())]);
        let mut said: Vec<&str> = names.said[0].iter().map(|id| &*names.all[*id as usize]).collect();
        said.sort_unstable();
        assert_eq!(said, entities(&long).collect::<Vec<_>>());
    }
}
