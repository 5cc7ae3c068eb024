//! `wb models`: the model catalog.

use std::io::{self, Write};

use anyhow::Result;
use serde::Serialize;
use serde_json::Value;
use wb_budget::{CatalogEntry, Prices};

use crate::args::Models;
use crate::session::config::catalog;
use crate::terminal::escape::escaped;
use crate::terminal::number::grouped;
use crate::terminal::shell::Shell;
use crate::terminal::style::{DIM, HEAD};
use crate::terminal::table::{Cell, Table};
use crate::terminal::user_error::UserError;
use crate::terminal::wrap::Page;

/// The answer of `wb models --json`.
#[derive(Serialize)]
struct ModelsJson {
    models: Vec<Value>,
}

/// Returns the figures of a model under names as all answers of `wb` have them; the catalog's own
/// are those of its file.
fn entry(model: &CatalogEntry) -> Result<Value> {
    Ok(snake_case(serde_json::to_value(model)?))
}

fn snake_case(value: Value) -> Value {
    let name = |name: String| {
        let step = |char: char| {
            let is_step = char.is_ascii_uppercase();
            [is_step.then_some('_'), Some(char.to_ascii_lowercase())].into_iter().flatten()
        };
        name.chars().flat_map(step).collect::<String>()
    };
    match value {
        Value::Object(fields) => {
            fields.into_iter().map(|(key, value)| (name(key), snake_case(value))).collect()
        }
        Value::Array(list) => list.into_iter().map(snake_case).collect(),
        value => value,
    }
}

/// Shows one model, or all.
pub(crate) fn models(shell: &Shell, args: &Models) -> Result<()> {
    let catalog = catalog(shell)?;
    let models: Vec<&CatalogEntry> = match &args.id {
        None => catalog.models.iter().collect(),
        Some(id) => vec![catalog.look_up(id).map_err(|unknown| {
            let hint =
                "`wb models` lists those that are known; the settings may say more, under [models.\"ID\"]";
            UserError::new(unknown.to_string(), hint)
        })?],
    };
    if shell.is_json {
        let models = models.into_iter().map(entry).collect::<Result<_>>()?;
        return shell.print_json(&ModelsJson { models });
    }
    shell.print(|page| match models[..] {
        [model] if args.id.is_some() => one(page, model),
        _ => all(page, &models),
    })
}

fn all(page: &mut Page<'_>, models: &[&CatalogEntry]) -> io::Result<()> {
    let titles = ["model", "window", "answer", "input", "cached", "write", "output", "as of"];
    let mut table = Table::new(titles);
    for model in models {
        let card = &model.card;
        let price = |of: fn(&Prices) -> f64| {
            card.prices.as_ref().map_or_else(String::new, |prices| dollars(of(prices)))
        };
        let cells = [
            escaped(&card.id).into_owned(),
            grouped(card.context_window),
            grouped(card.max_output_tokens),
            price(|it| it.input),
            price(|it| it.cached),
            price(|it| it.write),
            price(|it| it.output),
            model.as_of.clone(),
        ];
        table.push(cells.into_iter().map(Cell::from).collect(), "");
    }
    table.write(page)?;
    page.prose("", 0, &format!("{DIM}tokens; US dollars per million tokens{DIM:#}"))?;
    let ends = models.iter().filter_map(|model| Some(format!("{} {}", model.card.id, model.ends.as_ref()?)));
    match ends.collect::<Vec<_>>() {
        ends if ends.is_empty() => Ok(()),
        ends => page.prose("", 2, &format!("{DIM}retired on: {}{DIM:#}", escaped(&ends.join(", ")))),
    }
}

fn dollars(price: f64) -> String {
    format!("{price}")
}

fn one(page: &mut Page<'_>, model: &CatalogEntry) -> io::Result<()> {
    let card = &model.card;
    writeln!(page, "{HEAD}{}{HEAD:#}", escaped(&card.id))?;
    for (name, value) in facts(model) {
        page.prose(&format!("  {DIM}{name:<9}{DIM:#} "), 12, &escaped(&value))?;
    }
    Ok(())
}

/// Returns the facts about a model, as names and descriptions.
fn facts(model: &CatalogEntry) -> Vec<(&'static str, String)> {
    let card = &model.card;
    let fact = |name, text: &str| (!text.is_empty()).then(|| (name, text.to_owned()));
    let long = model.long_prompts.as_ref();
    let facts = [
        fact("provider", &card.provider),
        Some(("window", format!("{} tokens", grouped(card.context_window)))),
        (card.max_output_tokens > 0)
            .then(|| ("answer", format!("at most {} tokens", grouped(card.max_output_tokens)))),
        card.prices.as_ref().map(|prices| ("prices", prices_in_words(prices))),
        long.map(|long| {
            (
                "long",
                format!("above {} tokens: {}", grouped(long.above_tokens), prices_in_words(&long.prices)),
            )
        }),
        model.cache.as_ref().map(|cache| {
            let (life, long_life) = (cache.life_seconds / 60, cache.long_life_seconds / 60);
            (
                "cache",
                format!("lifetime {life} minutes ({long_life} for writes at ${})", dollars(cache.long_write)),
            )
        }),
        fact("tokens", model.tokenizer.as_deref().unwrap_or_default()),
        fact("dialect", &model.dialect),
        fact("aliases", &model.aliases.join(", ")),
        fact("as of", &model.as_of),
        fact("ends", model.ends.as_deref().unwrap_or_default()),
        fact("sources", &model.sources.join(" ")),
    ];
    facts.into_iter().flatten().collect()
}

fn prices_in_words(prices: &Prices) -> String {
    let Prices { input, cached, write, output, .. } = prices;
    format!("input {input}, cached {cached}, write {write}, output {output} US dollars per million tokens")
}
