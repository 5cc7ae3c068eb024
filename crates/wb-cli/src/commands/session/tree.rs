//! `wb session tree`: the whole session, one line per entry.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use wb_message::text::one_line;
use wb_session::{Entry, EntryId, EntryTag, Node, Session, iso_ms};

use super::describe;
use super::find::IdWidth;
use super::graph::{Graph, Row};
use super::session_log::OpenLog;
use crate::args::session::SessionTree;
use crate::terminal::escape::escaped;
use crate::terminal::number::count;
use crate::terminal::shell::Shell;
use crate::terminal::style::{BAD, DIM, GOOD, HEAD, WARN};
use crate::terminal::wrap::Page;

/// Characters of a label that a line shows.
const LABEL_CHARS: usize = 40;

/// The answer of `wb session tree --json`.
#[derive(Debug, Serialize)]
struct TreeJson<'a> {
    file: &'a str,
    session: &'a str,
    /// The version of the layout of the file.
    session_version: u64,
    cwd: Option<&'a str>,
    time: String,
    name: Option<&'a str>,
    leaf: Option<&'a EntryId>,
    n_entries: usize,
    n_branches: usize,
    notes: Vec<String>,
    entries: Vec<Listed<'a>>,
}

/// An entry of the tree, in the order of the log.
#[derive(Debug, Serialize)]
struct Listed<'a> {
    id: &'a EntryId,
    parent_id: Option<&'a EntryId>,
    line: usize,
    time: Option<String>,
    kind: Option<String>,
    role: Option<&'static str>,
    label: Option<&'a str>,
    on_path: bool,
    text: String,
    error: Option<String>,
}

/// Prints the tree of a session.
pub(crate) fn tree(shell: &Shell, args: &SessionTree) -> Result<()> {
    let log = OpenLog::open(shell, &args.file)?;
    let graph = Graph::new(&log.session);
    if shell.is_json {
        return shell.print_json(&render_json(&log, &graph));
    }
    shell.print(|page| draw(shell, page, &log, &graph))
}

fn draw(shell: &Shell, page: &mut Page<'_>, log: &OpenLog, graph: &Graph) -> io::Result<()> {
    let session = &log.session;
    log.heading(page, &heading(session, graph))?;
    log.write_notes(shell, page, &lost(graph))?;
    let width = IdWidth::new(session.tree());
    for row in graph.rows() {
        draw_row(page, session, graph, row, width)?;
    }
    if graph.nodes.is_empty() {
        return writeln!(page, "  {DIM}no entries{DIM:#}");
    }
    let legend = "● ◆ on the path to the leaf  ○ ◇ on other branches  ◆ ◇ compaction, branch summary";
    page.prose("  ", 2, &format!("{DIM}{legend}{DIM:#}"))
}

fn heading(session: &Session, graph: &Graph) -> String {
    let header = session.header();
    let (n_entries, n_branches) = (graph.nodes.len(), graph.n_branches());
    let (entries, branches) = (count(n_entries, "entry", "entries"), count(n_branches, "branch", "branches"));
    let mut heading = format!("pi version {} · {entries} · {branches}", header.version);
    for more in [header.cwd.as_deref(), session.tree().name()].into_iter().flatten() {
        heading.push_str(" · ");
        heading.push_str(&one_line(more, 120));
    }
    heading
}

fn lost(graph: &Graph) -> Vec<String> {
    match graph.n_lost() {
        0 => Vec::new(),
        n => vec![format!("entries whose parent is not above them, drawn as roots: {n}")],
    }
}

fn draw_row(
    page: &mut Page<'_>,
    session: &Session,
    graph: &Graph,
    row: Row,
    width: IdWidth,
) -> io::Result<()> {
    let node = &graph.nodes[row.at];
    let mark = mark(node.tag, graph.on_path[row.at]);
    let style = match node.tag {
        EntryTag::Compaction | EntryTag::BranchSummary => WARN,
        _ if graph.on_path[row.at] => GOOD,
        _ => DIM,
    };
    let id = escaped(width.short(node.id.as_str()));
    let lead = format!("{DIM}{}{DIM:#}{style}{mark}{style:#} {DIM}{id}{DIM:#} ", row.rails());
    let label = session.tree().label(&node.id).map(|label| one_line(label, LABEL_CHARS));
    let label = label.map(|label| format!(" {HEAD}[{}]{HEAD:#}", escaped(&label)));
    let end_mark = (Some(row.at) == graph.leaf).then(|| format!(" {GOOD}← leaf{GOOD:#}"));
    let tail = [label, end_mark].map(Option::unwrap_or_default).concat();
    match read(session, node) {
        Ok(entry) => page.cut(&lead, &escaped(&describe::line(&entry.kind, width)), &tail),
        Err(why) => {
            let why = format!("line {} cannot be shown: {why}", node.line);
            page.cut(&format!("{lead}{BAD}"), &escaped(&why), &format!("{BAD:#}{tail}"))
        }
    }
}

fn mark(tag: EntryTag, on_path: bool) -> char {
    match (tag, on_path) {
        (EntryTag::Compaction | EntryTag::BranchSummary, true) => '◆',
        (EntryTag::Compaction | EntryTag::BranchSummary, false) => '◇',
        (_, true) => '●',
        (_, false) => '○',
    }
}

/// Reads the entry of a node; one whose id is reused below cannot be requested.
fn read(session: &Session, node: &Node) -> Result<Entry, String> {
    let entry = session.entry(&node.id).map_err(|error| error.to_string())?;
    if entry.line == node.line { Ok(entry) } else { Err(format!("line {} has its id too", entry.line)) }
}

fn render_json<'a>(log: &'a OpenLog, graph: &'a Graph) -> TreeJson<'a> {
    let session = &log.session;
    let header = session.header();
    let width = IdWidth::new(session.tree());
    let mut entries: Vec<_> = (0..graph.nodes.len())
        .map(|at| listed(session, &graph.nodes[at], graph.on_path[at], width))
        .collect();
    entries.sort_by_key(|entry| entry.line);
    TreeJson {
        file: &log.file,
        session: &header.id,
        session_version: header.version,
        cwd: header.cwd.as_deref(),
        time: iso_ms(header.timestamp),
        name: session.tree().name(),
        leaf: session.leaf(),
        n_entries: entries.len(),
        n_branches: graph.n_branches(),
        notes: log.notes().into_iter().chain(lost(graph)).collect(),
        entries,
    }
}

fn listed<'a>(session: &'a Session, node: &'a Node, on_path: bool, width: IdWidth) -> Listed<'a> {
    let entry = read(session, node);
    let kind = entry.as_ref().ok().map(|entry| &entry.kind);
    Listed {
        id: &node.id,
        parent_id: node.parent_id.as_ref(),
        line: node.line,
        time: (node.timestamp != 0).then(|| iso_ms(node.timestamp)),
        kind: kind.map(|kind| describe::kind(kind).to_owned()),
        role: kind.and_then(describe::role),
        label: session.tree().label(&node.id),
        on_path,
        text: kind.map(|kind| describe::line(kind, width)).unwrap_or_default(),
        error: entry.err(),
    }
}
