//! The context on a terminal and as a page.

mod sample;
mod screens;
mod keys;
mod pages;
mod sources;
