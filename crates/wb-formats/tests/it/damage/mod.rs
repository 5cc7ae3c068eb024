//! Damage: broken sessions are read without a panic, found and repaired.

pub(crate) mod nameless;
pub(crate) mod repaired_and_undone;
pub(crate) mod damaged;
pub(crate) mod fuzzed;
pub(crate) mod broken;
pub(crate) mod corrupted;
pub(crate) mod lost_lines;
pub(crate) mod lost_roles;
pub(crate) mod unanswered;
pub(crate) mod one_id;
pub(crate) mod pictures;
pub(crate) mod empty_answers;
pub(crate) mod copied_lines;
pub(crate) mod server_blocks;
pub(crate) mod composed_inputs;
pub(crate) mod undecryptable;
