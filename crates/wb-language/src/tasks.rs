//! The list of tasks that an agent maintains with its tools.
//!
//! Some tools replace the whole list, others add or change one task. An unfinished task that
//! disappears from a continued list may or may not be done; a new list says nothing about the one
//! before.

use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use wb_message::Untrusted;
use wb_message::pairing::id_key;
use wb_message::text::head;

use crate::plain_words;
use crate::user_text::is_rejection;

/// The maximum number of tasks of a list.
pub(crate) const MAX_TASKS: usize = 200;
/// The maximum bytes of the text of a task.
pub(crate) const TASK_BYTES: usize = 400;
/// The maximum bytes of the id of a task.
const ID_BYTES: usize = 80;

/// The state of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// Not begun.
    Open,
    /// In progress.
    Active,
    /// Done.
    Done,
    /// Called off.
    Cancelled,
    /// Removed from the list; it may or may not be done.
    Dropped,
}

impl TaskState {
    const WORDS: [(Self, &str); 5] = [
        (Self::Open, "pending"),
        (Self::Active, "in_progress"),
        (Self::Done, "completed"),
        (Self::Cancelled, "cancelled"),
        (Self::Dropped, "no longer on the list"),
    ];

    /// Returns the word for the state in a digest.
    pub fn as_str(self) -> &'static str {
        Self::WORDS.iter().find(|(state, _)| *state == self).map_or("", |(_, word)| word)
    }

    /// Parses the word for a state in a digest.
    pub fn from_word(word: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(_, known)| *known == word).map(|(state, _)| *state)
    }

    /// Returns whether the task is still to be done.
    pub fn is_open(self) -> bool {
        matches!(self, Self::Open | Self::Active)
    }

    /// Parses the name of a state in a tool; an unknown one is open.
    fn from_tool_name(name: &str) -> Self {
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
    /// The id in the tool, if it has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The text, in at most `TASK_BYTES` bytes.
    pub text: Untrusted,
    /// The state.
    pub state: TaskState,
}

/// Returns whether the user asks for another part of a plan: `now the second phase`.
pub fn continues_a_plan(words: &str) -> bool {
    const WORDS: [&str; 31] = [
        "plan",
        "plans",
        "phase",
        "phases",
        "step",
        "steps",
        "stage",
        "milestone",
        "part",
        "remaining",
        "rest",
        "continue",
        "proceed",
        "resume",
        "schritt",
        "schritte",
        "teil",
        "weiter",
        "étape",
        "étapes",
        "suite",
        "partie",
        "reste",
        "poursuis",
        "etapa",
        "paso",
        "pasos",
        "parte",
        "resto",
        "fase",
        "sigue",
    ];
    const PARTS: [&str; 12] =
        ["计划", "步", "阶段", "继续", "剩下", "其余", "計画", "段階", "ステップ", "手順", "続け", "残り"];
    plain_words(words).any(|word| WORDS.contains(&word.to_lowercase().as_str()))
        || PARTS.iter().any(|part| words.contains(part))
}

/// The tasks of a transcript, at most `MAX_TASKS`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Tasks {
    #[serde(deserialize_with = "read_bounded")]
    tasks: Vec<Task>,
}

/// Deserializes tasks within their bounds.
fn read_bounded<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<Task>, D::Error> {
    let mut tasks: Vec<Task> = Deserialize::deserialize(from)?;
    tasks.drain(..tasks.len().saturating_sub(MAX_TASKS));
    for task in &mut tasks {
        task.text = bounded(task.text.inspect());
        task.id = task.id.take().map(|id| head(&id, ID_BYTES).to_owned());
    }
    Ok(tasks)
}

impl Tasks {
    /// Applies a call of any tool and its result; returns whether it maintains or shows the list.
    ///
    /// A call of another tool changes nothing, nor does one that failed or was rejected.
    pub fn observe(&mut self, tool: &str, input: &Value, result: Option<&str>) -> bool {
        if result.is_some_and(has_failed) {
            return false;
        }
        match bare_name(tool).as_str() {
            "taskcreate" => self.create(input, result.unwrap_or_default()),
            "taskupdate" => self.update(input),
            // Only the host's own list is the agent's.
            "tasklist" if is_of_server(tool) => return false,
            "tasklist" => self.read(result.unwrap_or_default()),
            name => {
                let Some(listed) = parse_list(name, input) else { return false };
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
        let Some(text) = task_text(input) else { return };
        let id = result.split_once("Task #").map(|(_, rest)| id_digits(rest)).filter(|id| !id.is_empty());
        // A new list counts from one again.
        let has_same_id = |task: &&mut Task| task.id.is_some() && task.id.as_deref() == id;
        if let Some(before) = self.tasks.iter_mut().find(has_same_id) {
            before.id = None;
        }
        let state = task_state(input);
        self.push(Task { id: id.map(str::to_owned), text: bounded(text), state });
    }

    fn update(&mut self, input: &Value) {
        let Some(id) = task_id(input) else { return };
        let found = self.tasks.iter_mut().rfind(|task| task.id.as_ref() == Some(&id));
        if let Some(task) = found {
            if input.get("status").is_some() {
                task.state = task_state(input);
            }
            let subject = input.get("subject").and_then(Value::as_str);
            if let Some(text) = subject.filter(|text| !text.trim().is_empty()) {
                task.text = bounded(text);
            }
        } else if let Some(text) = task_text(input) {
            self.push(Task { id: Some(id), text: bounded(text), state: task_state(input) });
        }
    }

    /// Reads a list printed by the tool: `#3 [in_progress] Write the parser`.
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
            let state = TaskState::from_tool_name(state);
            match self.tasks.iter_mut().rfind(|task| task.id.as_deref() == Some(id)) {
                Some(task) => task.state = state,
                None => self.push(Task { id: Some(id.to_owned()), text: bounded(text), state }),
            }
        }
    }

