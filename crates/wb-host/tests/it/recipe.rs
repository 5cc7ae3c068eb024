//! The recipe of the documentation shows lines of an example that is compiled and run.

const RECIPE: &str = include_str!("../../../../docs/recipes/compact-a-session-by-itself.md");
const EXAMPLE: &str = include_str!("../../examples/agent_loop.rs");

#[test]
fn every_line_of_the_recipe_stands_in_the_example() {
    let blocks = RECIPE.split("```rust\n").skip(1).filter_map(|block| block.split("```").next());
    let lines: Vec<&str> = blocks.flat_map(str::lines).map(str::trim).collect();
    let own: Vec<&str> = EXAMPLE.lines().map(str::trim).collect();
    let missing: Vec<_> = lines.iter().filter(|line| !own.contains(line)).collect();
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(lines.len() >= 15);
}
