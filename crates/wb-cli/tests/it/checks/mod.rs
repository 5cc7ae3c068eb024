//! Checks of a session, its repair and its conversion.

mod validate;
mod repair;
mod refusals;
mod odd_files;
mod convert;
mod audit;
mod doctor;
mod injections;