    /// Replaces the list; a merged one changes only the tasks that it contains.
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

    /// Adds a task; a full list drops the oldest finished one, or else the oldest.
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

/// Returns whether another program than the host provides a tool: its name has the server's before
/// it.
pub(crate) fn is_of_server(tool: &str) -> bool {
    tool.contains("__") || tool.contains('/') || tool.starts_with("mcp")
}

/// Returns the name of a tool without its server, reduced to lower-case letters and digits.
pub(crate) fn bare_name(tool: &str) -> String {
    let name = tool.rsplit("__").next().unwrap_or(tool);
    name.chars().filter(char::is_ascii_alphanumeric).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns whether the result of a call reports that nothing changed.
fn has_failed(result: &str) -> bool {
    const STARTS: [&str; 5] =
        ["<tool_use_error>", "InputValidationError", "Error", "Task not found", "[Error"];
    let result = result.trim_start();
    STARTS.iter().any(|start| result.starts_with(start)) || is_rejection(result)
}

/// Returns the list in a call, if the tool maintains one.
fn parse_list(tool: &str, input: &Value) -> Option<Vec<Task>> {
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
        // Any tool may have a checklist as a parameter.
        return input
            .get("task_progress")
            .and_then(Value::as_str)
            .map(checklist)
            .filter(|list| !list.is_empty());
    }
    match KEYS.iter().find_map(|key| input.get(key))? {
        Value::Array(items) => Some(items.iter().filter_map(parse_task).take(MAX_TASKS).collect()),
        Value::String(text) => Some(checklist(text)),
        _ => None,
    }
}

fn parse_task(item: &Value) -> Option<Task> {
    let text = item.as_str().or_else(|| task_text(item)).map(str::trim).filter(|text| !text.is_empty())?;
    Some(Task { id: task_id(item), text: bounded(text), state: task_state(item) })
}

fn task_text(item: &Value) -> Option<&str> {
    ["content", "step", "title", "subject", "text", "task", "name", "description"]
        .iter()
        .find_map(|key| item.get(key)?.as_str())
}

fn task_id(item: &Value) -> Option<String> {
    match ["taskId", "task_id", "id"].iter().find_map(|key| item.get(key))? {
        Value::String(id) => Some(head(id, ID_BYTES).to_owned()),
        Value::Number(id) => Some(id.to_string()),
        _ => None,
    }
}

fn task_state(item: &Value) -> TaskState {
    let is_set = |key: &str| item.get(key).and_then(Value::as_bool) == Some(true);
    let named =
        ["status", "state"].iter().find_map(|key| item.get(key)?.as_str()).map(TaskState::from_tool_name);
    let done = || ["completed", "done"].iter().any(|key| is_set(key)).then_some(TaskState::Done);
    named.or_else(done).unwrap_or(TaskState::Open)
}

/// Parses a list in Markdown: `- [x] done`.
fn checklist(text: &str) -> Vec<Task> {
    let item = |line: &str| {
        let line = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit());
        let rest = line.trim_start_matches(['-', '*', '.', ')', ' ']).strip_prefix('[')?;
        let (mark, text) = rest.split_once(']')?;
        let state = if mark == "-" { TaskState::Active } else { TaskState::from_tool_name(mark) };
        let text = text.trim();
        (mark.len() <= 3 && !text.is_empty()).then(|| Task { id: None, text: bounded(text), state })
    };
    text.lines().filter_map(item).take(MAX_TASKS).collect()
}

/// Returns the digits at the start of a text, unless there are too many.
fn id_digits(text: &str) -> &str {
    let n_bytes = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if n_bytes <= ID_BYTES { &text[..n_bytes] } else { "" }
}

