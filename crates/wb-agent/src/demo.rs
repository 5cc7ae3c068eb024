//! An hour of scripted work in a minute, without a network.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};

use crate::agent::Agent;
use crate::error::AgentError;
use crate::journal::Journal;
use crate::model::Model;
use crate::sandbox::Sandbox;
use crate::script::Script;
use crate::tools::{ToolBox, ToolLimits};

/// The window, so small that it fills.
const WINDOW: u64 = 8_000;
/// The parts of the composed project.
const PARTS: usize = 12;

/// The prompts of the hour.
pub const PROMPTS: [&str; 4] = [
    "Port all prices in src/ from floats to cents. Never touch migrations/.",
    "Go on with the rest of the parts.",
    "Which port did I say the server uses? It is 8080, and it stays.",
    "Check that no float is left, and write down what you did.",
];

/// Composes a project in a folder, and an agent whose model plays the hour.
pub fn begin(folder: &Path) -> Result<Agent, AgentError> {
    let work = folder.join("work");
    write_project(&work).map_err(AgentError::of_file(work.display().to_string()))?;
    let sandbox = Sandbox::new(&work)
        .map_err(|source| AgentError::File { what: work.display().to_string(), source })?;
    let journal = Journal::create(&folder.join("logs"), sandbox.root())?;
    let script = Script::read(&script()).map_err(AgentError::Usage)?;
    let mut model = Model::offline(Arc::new(script), false);
    model.card.context_window = WINDOW;
    let limits = ToolLimits { has_bash: false, ..ToolLimits::default() };
    Agent::new(model, ToolBox::new(sandbox, limits), journal)
}

fn write_project(work: &Path) -> io::Result<()> {
    fs::create_dir_all(work.join("src"))?;
    (0..PARTS).try_for_each(|n| fs::write(work.join(path_of(n)), part(n)))
}

fn path_of(n: usize) -> String {
    format!("src/part_{n}.rs")
}

fn part(n: usize) -> String {
    let mut text = format!("pub const PRICE_{n}: f64 = {n}.50;\n");
    for line in 0..60 {
        let _ =
            writeln!(text, "// Row {line} of part {n}: what the ledger says of its {}th entry.", line + n);
    }
    text
}

/// Returns the answers, one for each request.
fn script() -> String {
    let mut answers: Vec<Value> = Vec::new();
    let half = PARTS / 2;
    let port = |answers: &mut Vec<Value>, n: usize| {
        let (path, cents) = (path_of(n), format!("i64 = {n}50;"));
        let change = json!({"path": path, "old": format!("f64 = {n}.50;"), "new": cents});
        answers.push(json!({"say": format!("I read part {n}."), "calls": [["read", {"path": path}]]}));
        answers.push(json!({"say": "Its price is a float.", "calls": [["edit", change]]}));
    };
    (0..half).for_each(|n| port(&mut answers, n));
    answers.push(json!({"say": format!("Parts 0 to {} hold cents now.", half - 1)}));
    (half..PARTS).for_each(|n| port(&mut answers, n));
    answers.push(json!({"say": "All parts hold cents now; migrations/ is as it was."}));
    answers.push(json!({"say": "Noted: the server uses port 8080, and that stays."}));
    answers.push(json!({"say": "I look for floats.", "calls": [["grep", {"text": "f64"}]]}));
    answers.push(
        json!({"say": "No float is left. The prices of all parts are cents, and no migration was touched."}),
    );
    answers.iter().map(Value::to_string).collect::<Vec<_>>().join("\n")
}
