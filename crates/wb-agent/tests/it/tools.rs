//! Tests of each tool and its refusals.

use std::time::{Duration, Instant};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use wb_agent::{ToolBox, ToolLimits, ToolOutput};

use crate::support::{folder, tools, waiting};

fn run(tools: &ToolBox, name: &str, input: &Value) -> ToolOutput {
    waiting(tools.run(name, input, &CancellationToken::new()))
}

#[test]
fn a_file_is_written_read_in_part_found_and_edited() {
    let dir = folder();
    let tools = tools(&dir, ToolLimits::default());
    let said = |name, input: Value| run(&tools, name, &input).text;
    assert_eq!(
        said("edit", json!({"path": "src/a.rs", "old": "", "new": "one\ntwo\nthree\n"})),
        "wrote src/a.rs"
    );
    assert_eq!(said("read", json!({"path": "src/a.rs", "offset": 2, "limit": 1})), "two\n");
    assert_eq!(said("ls", json!({})), "src/");
    assert_eq!(said("grep", json!({"text": "thre"})), "src/a.rs:3: three\n");
    assert_eq!(said("edit", json!({"path": "src/a.rs", "old": "two", "new": "2"})), "edited src/a.rs");
    assert_eq!(said("bash", json!({"command": "cat src/a.rs"})), "one\n2\nthree\n");
}

#[test]
fn a_refusal_of_a_tool_reaches_the_model() {
    let dir = folder();
    let tools = tools(&dir, ToolLimits::default());
    std::fs::write(dir.path().join("work/two"), "x x").unwrap();
    let cases = [
        ("read", json!({}), "`path` is missing"),
        ("read", json!({"path": "none"}), "none: "),
        ("read", json!({"path": "."}), ". is no file"),
        ("edit", json!({"path": "two", "old": "x", "new": "y"}), "holds that text 2 times"),
        ("edit", json!({"path": "two", "old": "", "new": "y"}), "is there already"),
        ("edit", json!({"path": "../out", "old": "", "new": "y"}), "is outside of the folder"),
        ("fly", json!({}), "there is no tool `fly`"),
        ("bash", json!({"command": "echo no; exit 4"}), "no\n\n[exit code 4]"),
    ];
    for (name, input, wanted) in cases {
        let output = run(&tools, name, &input);
        assert!(output.is_error && output.text.contains(wanted), "{name}: {output:?}");
    }
    assert!(!dir.path().join("out").exists());
}

#[test]
fn a_command_is_stopped_with_all_that_it_started_and_its_output_is_capped() {
    let dir = folder();
    let limits =
        ToolLimits { command_timeout: Duration::from_millis(700), max_result_bytes: 2_000, has_bash: true };
    let tools = tools(&dir, limits);
    let start = Instant::now();
    let output = run(&tools, "bash", &json!({"command": "seq 100000; (sleep 3; touch late) & sleep 60"}));
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert!(output.is_error && output.text.len() <= 2_000, "{}", output.text.len());
    assert!(
        output.text.starts_with("1\n2\n") && output.text.ends_with("[Stopped after 700ms]"),
        "{output:?}"
    );
    std::thread::sleep(Duration::from_secs(4));
    assert!(!dir.path().join("work/late").exists(), "what it started is gone too");
}

#[test]
fn a_command_sees_no_key_and_no_tool_is_offered_that_is_left_out() {
    let dir = folder();
    let all = tools(&dir, ToolLimits::default());
    let shown = run(&all, "bash", &json!({"command": "env | cut -d= -f1"})).text;
    assert!(shown.contains("PATH") && !shown.contains("CARGO_PKG_NAME"), "{shown}");
    let few = tools(&dir, ToolLimits { has_bash: false, ..ToolLimits::default() });
    assert_eq!(few.descriptors().len(), 4);
    assert!(run(&few, "bash", &json!({"command": "true"})).text.contains("there is no tool"));
}
