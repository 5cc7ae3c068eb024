//! `wb session` on sessions of pi, `wb recall` and `wb view`.

mod find;
mod pin;
mod drop;
mod ten_tasks;
mod tree;
mod writes;
mod files;
mod recall;
#[cfg(feature = "postgres")]
mod postgres;
#[cfg(feature = "view")]
mod view;
