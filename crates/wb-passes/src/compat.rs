//! Published compactions as they were recorded, kept for whoever must reproduce them; the main path uses none of it.

pub mod three_level;
pub mod policy;
