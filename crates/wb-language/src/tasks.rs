//! Follows the list of tasks that an agent keeps with its tools.
//!
//! Some tools replace the whole list, some add or change one task. Of a task that vanishes unfinished from a list that
//! goes on, nobody knows whether it was done; a list that begins anew says nothing of the one before.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use wb_message::pairing::id_key;
use wb_message::text::head;

use crate::plain_words;
use crate::user_text::is_rejection;

/// Tasks kept at most.
pub(crate) const MAX_TASKS: usize = 200;
/// Bytes of the text of a task.
pub(crate) const TASK_BYTES: usize = 400;
/// Bytes of what a tool calls a task.
const ID_BYTES: usize = 80;

/// How far a task has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Nobody has begun it.
    Open,
    /// The agent works on it.
    Active,
    /// It is done.
    Done,
    /// It was called off.
    Cancelled,
    /// It vanished from a list that replaced it; whether it was done nobody knows.
    Dropped,
}

impl TaskState {
    /// The words by which digests tell the states.
    const WORDS: [(Self, &str); 5] = [
        (Self::Open, "pending"),
        (Self::Active, "in_progress"),
        (Self::Done, "completed"),
        (Self::Cancelled, "cancelled"),
        (Self::Dropped, "no longer on the list"),
    ];

    /// Returns the word by which digests tell it.
    pub fn word(self) -> &'static str {
        Self::WORDS.iter().find(|(state, _)| *state == self).map_or("", |(_, word)| word)
    }

    /// Reads the word by which digests tell a state.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
    }

    /// Returns whether the task is still to be done.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Active)
    }

    /// Reads the names that tools give to states; an unknown one is open.
    fn named(name: &str) -> Self {
        match name.trim().to_ascii_lowercase().replace(['-', ' '], "_").as_str() {
            "completed" | "complete" | "done" | "finished" | "closed" | "resolved" | "x" => Self::Done,
            "in_progress" | "inprogress" | "active" | "doing" | "started" | "wip" | "~" => Self::Active,
            "cancelled" | "canceled" | "deleted" | "removed" | "skipped" | "abandoned" => Self::Cancelled,
            _ => Self::Open,
        }
    }
}

/// A task of the list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Task {
    /// What the tool calls it, if it has a name of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// What is to be done, in at most [`TASK_BYTES`] bytes.
    pub text: String,
    /// How far it has come.
    pub state: TaskState,
}

/// The tasks of a transcript, at most [`MAX_TASKS`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tasks {
    #[serde(deserialize_with = "read_bounded")]
    tasks: Vec<Task>,
}

/// Reads tasks as they were written, with the bounds that they have here.
fn read_bounded<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Task>, D::Error> {
    let mut tasks: Vec<Task> = Deserialize::deserialize(from)?;
    tasks.drain(..tasks.len().saturating_sub(MAX_TASKS));
    for task in &mut tasks {
        task.text = bounded(&task.text);
        task.id = task.id.take().map(|id| head(&id, ID_BYTES).to_owned());
    }
    Ok(tasks)
}

impl Tasks {
    /// Takes in a call of any tool and the text of its result; what is no list of tasks changes nothing, and neither
    /// does a call that failed or was rejected. Returns whether it was a call that keeps or shows the list.
    pub fn take_in(&mut self, tool: &str, input: &Value, result: Option<&str>) -> bool {
        if result.is_some_and(has_failed) {
            return false;
        }
        match own_name(tool).as_str() {
            "taskcreate" => self.create(input, result.unwrap_or_default()),
            "taskupdate" => self.update(input),
            "tasklist" => self.read(result.unwrap_or_default()),
            name => {
                let Some(listed) = listed(name, input) else { return false };
                self.replace(listed, input.get("merge").and_then(Value::as_bool).unwrap_or(false));
            }
        }
        true
    }

    /// Returns all tasks, in order.
    pub fn all(&self) -> &[Task] {
        &self.tasks
    }

