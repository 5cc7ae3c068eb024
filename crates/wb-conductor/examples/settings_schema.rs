//! Prints the JSON Schema of an agent's settings, which `docs/reference` keeps.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

fn main() -> serde_json::Result<()> {
    let schema = schemars::schema_for!(wb_conductor::AgentSettings);
    println!("{}", serde_json::to_string_pretty(&schema)?);
    Ok(())
}
