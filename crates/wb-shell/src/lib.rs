//! Shell commands: what they do, read from their text alone, and how they ended, read from their
//! output.
//!
//! [`Command::parse`] splits a command into its steps. [`Command::effects`] returns its effects on
//! files and git repositories. It omits what the text leaves open: paths with variables or globs,
//! steps after `||` or in an `if`, and the content of scripts that the command runs.
//! [`subject`] identifies what a check is about, so that its runs can be compared, and
//! [`outcome::judge`] returns a [`Verdict`](outcome::Verdict) on an output.
//!
//! ```
//! use wb_shell::outcome::{Outcome, Reported, judge};
//! use wb_shell::{Command, FileEffect};
//!
//! let effects = Command::parse("cd src && rm old.rs || touch never.rs").effects();
//! assert_eq!(effects.files, [FileEffect::Deleted("src/old.rs".into())]);
//!
//! let output = "test result: FAILED. 3 passed; 1 failed";
//! let verdict = judge(Some("cargo test | tail"), output, Reported::Exit(0));
//! assert_eq!(verdict.outcome, Outcome::Failed);
//! ```

mod brackets;
pub mod lexer;
mod options;
mod effects;
mod patch_files;
mod git;
mod files;
pub mod kind;
mod command;
mod groups;
mod effect_reader;
mod subject;
mod git_status;
pub mod outcome;

pub use self::brackets::without_file_bodies;
pub use self::command::Command;
pub use self::effects::{Effects, FileEffect, GitEffect, base_name};
pub use self::patch_files::patch_effects;
pub use self::subject::{build_part, subject};
