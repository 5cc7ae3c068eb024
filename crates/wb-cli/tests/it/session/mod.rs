//! `wb session` on sessions of pi.

mod tree;
mod writes;
mod files;
