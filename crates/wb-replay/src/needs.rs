//! The names that the steps after a place need from before it.

use std::collections::{HashMap, HashSet};

use wb_message::Message;

use crate::message_text::{each_text, size, texts};
use crate::names::{entities, is_space};

/// The number of characters of a line that are searched.
const LINE_CHARS: usize = 2000;

/// A name that a later tool call uses, with the last line of the history that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Need<'a> {
    /// The name.
    pub name: &'a str,
    /// The line, trimmed.
    pub line: &'a str,
}

/// An index of the names in a transcript: their messages and lines, and the calls that use them.
#[derive(Debug, Default)]
pub struct Names {
    bodies: Vec<String>,
    sizes: Vec<f64>,
    /// Every name once; its index is its id.
    all: Vec<Box<str>>,
    /// The messages that contain each name, ascending, with the last line in each.
    held: Vec<Vec<Place>>,
    /// The names in each message.
    mentioned: Vec<Vec<u32>>,
    /// The names in the call arguments of each message.
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
    pub fn new(messages: &[Message]) -> Self {
        let mut names = Self::default();
        let mut ids = HashMap::new();
        for (at, message) in messages.iter().enumerate() {
            let body = texts(message);
            let mentioned = names.add_body(at, &body, &mut ids);
            names.mentioned.push(mentioned);
            let mut arguments = Vec::new();
            message.calls().for_each(|(_, _, input)| each_text(input, &mut |text| arguments.push(text)));
            let used = names.ids(arguments.into_iter().flat_map(entities), &mut ids);
            names.used.push(used);
            names.bodies.push(body);
            names.sizes.push(size(message));
        }
        names
    }

    /// Returns the names from the first `cut` messages that tool calls in the next `n_future`
    /// messages use, without those mentioned again after the cut before their use.
    pub fn needs(&self, cut: usize, n_future: usize) -> Vec<Need<'_>> {
        let (mut needs, mut fresh, mut known) = (Vec::new(), HashSet::<u32>::new(), HashSet::new());
        for at in cut..cut.saturating_add(n_future).min(self.bodies.len()) {
            for id in &self.used[at] {
                if !fresh.contains(id) && known.insert(*id) {
                    needs.extend(self.need(*id, cut));
                }
            }
            fresh.extend(&self.mentioned[at]);
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

    /// Adds the lines of a message that contain names, and returns all its names; none spans lines.
    fn add_body(&mut self, message: usize, body: &str, ids: &mut HashMap<Box<str>, u32>) -> Vec<u32> {
        let (mut start, mut found) = (0, Vec::new());
        for line in body.split('\n') {
            let place = Place { message, start, end: start + line.len() };
            let visible = first_chars(line);
            let held = self.ids(entities(visible), ids);
            for id in &held {
                let places = &mut self.held[*id as usize];
                match places.last_mut() {
                    Some(last) if last.message == message => *last = place,
                    _ => places.push(place),
                }
            }
            found.extend(if visible.len() < line.len() { self.ids(entities(line), ids) } else { held });
            start = place.end + 1;
        }
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Returns the sorted ids of names, each once; a new name gets the next id.
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
        let names = Names::new(messages);
        let needs = names.needs(cut, 40);
        needs.iter().map(|need| (need.name.to_owned(), need.line.to_owned())).collect()
    }

    #[test]
    fn a_later_used_name_is_needed_with_its_last_line() {
        let messages = [
            Message::user("Look at src/parser.rs."),
            Message::assistant("  In src/parser.rs, parseHeader is wrong.\nI fix it."),
            call(json!({"command": "vim src/parser.rs other/file.rs"})),
        ];
        let line = "In src/parser.rs, parseHeader is wrong.";
        assert_eq!(needed(&messages, 2), [("src/parser.rs".to_owned(), line.to_owned())]);
        assert_eq!(needed(&messages, 1), [], "the message after the cut repeats it");
        assert_eq!(needed(&messages, 0), [], "nothing was before");
    }

    #[test]
    fn a_name_mentioned_again_before_its_use_is_not_needed() {
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
    fn only_the_next_n_messages_count() {
        let mut messages = vec![Message::user("src/parser.rs")];
        messages.extend((0..3).map(|_| Message::assistant("Well.")));
        messages.push(call(json!({"path": "src/parser.rs"})));
        let names = Names::new(&messages);
        assert_eq!((names.needs(1, 3).len(), names.needs(1, 4).len()), (0, 1));
    }

    #[test]
    fn names_beyond_the_searched_part_of_a_line_are_not_held() {
        let messages = [
            Message::user(format!("{} src/parser.rs", "ä ".repeat(1000))),
            call(json!({"a": "src/parser.rs"})),
        ];
        assert_eq!(needed(&messages, 1), []);
    }

    #[test]
    fn names_are_mentioned_anywhere_in_a_line() {
        let long = format!("{} src/lexer.rs\nsrc/parser.rs", "ä ".repeat(1000));
        let names = Names::new(&[Message::user(long.as_str())]);
        let mut found: Vec<&str> = names.mentioned[0].iter().map(|id| &*names.all[*id as usize]).collect();
        found.sort_unstable();
        assert_eq!(found, entities(&long).collect::<Vec<_>>());
    }
}
