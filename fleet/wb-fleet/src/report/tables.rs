//! The tables of a report, the same for a terminal and a page.

use wb_message::number::grouped;

use crate::report::{Report, StrategyRow};

/// A table with a sentence about it.
pub(crate) struct Table {
    pub(crate) title: &'static str,
    pub(crate) about: String,
    pub(crate) columns: Vec<&'static str>,
    pub(crate) rows: Vec<Vec<String>>,
}

impl Report {
    /// Returns the sentences in front of the tables.
    pub(crate) fn verdict(&self) -> Vec<String> {
        let all = &self.totals;
        let mut lines = vec![
            format!(
                "{} with {} and {} tokens.",
                count(all.read, "session"),
                count(all.messages, "message"),
                grouped(all.tokens)
            ),
            format!(
                "{} would be refused: {} longer than the window, {} against a rule of the provider. {} above the \
                 limit for a compaction.",
                grouped(all.refused),
                grouped(all.over_window),
                grouped(all.invalid),
                grouped(all.over_limit)
            ),
        ];
        if all.summaries > 0 {
            lines.push(format!(
                "{} of {} have mistakes.",
                grouped(all.untrue),
                count(all.summaries, "summary")
            ));
        }
        let unreadable = all.sessions - all.read;
        if unreadable > 0 {
            lines.push(format!("{} cannot be read.", count(unreadable, "row")));
        }
        lines
    }

    /// Returns the tables that have rows.
    pub(crate) fn tables(&self) -> Vec<Table> {
        let tables = vec![
            self.kinds(),
            self.formats(),
            self.heaviest(),
            self.broken_rules(),
            self.strategies(),
            self.findings(),
            self.untrue(),
            self.lost_rules(),
            self.unreadable(),
        ];
        tables.into_iter().filter(|table| !table.rows.is_empty()).collect()
    }

    fn kinds(&self) -> Table {
        let rows = self.kinds.iter();
        let rows = rows
            .map(|row| vec![row.kind.clone(), grouped(row.tokens), percent(row.tokens, self.totals.tokens)]);
        Table::new("Where tokens go", "", &["kind", "tokens", "share"], rows)
    }

    fn formats(&self) -> Table {
        let rows = self.formats.iter().map(|row| {
            let figures = [row.sessions, row.messages, row.tokens, row.most, row.over_limit].map(grouped);
            [std::slice::from_ref(&row.format), &figures[..]].concat()
        });
        let columns = ["format", "sessions", "messages", "tokens", "heaviest", "above limit"];
        Table::new("Formats", "", &columns, rows)
    }

    fn heaviest(&self) -> Table {
        let rows = self.heaviest.iter().map(|row| {
            let figures = [row.messages, row.tokens, row.window].map(grouped);
            [&[name(row.id.as_ref()), row.format.clone()], &figures[..]].concat()
        });
        Table::new("The heaviest sessions", "", &["session", "format", "messages", "tokens", "window"], rows)
    }

    fn broken_rules(&self) -> Table {
        let rows = self.broken_rules.iter();
        let rows = rows.map(|row| vec![row.rule.clone(), row.dialect.clone(), grouped(row.sessions)]);
        Table::new("Rules of providers that sessions break", "", &["rule", "provider", "sessions"], rows)
    }

    /// Sums up over the models; the object has them apart.
    fn strategies(&self) -> Table {
        let mut names: Vec<&str> = self.strategies.iter().map(|row| row.strategy.as_str()).collect();
        names.dedup();
        let rows = names.into_iter().map(|name| {
            let rows = || self.strategies.iter().filter(|row| row.strategy == name);
            let (before, after) = (rows().map(|row| row.tokens_before), rows().map(|row| row.tokens_after));
            let before: u64 = before.sum();
            let saved = before.saturating_sub(after.sum());
            let sessions = [rows().map(|row| row.compacted).sum(), rows().map(|row| row.sessions).sum()];
            let [compacted, sessions] = sessions.map(grouped);
            vec![
                name.to_owned(),
                format!("{compacted} of {sessions}"),
                grouped(saved),
                percent(saved, before),
                dollars(rows()),
            ]
        });
        let columns = ["strategy", "compacted", "tokens saved", "share", "saved"];
        let about = "Each time that the compacted sessions are sent, at the price of the model's input outside of a cache; \
                     models without a known price are left out of it.";
        Table::new("What a compaction saves", about, &columns, rows)
    }

    fn findings(&self) -> Table {
        let rows = self.findings.iter().map(|row| {
            vec![row.kind.replace('_', " "), row.example.clone().unwrap_or_default(), grouped(row.findings)]
        });
        let about = "Summaries in their own column, and those that agents left in their sessions.";
        Table::new("Mistakes in summaries", about, &["mistake", "example", "found"], rows)
    }

    fn untrue(&self) -> Table {
        let rows = self.untrue.iter();
        let rows = rows.map(|row| {
            let figures = [row.summaries, row.findings].map(grouped);
            [&[name(row.id.as_ref()), row.format.clone()], &figures[..]].concat()
        });
        let columns = ["session", "format", "untrue summaries", "mistakes"];
        Table::new("Sessions whose summaries have most mistakes", "", &columns, rows)
    }

    fn lost_rules(&self) -> Table {
        let rows = self.lost_rules.iter().map(|row| {
            let of_all = format!("{} of {}", grouped(row.sessions), grouped(row.all_sessions));
            vec![row.rule.clone(), row.lost_by.clone(), of_all]
        });
        let about =
            "The most frequent of each: what users always require or forbid and the result does not contain.";
        Table::new("Rules of users that get lost", about, &["rule", "lost by", "sessions"], rows)
    }

    fn unreadable(&self) -> Table {
        let rows = self.unreadable.iter();
        let rows = rows.map(|row| vec![row.example.clone(), name(row.id.as_ref()), grouped(row.sessions)]);
        Table::new("Rows that cannot be read", "", &["reason", "example", "rows"], rows)
    }
}

impl Table {
    fn new(
        title: &'static str,
        about: &str,
        columns: &[&'static str],
        rows: impl Iterator<Item = Vec<String>>,
    ) -> Self {
        Self { title, about: about.to_owned(), columns: columns.to_vec(), rows: rows.collect() }
    }
}

fn name(id: Option<&String>) -> String {
    id.cloned().unwrap_or_else(|| "–".to_owned())
}

fn dollars<'a>(rows: impl Iterator<Item = &'a StrategyRow>) -> String {
    let saved: Vec<f64> = rows.filter_map(|row| row.saved).collect();
    if saved.is_empty() { "–".to_owned() } else { format!("${:.2}", saved.iter().sum::<f64>()) }
}

fn percent(part: u64, whole: u64) -> String {
    format!("{:.1} %", part as f64 * 100.0 / whole.max(1) as f64)
}

fn count(n: u64, word: &str) -> String {
    let plural = if n == 1 { word.to_owned() } else { format!("{word}s").replace("ys", "ies") };
    format!("{} {plural}", grouped(n))
}
