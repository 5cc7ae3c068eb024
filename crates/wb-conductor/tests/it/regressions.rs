//! One test for each weakness that was found in the published engine named after
//! it, rebuilt from the probe that showed it. Brackets name the probe.

mod losing;
mod losing_files;
mod reclaiming;
mod measuring;