    fn create(&mut self, input: &Value, result: &str) {
        let Some(text) = text_of(input) else { return };
        let id = result.split_once("Task #").map(|(_, rest)| id_digits(rest)).filter(|id| !id.is_empty());
        // A list that began anew counts from one again.
        let of_before = |task: &&mut Task| task.id.is_some() && task.id.as_deref() == id;
        if let Some(before) = self.tasks.iter_mut().find(of_before) {
            before.id = None;
        }
        let state = state_of(input);
        self.push(Task { id: id.map(str::to_owned), text: bounded(text), state });
    }

    fn update(&mut self, input: &Value) {
        let Some(id) = id_of(input) else { return };
        let found = self.tasks.iter_mut().rfind(|task| task.id.as_ref() == Some(&id));
        if let Some(task) = found {
            if input.get("status").is_some() {
                task.state = state_of(input);
            }
            let subject = input.get("subject").and_then(Value::as_str);
            if let Some(text) = subject.filter(|text| !text.trim().is_empty()) {
                task.text = bounded(text);
            }
        } else if let Some(text) = text_of(input) {
            self.push(Task { id: Some(id), text: bounded(text), state: state_of(input) });
        }
    }

    /// Reads a list as the tool prints it: `#3 [in_progress] Write the parser`.
    fn read(&mut self, result: &str) {
        for line in result.lines() {
            let Some(rest) = line.trim().strip_prefix('#') else { continue };
            let Some((state, text)) = rest.split_once('[').and_then(|(_, rest)| rest.split_once(']')) else {
                continue;
            };
            let (id, text) = (id_digits(rest), text.split(" [blocked by").next().unwrap_or_default().trim());
            if id.is_empty() || text.is_empty() {
                continue;
            }
            let state = TaskState::named(state);
            match self.tasks.iter_mut().rfind(|task| task.id.as_deref() == Some(id)) {
                Some(task) => task.state = state,
                None => self.push(Task { id: Some(id.to_owned()), text: bounded(text), state }),
            }
        }
    }

    /// Puts a list in the place of the one before; one that is merged only changes what it names.
    fn replace(&mut self, listed: Vec<Task>, is_merged: bool) {
        if is_merged {
            self.merge(listed);
            return;
        }
        let new_words: Vec<_> = listed.iter().map(words).collect();
        let mut is_new = vec![true; listed.len()];
        for same in [is_same_text, is_same_id, is_reworded] {
            self.tasks.retain(|task| {
                let old = (task, &words(task));
                let free = |at: &usize| is_new[*at] && same(old, (&listed[*at], &new_words[*at]));
                let found = (0..listed.len()).find(free);
                found.inspect(|at| is_new[*at] = false).is_none()
            });
        }
        if is_new.iter().all(|is_new| *is_new) && !listed.is_empty() {
            self.tasks.clear();
        }
        for task in self.tasks.iter_mut().filter(|task| task.state.is_open()) {
            task.state = TaskState::Dropped;
        }
        for task in listed {
            self.push(task);
        }
    }

    fn merge(&mut self, listed: Vec<Task>) {
        for new in listed {
            let is_same = |task: &Task| task.id.is_some() && task.id == new.id || task.text == new.text;
            match self.tasks.iter_mut().find(|task| is_same(task)) {
                Some(task) => *task = new,
                None => self.push(new),
            }
        }
    }

    /// Adds a task; if there are too many, the oldest that is finished goes, or else the oldest.
    fn push(&mut self, task: Task) {
        if task.text.is_empty() {
            return;
        }
        if self.tasks.len() >= MAX_TASKS {
            let finished = self.tasks.iter().position(|task| !task.state.is_open());
            self.tasks.remove(finished.unwrap_or(0));
        }
        self.tasks.push(task);
    }
}

