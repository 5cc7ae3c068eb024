//! Tests of session logs: composed ones, recorded answers, real files, damaged ones, and written
//! ones.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;
mod talks;
mod chain;

mod log {
    mod reading;
    mod context;
    mod recorded;
    mod damaged;
    mod writing;
}

mod store {
    pub(crate) mod files;
    mod crash;
    #[cfg(feature = "postgres")]
    pub(crate) mod postgres;
}

mod session {
    mod leaves;
    mod tree;
    mod undo;
    mod undo_laws;
    mod edges;
}

mod document2 {
    mod accounting;
    mod preparing;
    mod files;
    mod branching;
    mod converting;
    mod prompts;
    mod compaction;
    mod branch;
    mod recorded_requests;
    mod recorded_compactions;
    mod recorded_branches;
    mod recorded_replies;
}

mod driver {
    mod settings_files;
    mod window;
    mod hooks;
    mod navigate;
}
