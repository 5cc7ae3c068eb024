//! `wb convert`: a session or a request as another format has it.

use std::io::{self, Write};
use std::path::Path;

use anyhow::Result;
use serde::Serialize;
use wb_bind::{Conversion, ConversionError, NewPlace, convert_document};
use wb_record::Access;

use crate::args::Convert;
use crate::platform::clock;
use crate::session::document;
use crate::session::output_file::{check_target, write_whole};
use crate::session::report::written;
use crate::terminal::file_error::not_read;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::style::DIM;

/// The answer of `wb convert --json`.
#[derive(Debug, Serialize)]
struct Converted {
    file: String,
    /// The format that was read.
    from: &'static str,
    messages: usize,
    /// The content that the other format cannot hold.
    lost: Vec<String>,
    /// The violations that its provider would refuse.
    violations: Vec<wb_dialect::Violation>,
    bytes: usize,
}

/// Converts a session to another format; reports losses on standard error first.
pub(crate) fn convert(shell: &Shell, args: &Convert) -> Result<()> {
    if let Some(out) = args.out.as_deref().filter(|out| *out != Path::new("-")) {
        check_target(out, std::iter::once(args.file.as_path()), args.overwrite, "-o")?;
    }
    let document = shell.timed("reading", || document(&args.file, Access::Read))?;
    let folder = shell.environment.working.as_deref().unwrap_or(Path::new("/")).display().to_string();
    let place = NewPlace { folder: &folder, stamp: &clock::stamp() };
    let conversion = convert_document(document.as_ref(), args.to, place);
    let conversion = conversion.map_err(|error| match error {
        ConversionError::Format(error) => anyhow::Error::from(not_read(&args.file, &error)),
        error => error.into(),
    })?;
    let Conversion { from, n_messages, bytes, lost, violations } = conversion;
    let out = args.out.as_deref().filter(|out| *out != Path::new("-"));
    let converted = Converted {
        file: args.file.display().to_string(),
        from,
        messages: n_messages,
        lost,
        violations,
        bytes: bytes.len(),
    };
    if args.dry_run && shell.is_json {
        return shell.print_json(&converted);
    }
    if !shell.is_json || out.is_none() {
        report(shell, &converted, args);
    }
    if args.dry_run {
        return Ok(());
    }
    let Some(out) = out else {
        let mut raw = io::stdout().lock();
        raw.write_all(&bytes)?;
        return Ok(raw.flush()?);
    };
    write_whole(out, Some(&args.file), args.overwrite, |file| file.write_all(&bytes))?;
    if shell.is_json {
        return shell.print_json(&converted);
    }
    shell.say(|page| written(page, &converted.file, Some(out), None));
    Ok(())
}

fn report(shell: &Shell, converted: &Converted, args: &Convert) {
    shell.say(|page| {
        for lost in &converted.lost {
            page.prose("  ", 4, &format!("{DIM}lost:{DIM:#} {lost}"))?;
        }
        if let [first, ..] = converted.violations.as_slice() {
            let n = count(converted.violations.len(), "finding", "findings");
            let out = args.out.as_deref().unwrap_or(Path::new("OUT")).display();
            page.prose("  ", 4, &format!("{n}, the first: {first}; see wb doctor {out}"))?;
        }
        Ok(())
    });
}