/// Returns the name of a tool without its server, in small letters and digits alone.
pub(crate) fn own_name(tool: &str) -> String {
    let own = tool.rsplit("__").next().unwrap_or(tool);
    own.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns whether the result of a call tells that it changed nothing.
fn has_failed(result: &str) -> bool {
    const STARTS: [&str; 5] =
        ["<tool_use_error>", "InputValidationError", "Error", "Task not found", "[Error"];
    let result = result.trim_start();
    STARTS.iter().any(|start| result.starts_with(start)) || is_rejection(result)
}

/// Returns the list that a call gives, if the tool keeps one.
fn listed(tool: &str, input: &Value) -> Option<Vec<Task>> {
    const TOOLS: [&str; 14] = [
        "todowrite",
        "writetodos",
        "updateplan",
        "todo",
        "todos",
        "settodolist",
        "todolist",
        "updatetodolist",
        "managetodolist",
        "updatetodo",
        "tasktracker",
        "tasktrackertool",
        "plan",
        "setplan",
    ];
    const KEYS: [&str; 7] = ["todos", "plan", "todoList", "task_list", "todo_list", "tasks", "items"];
    if !TOOLS.contains(&tool) {
        // Any tool may carry a checklist along.
        return input
            .get("task_progress")
            .and_then(Value::as_str)
            .map(checklist)
            .filter(|list| !list.is_empty());
    }
    match KEYS.iter().find_map(|key| input.get(key))? {
        Value::Array(items) => Some(items.iter().filter_map(task_of).take(MAX_TASKS).collect()),
        Value::String(text) => Some(checklist(text)),
        _ => None,
    }
}

fn task_of(item: &Value) -> Option<Task> {
    let text = item.as_str().or_else(|| text_of(item)).map(str::trim).filter(|text| !text.is_empty())?;
    Some(Task { id: id_of(item), text: bounded(text), state: state_of(item) })
}

fn text_of(item: &Value) -> Option<&str> {
    ["content", "step", "title", "subject", "text", "task", "name", "description"]
        .iter()
        .find_map(|key| item.get(key)?.as_str())
}

fn id_of(item: &Value) -> Option<String> {
    match ["taskId", "task_id", "id"].iter().find_map(|key| item.get(key))? {
        Value::String(id) => Some(head(id, ID_BYTES).to_owned()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn state_of(item: &Value) -> TaskState {
    let is_set = |key: &str| item.get(key).and_then(Value::as_bool) == Some(true);
    let named = ["status", "state"].iter().find_map(|key| item.get(key)?.as_str()).map(TaskState::named);
    let done = || ["completed", "done"].iter().any(|key| is_set(key)).then_some(TaskState::Done);
    named.or_else(done).unwrap_or(TaskState::Open)
}

/// Reads a list in Markdown: `- [x] done`.
fn checklist(text: &str) -> Vec<Task> {
    let item = |line: &str| {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = line.trim_start_matches(['-', '*', '.', ')', ' ']).strip_prefix('[')?;
        let (mark, text) = rest.split_once(']')?;
        let state = if mark == "-" { TaskState::Active } else { TaskState::named(mark) };
        let text = text.trim();
        (mark.len() <= 3 && !text.is_empty()).then(|| Task { id: None, text: bounded(text), state })
    };
    text.lines().filter_map(item).take(MAX_TASKS).collect()
}

/// Returns the digits that a text begins with, none where they are too many.
fn id_digits(text: &str) -> &str {
    let n_bytes = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if n_bytes <= ID_BYTES { &text[..n_bytes] } else { "" }
}

fn bounded(text: &str) -> String {
    let text = text.trim();
    if text.len() <= TASK_BYTES {
        return text.to_owned();
    }
    [head(text, TASK_BYTES - '…'.len_utf8()), "…"].concat()
}

/// A task and its words, in order and each once.
type Worded<'t> = (&'t Task, &'t Vec<u64>);

fn is_same_text((one, _): Worded<'_>, (other, _): Worded<'_>) -> bool {
    one.text == other.text
}

/// Returns whether two tasks have one id; a list that counts from one again gives it to others, whose words differ.
fn is_same_id((one, words): Worded<'_>, (other, others): Worded<'_>) -> bool {
    one.id.is_some() && one.id == other.id && n_shared(words, others) > 0
}

/// Returns whether most words of two tasks are the same.
fn is_reworded((one, words): Worded<'_>, (_, others): Worded<'_>) -> bool {
    one.state.is_open() && n_shared(words, others) * 5 >= words.len().max(others.len()).max(1) * 3
}

fn n_shared(words: &[u64], others: &[u64]) -> usize {
    words.iter().filter(|word| others.binary_search(word).is_ok()).count()
}

/// Returns the words of a task as numbers.
fn words(task: &Task) -> Vec<u64> {
    let mut words: Vec<u64> = plain_words(&task.text).map(|word| id_key(&word.to_lowercase())).collect();
    words.sort_unstable();
    words.dedup();
    words
}

#[cfg(test)]
mod tests {
    use TaskState::{Active, Cancelled, Done, Dropped, Open};
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    /// Takes calls in and compares the tasks.
    fn check(calls: &[(&str, Value, &str)], expected: &[(&str, TaskState)]) {
        let mut tasks = Tasks::default();
        for (tool, input, result) in calls {
            tasks.take_in(tool, input, Some(*result));
        }
        let found: Vec<_> = tasks.all().iter().map(|task| (task.text.as_str(), task.state)).collect();
        assert_eq!(found, expected, "{calls:?}");
    }

    fn todos(items: &[(&str, &str)]) -> Value {
        json!({ "todos": items.iter().map(|(what, how)| json!({ "content": what, "status": how })).collect::<Vec<_>>() })
    }

    #[test]
    fn an_open_task_that_vanishes_is_no_longer_on_the_list_and_a_finished_one_stays_done() {
        let first = todos(&[("read", "completed"), ("parse", "in_progress"), ("print", "pending")]);
        check(
            &[
                ("TodoWrite", first, "ok"),
                ("TodoWrite", todos(&[("print", "in_progress"), ("send", "pending")]), "ok"),
            ],
            &[("read", Done), ("parse", Dropped), ("print", Active), ("send", Open)],
        );
        check(&[("todowrite", todos(&[("a", "done")]), ""), ("todowrite", todos(&[]), "")], &[("a", Done)]);
    }

    #[test]
    fn a_task_in_other_words_is_the_same() {
        let one = |text, state| ("TodoWrite", todos(&[(text, state)]), "");
        let [before, after] = ["Write the parser for dates", "Write the parser for all dates"];
        check(&[one(before, "pending"), one(after, "completed")], &[(after, Done)]);
    }

    #[test]
    fn a_list_that_begins_anew_says_nothing_of_the_one_before() {
        let one = |text| json!({ "todos": [{ "id": "1", "content": text, "status": "pending" }] });
        check(
            &[("TodoWrite", one("read the log"), ""), ("TodoWrite", one("write docs"), "")],
            &[("write docs", Open)],
        );
    }

    #[test]
    fn plans_and_checklists_are_lists_too() {
        let plan =
            json!({ "plan": [{ "step": "a", "status": "completed" }, { "step": "b", "status": "pending" }] });
        check(&[("update_plan", plan, "Plan updated")], &[("a", Done), ("b", Open)]);
        let list = json!({ "todos": "- [x] a\n- [-] b\n1. [ ] c\nnote" });
        check(&[("update_todo_list", list, "")], &[("a", Done), ("b", Active), ("c", Open)]);
        check(&[("write", json!({ "task_progress": "- [ ] a" }), "")], &[("a", Open)]);
        check(
            &[("mcp__x__todo", json!({ "items": ["a", 1, { "title": "b", "done": true }] }), "")],
            &[("a", Open), ("b", Done)],
        );
        check(&[("read", json!({ "todos": ["a"] }), ""), ("TodoWrite", json!({ "todos": 3 }), "")], &[]);
    }

    #[test]
    fn a_task_is_changed_by_the_id_that_its_result_told() {
        let create = |subject| json!({ "subject": subject, "description": "d" });
        check(
            &[
                ("TaskCreate", create("a"), "Task #1 created successfully: a"),
                ("TaskCreate", create("b"), "Task #2 created successfully: b"),
                ("TaskCreate", create("c"), "Task #3 created successfully: c"),
                ("TaskUpdate", json!({ "taskId": "2", "status": "completed" }), "Updated task #2 status"),
                ("TaskUpdate", json!({ "taskId": 3, "status": "deleted" }), "Updated task #3"),
                ("TaskUpdate", json!({ "taskId": "9", "status": "completed" }), "Task not found"),
                ("TaskList", json!({}), "#1 [in_progress] a [blocked by #2]\n#4 [pending] d"),
            ],
            &[("a", Active), ("b", Done), ("c", Cancelled), ("d", Open)],
        );
    }

    #[test]
    fn a_call_that_failed_or_was_rejected_changes_nothing() {
        let rejected = "The user doesn't want to proceed with this tool use.";
        check(&[("TodoWrite", todos(&[("a", "")]), "<tool_use_error>no</tool_use_error>")], &[]);
        check(&[("TodoWrite", todos(&[("a", "")]), rejected)], &[]);
    }

    #[test]
    fn a_merged_list_changes_only_what_it_names() {
        let merge = json!({ "merge": true, "todos": [{ "id": "1", "content": "a", "status": "completed" }] });
        let both = json!({ "todos": [{ "id": "1", "content": "a" }, { "id": "2", "content": "b" }] });
        check(&[("todo_write", both, ""), ("todo_write", merge, "")], &[("a", Done), ("b", Open)]);
    }

    #[test]
    fn tasks_and_their_texts_are_bounded() {
        let mut tasks = Tasks::default();
        for nth in 0..300 {
            let input = json!({ "subject": format!("{nth} {}", "é".repeat(300)) });
            tasks.take_in("TaskCreate", &input, Some(&format!("Task #{nth} created")));
        }
        assert_eq!(tasks.all().len(), MAX_TASKS);
        assert!(tasks.all().iter().all(|task| task.text.len() <= TASK_BYTES));
        let many = json!({ "todos": vec![json!({ "content": "same" }); 500] });
        tasks.take_in("TodoWrite", &many, None);
        assert!(tasks.all().len() <= MAX_TASKS);
        let id = "7".repeat(5_000);
        tasks.take_in("TaskCreate", &json!({ "subject": "a" }), Some(&format!("Task #{id} created")));
        tasks.take_in("TaskList", &json!({}), Some(&format!("#{id} [pending] b")));
        assert!(tasks.all().iter().flat_map(|task| &task.id).all(|id| id.len() <= ID_BYTES));
    }

    #[test]
    fn tasks_that_are_read_back_are_bounded() {
        let task = json!({ "id": "é".repeat(900), "text": "é".repeat(900), "state": "open" });
        let tasks: Tasks = serde_json::from_value(json!(vec![task; 900])).expect("tasks");
        let is_short = |task: &Task| {
            task.text.len() <= TASK_BYTES && task.id.as_ref().is_some_and(|id| id.len() <= ID_BYTES)
        };
        assert!(tasks.all().len() == MAX_TASKS && tasks.all().iter().all(is_short));
    }

    #[test]
    fn a_blank_subject_changes_no_text() {
        let create = ("TaskCreate", json!({ "subject": "a" }), "Task #1 created");
        let update = ("TaskUpdate", json!({ "taskId": "1", "subject": " ", "status": "completed" }), "");
        check(&[create, update], &[("a", Done)]);
    }

    proptest! {
        #[test]
        fn no_call_panics(tool in "TaskCreate|TaskUpdate|TaskList|todo", text in any::<String>()) {
            let mut tasks = Tasks::default();
            let listed = format!("#{text}] [{text}] {text}");
            tasks.take_in(&tool, &json!({ "todos": text, "subject": text, "taskId": text }), Some(&listed));
            prop_assert!(tasks.all().len() <= MAX_TASKS);
        }
    }
}
