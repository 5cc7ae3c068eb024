//! One test for each weakness of the published engine, rebuilt from the probe that showed it.
//! Brackets name the probe.

mod data_loss;
mod file_loss;
mod reclaiming;
mod measuring;
