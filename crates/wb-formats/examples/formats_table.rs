//! Prints what can be written in each format, as `docs/reference/formats.md` has it.
#![expect(clippy::print_stdout, reason = "that is what it is for")]

fn main() {
    print!("{}", wb_formats::formats_table());
}
