//! Prints the JSON Schema of an agent's settings, which `docs/reference` keeps.
#![expect(clippy::print_stdout, reason = "a program for the terminal")]

fn schema() -> serde_json::Result<String> {
    Ok(serde_json::to_string_pretty(&schemars::schema_for!(wb_conductor::AgentSettings))? + "\n")
}

fn main() -> serde_json::Result<()> {
    print!("{}", schema()?);
    Ok(())
}

#[test]
fn the_reference_is_current() {
    assert_eq!(schema().unwrap(), include_str!("../../../docs/reference/settings.schema.json"));
}
