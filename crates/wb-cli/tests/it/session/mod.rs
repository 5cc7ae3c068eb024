//! `wb session` on sessions of pi, and `wb recall`.

mod find;
mod tree;
mod writes;
mod files;
mod recall;
