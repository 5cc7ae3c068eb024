//! Test tools of this workspace: a script that builds transcripts, generators of difficult ones,
//! and laws that every compaction keeps.
//!
//! # Scripts
//! [`script()`] turns a line of words into messages, so that a test reads like a diagram. A word is
//! a letter, its marks and, for the assistant, its calls:
//!
//! | word | message |
//! |---|---|
//! | `u` | the user's prompt |
//! | `a` | the assistant's text; `a?` thinks first |
//! | `a:read` `a:read,bash` | the assistant calls tools; with text if `"…"` or `*n` precedes `:` |
//! | `t` | the result of the oldest open call; `t!` failed, `t?` refused by the user, `t_` cleared |
//! | `t#id` `t:bash#id` | the result for this id, open or not, for orphans and repeated results |
//! | `n` `n#id` | the same nested in a user message |
//! | `b` | a shell command of the user; `b!` exits with 1, `b(make)` names the command |
//! | `d` | a digest of an earlier compaction in the user's role |
//! | `r` `r(src/lib.rs)` | a file restored by an earlier compaction |
//! | `k` `k#id` | a compaction summary; with the entry's id, a branch summary |
//! | `s` `c` | a pinned system text; a host's custom message |
//!
//! Marks of a word: `*400` sets the size of the body in tokens (exactly 3.6 characters each), and
//! `"look here"` its text. Marks of a call: `read#id` its id (else `c1`, `c2`, …),
//! `read(src/lib.rs)` its path, command or pattern, `read(src/lib.rs@10+40)` an offset and a limit,
//! `write*400` the size of the written text. `[a:read t]x20` repeats. A tool with a capital names
//! its path `file_path`, others `path`.
//!
//! ```
//! use wb_message::outline::outline;
//! use wb_testkit::script;
//!
//! let line = r#"s u"why is it flaky?" a:read(src/cart.rs),bash(cargo test) t t! a u"fix it""#;
//! let messages = script(line);
//! assert_eq!(outline(&messages), r#"
//!    0 pinned    (system) "system 0"
//!    1 user      "why is it flaky?"
//!    2 assistant read(src/cart.rs) · bash(cargo test)
//!    3 result    read "result 3 of read(src/cart.rs)"
//!    4 error     bash "result 4 of bash(cargo test)"
//!    5 assistant "assistant 5"
//!    6 user      "fix it"
//! "#.trim_start_matches('\n'));
//! ```
//!
//! # Generators and laws
//! [`strategies`] generates transcripts for proptest: [`strategies::transcript()`] everything found
//! in real logs, [`strategies::valid_transcript()`] only what a provider accepts. [`laws`] panics
//! with an outline of both sides if a compaction breaks a promise.
//!
//! ```
//! use wb_message::{Edit, Message, Patch};
//! use wb_testkit::{laws, script};
//!
//! let messages = script("s u a:read t a u");
//! let patch = Patch::new(vec![Edit::Fold { range: 1..5, with: vec![Message::user("[digest]")] }]);
//! let after = laws::patch_laws(&messages, &patch);
//! laws::pairs_intact(&messages, &after);
//! laws::tail_identical(&messages, &after, 1);
//! ```

mod grammar;
pub mod script;
mod show;
mod text;
mod steps;
pub mod strategies;
pub mod laws;
pub mod pass_laws;
pub mod fit_laws;
pub mod vectors;
pub mod depth;
pub mod shared;
pub mod session_rows;
pub mod random;
pub mod compose;
pub mod workload;
pub mod logs;
pub mod three_level;
pub mod loopback;
pub mod postgres;
pub mod injections;

pub use script::{script, script_turns, to_turns};
