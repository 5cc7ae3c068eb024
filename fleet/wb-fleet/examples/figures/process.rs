//! The use that a process made of the machine.

use crate::rows::Outcome;

/// Returns the seconds that a process was on a processor, in steps of 10 ms.
pub(crate) fn processor_seconds(process: Option<u32>) -> Outcome<f64> {
    let status = read(process, "stat")?;
    let (_, fields) = status.rsplit_once(')').ok_or("no name")?;
    let ticks: Vec<f64> =
        fields.split_whitespace().skip(11).take(2).map(str::parse).collect::<Result<_, _>>()?;
    Ok(ticks.iter().sum::<f64>() / 100.0)
}

/// Returns the memory of a process.
pub(crate) fn megabytes(process: Option<u32>) -> Outcome<f64> {
    kilobytes(process, "VmRSS:")
}

/// Returns the most memory that this process had.
pub(crate) fn peak_megabytes() -> Outcome<f64> {
    kilobytes(None, "VmHWM:")
}

fn kilobytes(process: Option<u32>, key: &'static str) -> Outcome<f64> {
    let status = read(process, "status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(key)).ok_or(key)?;
    Ok(line.trim().trim_end_matches(" kB").parse::<f64>()? * 1.024e-3)
}

fn read(process: Option<u32>, file: &str) -> Outcome<String> {
    let process = process.map_or_else(|| "self".to_owned(), |id| id.to_string());
    Ok(std::fs::read_to_string(format!("/proc/{process}/{file}"))?)
}
