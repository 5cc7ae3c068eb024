//! The prices of what a strategy saves.

use wb_budget::Catalog;

use crate::report::rows::StrategyRow;

/// Adds prices: the one that is given, or the catalog's for the model.
pub(crate) fn priced(rows: Vec<StrategyRow>, price: Option<f64>) -> Vec<StrategyRow> {
    rows.into_iter()
        .map(|row| {
            let price = price.or_else(|| row.model.as_deref().and_then(catalog_price));
            let saved_tokens = row.tokens_before.saturating_sub(row.tokens_after);
            let saved = price.map(|price| saved_tokens as f64 * price / 1e6);
            StrategyRow { price, saved, ..row }
        })
        .collect()
}

fn catalog_price(model: &str) -> Option<f64> {
    Catalog::built_in().find(model)?.card.prices.as_ref().map(|prices| prices.input)
}
