//! Prints the JSON Schema of calls and answers: `docs/reference/api.schema.json`.

#![expect(clippy::print_stdout, reason = "it prints")]

fn main() {
    println!("{:#}", wb_bind::schema());
}