fn bounded(text: &str) -> Untrusted {
    let text = text.trim();
    let is_short = text.len() <= TASK_BYTES;
    let cut = || [head(text, TASK_BYTES - '…'.len_utf8()), "…"].concat();
    Untrusted::new(if is_short { text.to_owned() } else { cut() })
}

/// A task and its distinct words, sorted.
type TaskWords<'t> = (&'t Task, &'t Vec<u64>);

fn is_same_text((one, _): TaskWords<'_>, (other, _): TaskWords<'_>) -> bool {
    one.text == other.text
}

/// Returns whether two tasks have the same id and a common word; a new list reuses the ids.
fn is_same_id((one, words): TaskWords<'_>, (other, others): TaskWords<'_>) -> bool {
    one.id.is_some() && one.id == other.id && n_shared(words, others) > 0
}

/// Returns whether two tasks have most words in common.
fn is_reworded((one, words): TaskWords<'_>, (_, others): TaskWords<'_>) -> bool {
    one.state.is_open() && n_shared(words, others) * 5 >= words.len().max(others.len()).max(1) * 3
}

fn n_shared(words: &[u64], others: &[u64]) -> usize {
    words.iter().filter(|word| others.binary_search(word).is_ok()).count()
}

/// Returns the distinct words of a task as hashes, sorted.
fn words(task: &Task) -> Vec<u64> {
    let mut words: Vec<u64> =
        plain_words(task.text.inspect()).map(|word| id_key(&word.to_lowercase())).collect();
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

    /// Applies calls and compares the tasks.
    fn check(calls: &[(&str, Value, &str)], expected: &[(&str, TaskState)]) {
        let mut tasks = Tasks::default();
        for (tool, input, result) in calls {
            tasks.observe(tool, input, Some(*result));
        }
        let found: Vec<_> = tasks.all().iter().map(|task| (task.text.inspect(), task.state)).collect();
        assert_eq!(found, expected, "{calls:?}");
    }

    fn todos(items: &[(&str, &str)]) -> Value {
        json!({ "todos": items.iter().map(|(what, how)| json!({ "content": what, "status": how })).collect::<Vec<_>>() })
    }

    #[test]
    fn an_open_task_that_disappears_is_dropped() {
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
    fn a_reworded_task_is_the_same() {
        let one = |text, state| ("TodoWrite", todos(&[(text, state)]), "");
        let [before, after] = ["Write the parser for dates", "Write the parser for all dates"];
        check(&[one(before, "pending"), one(after, "completed")], &[(after, Done)]);
    }

    #[test]
    fn a_new_list_replaces_the_one_before() {
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
    fn a_task_is_changed_by_the_id_in_its_result() {
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
    fn a_merged_list_changes_only_its_tasks() {
        let merge = json!({ "merge": true, "todos": [{ "id": "1", "content": "a", "status": "completed" }] });
        let both = json!({ "todos": [{ "id": "1", "content": "a" }, { "id": "2", "content": "b" }] });
        check(&[("todo_write", both, ""), ("todo_write", merge, "")], &[("a", Done), ("b", Open)]);
    }

    #[test]
    fn tasks_and_their_texts_are_bounded() {
        let mut tasks = Tasks::default();
        for nth in 0..300 {
            let input = json!({ "subject": format!("{nth} {}", "é".repeat(300)) });
            tasks.observe("TaskCreate", &input, Some(&format!("Task #{nth} created")));
        }
        assert_eq!(tasks.all().len(), MAX_TASKS);
        assert!(tasks.all().iter().all(|task| task.text.inspect().len() <= TASK_BYTES));
        let many = json!({ "todos": vec![json!({ "content": "same" }); 500] });
        tasks.observe("TodoWrite", &many, None);
        assert!(tasks.all().len() <= MAX_TASKS);
        let id = "7".repeat(5_000);
        tasks.observe("TaskCreate", &json!({ "subject": "a" }), Some(&format!("Task #{id} created")));
        tasks.observe("TaskList", &json!({}), Some(&format!("#{id} [pending] b")));
        assert!(tasks.all().iter().flat_map(|task| &task.id).all(|id| id.len() <= ID_BYTES));
    }

    #[test]
    fn deserialized_tasks_are_bounded() {
        let task = json!({ "id": "é".repeat(900), "text": "é".repeat(900), "state": "open" });
        let tasks: Tasks = serde_json::from_value(json!(vec![task; 900])).expect("tasks");
        let is_short = |task: &Task| {
            task.text.inspect().len() <= TASK_BYTES && task.id.as_ref().is_some_and(|id| id.len() <= ID_BYTES)
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
            tasks.observe(&tool, &json!({ "todos": text, "subject": text, "taskId": text }), Some(&listed));
            prop_assert!(tasks.all().len() <= MAX_TASKS);
        }
    }
}
