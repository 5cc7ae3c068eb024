//! One test for each weakness that was found in the published engine named after
//! it, rebuilt from the probe that showed it. Brackets name the probe.

mod data_loss;
mod file_loss;
mod reclaiming;
mod measuring;
