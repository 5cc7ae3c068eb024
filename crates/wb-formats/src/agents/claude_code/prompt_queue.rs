//! Prompts that the user typed while the model worked, as far as no other line has them.

use serde_json::Value;

/// The starts of queued texts that are not the user's words: commands, and notices of the host.
const NOT_SAID: [&str; 3] = ["/", "<task-notification>", "{\"task_id\""];

/// A queued prompt that no other line has.
#[derive(Debug)]
pub(crate) struct QueuedPrompt {
    pub(crate) words: String,
    /// Its number, counted from 1, and its offset.
    pub(crate) line: usize,
    pub(crate) start: u64,
    /// The text as lines write it, with its quotes.
    json: String,
    /// Set if the host took it from the queue to show it to the model.
    is_given: bool,
}

/// The queue of prompts, and those that left it without a line of their own.
#[derive(Debug, Default)]
pub(crate) struct PromptQueue {
    prompts: Vec<QueuedPrompt>,
}

impl PromptQueue {
    /// Follows an operation of the host.
    pub(crate) fn follow(&mut self, operation: &str, content: &str, line: usize, start: u64) {
        let mut waiting = self.prompts.iter_mut().filter(|prompt| !prompt.is_given);
        match operation {
            "enqueue" if !content.trim().is_empty() => {
                let (words, json) = (content.to_owned(), Value::from(content).to_string());
                self.prompts.push(QueuedPrompt { words, line, start, json, is_given: false });
            }
            // A line with the prompt follows, which may be another text.
            "dequeue" => {
                let first = self.prompts.iter().position(|prompt| !prompt.is_given);
                first.map(|at| self.prompts.remove(at));
            }
            "remove" => {
                if let Some(first) = waiting.find(|prompt| content.is_empty() || prompt.words == content) {
                    first.is_given = true;
                }
            }
            // The user edits them.
            "popAll" => self.prompts.retain(|prompt| prompt.is_given),
            _ => {}
        }
    }

    /// Forgets the prompts that a line of the user has.
    pub(crate) fn see(&mut self, line: &str) {
        self.prompts.retain(|prompt| !line.contains(&prompt.json));
    }

    /// Returns the prompts that no other line has, in order.
    pub(crate) fn unsaid(&self) -> impl Iterator<Item = &QueuedPrompt> {
        let is_said = |text: &str| !NOT_SAID.iter().any(|start| text.trim_start().starts_with(start));
        self.prompts.iter().filter(move |prompt| is_said(&prompt.words))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unsaid(operations: &[(&str, &str)]) -> Vec<String> {
        let mut queue = PromptQueue::default();
        for (nth, (operation, content)) in operations.iter().enumerate() {
            match *operation {
                "line" => queue.see(&format!("{{\"content\":{}}}", Value::from(*content))),
                operation => queue.follow(operation, content, nth + 1, 0),
            }
        }
        queue.unsaid().map(|prompt| prompt.words.clone()).collect()
    }

    #[test]
    fn a_prompt_that_no_line_has_is_left() {
        let both = [("enqueue", "one"), ("enqueue", "two")];
        let after = |more: &[(&str, &str)]| unsaid(&[&both[..], more].concat());
        assert_eq!(after(&[]), ["one", "two"]);
        assert_eq!(after(&[("remove", ""), ("remove", "two")]), ["one", "two"]);
        assert_eq!(after(&[("dequeue", ""), ("line", "one")]), ["two"]);
        assert_eq!(after(&[("remove", "two"), ("line", "two"), ("popAll", "")]), [""; 0]);
        assert_eq!(after(&[("remove", ""), ("popAll", ""), ("remove", "")]), ["one"]);
        assert_eq!(after(&[("line", "one and two"), ("unheard", "")]), ["one", "two"]);
    }

    #[test]
    fn commands_and_notices_are_not_said() {
        for text in ["/compact", "<task-notification>\n", "{\"task_id\":\"a\"}", "  "] {
            assert_eq!(unsaid(&[("enqueue", text)]), [""; 0], "{text}");
        }
    }
}
