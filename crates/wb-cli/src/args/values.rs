//! Parsers of option values: tokens, ratios, prices, policies for images.

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use wb_budget::{AUTO_CONDENSE_POLICY, BudgetPolicy, Prices};
use wb_passes::ImagePolicy;

/// The policies for old images.
const IMAGES: [(ImagePolicy, &str); 3] = [
    (ImagePolicy::Keep, "Keep them"),
    (ImagePolicy::Marker, "Replace each with a placeholder"),
    (ImagePolicy::Drop, "Remove them"),
];

/// Parses a policy for images.
pub(crate) fn images() -> impl TypedValueParser<Value = ImagePolicy> {
    let known = IMAGES.map(|(policy, help)| PossibleValue::new(policy.name()).help(help));
    PossibleValuesParser::new(known).map(|name| {
        let named = IMAGES.into_iter().find(|(policy, _)| policy.name() == name);
        named.map_or_else(ImagePolicy::default, |(policy, _)| policy)
    })
}

/// Parses a number of tokens, with `k` for thousands and `m` for millions; `_` and `,` may group
/// digits.
pub(crate) fn tokens(text: &str) -> Result<u64, String> {
    let plain = text.trim().replace(['_', ','], "").to_ascii_lowercase();
    let (digits, factor) = match plain.strip_suffix('k') {
        Some(digits) => (digits, 1_000),
        None => plain.strip_suffix('m').map_or((plain.as_str(), 1), |digits| (digits, 1_000_000)),
    };
    if digits.strip_prefix('-').is_some_and(|digits| whole(digits, factor).is_some()) {
        return Err("must not be negative".to_owned());
    }
    whole(digits, factor).ok_or_else(|| "expected whole tokens, such as 200000, 200k or 1.5m".to_owned())
}

/// Multiplies a decimal number; nothing if the product is not whole or too large.
fn whole(digits: &str, factor: u64) -> Option<u64> {
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let is_number = !whole.is_empty() && [whole, fraction].concat().bytes().all(|byte| byte.is_ascii_digit());
    let scale = 10_u64.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let scaled = is_number.then(|| format!("{whole}{fraction}").parse::<u64>().ok())??;
    let product = scaled.checked_mul(factor)?;
    product.is_multiple_of(scale).then(|| product / scale)
}

/// Parses the tokens of a window, which are not 0.
pub(crate) fn window(text: &str) -> Result<u64, String> {
    match tokens(text)? {
        0 => Err("must be positive".to_owned()),
        window => Ok(window),
    }
}

/// The size that a result should have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum TargetSize {
    /// A number of tokens.
    Tokens(u64),
    /// A share of the messages, in hundredths.
    Percent(f64),
}

impl TargetSize {
    /// Returns the tokens for messages of this weight.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a size is not negative")]
    pub(crate) fn tokens(self, messages_tokens: u64) -> u64 {
        match self {
            Self::Tokens(tokens) => tokens,
            Self::Percent(percent) => (messages_tokens as f64 * percent / 100.0) as u64,
        }
    }
}

impl std::fmt::Display for TargetSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Tokens(tokens) => tokens.fmt(f),
            Self::Percent(percent) => write!(f, "{percent}%"),
        }
    }
}

/// Parses the size of a result: tokens, or a percentage between 0 and 100.
pub(crate) fn target_size(text: &str) -> Result<TargetSize, String> {
    let Some(percent) = text.trim().strip_suffix('%') else { return window(text).map(TargetSize::Tokens) };
    let percent: f64 = percent.trim().parse().map_err(|_| "expected a percentage such as 15%".to_owned())?;
    let is_share = percent > 0.0 && percent < 100.0;
    if is_share { Ok(TargetSize::Percent(percent)) } else { Err("must be between 0% and 100%".to_owned()) }
}

/// Parses a share of a window.
pub(crate) fn ratio(text: &str) -> Result<f64, String> {
    let trigger_ratio: f64 = text.parse().map_err(|_| "expected a number such as 0.75".to_owned())?;
    let policy = BudgetPolicy { trigger_ratio, ..AUTO_CONDENSE_POLICY };
    policy.validated().map(|policy| policy.trigger_ratio).map_err(|error| error.to_string())
}

/// Parses prices such as `input=3,output=15`.
pub(crate) fn prices(text: &str) -> Result<Prices, String> {
    let mut given = [None; 4];
    for part in text.split(',') {
        let (name, price) = part.split_once('=').ok_or("expected prices such as input=3,output=15")?;
        let at = ["input", "cached", "write", "output"].iter().position(|known| *known == name.trim());
        let at =
            at.ok_or_else(|| format!("unknown price `{name}` (available: input, cached, write, output)"))?;
        if given[at].is_some() {
            return Err(format!("{} is given twice", name.trim()));
        }
        let price: f64 = price.trim().parse().map_err(|_| format!("{price} is not a price"))?;
        let is_price = price.is_finite() && price >= 0.0;
        given[at] = Some(if is_price { price } else { return Err(format!("{price} is not a price")) });
    }
    let [input, cached, write, output] = given;
    let input = input.ok_or("the price of input is needed: input=3")?;
    let (cached, write) = (cached.unwrap_or(input), write.unwrap_or(input));
    Ok(Prices { input, cached, write, output: output.unwrap_or(0.0), as_of: String::new() })
}

/// Returns the text that [`prices`] parses.
pub(crate) fn prices_option(prices: &Prices) -> String {
    let Prices { input, cached, write, output, .. } = prices;
    format!("input={input},cached={cached},write={write},output={output}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_may_be_grouped_and_abbreviated() {
        assert_eq!(tokens("200_000"), Ok(200_000));
        assert_eq!(tokens("32k"), Ok(32_000));
        assert_eq!(tokens("1M"), Ok(1_000_000));
        assert_eq!(tokens("148,464"), Ok(148_464));
        assert_eq!(tokens("1.5m"), Ok(1_500_000));
        assert_eq!(tokens("0.25k"), Ok(250));
        for bad in ["", "k", ".5k", "1.5", "1.2345k", "1e3", "99999999999999999999", "9999999999999999m"] {
            assert!(tokens(bad).unwrap_err().starts_with("expected whole tokens"), "{bad}");
        }
        for bad in ["-1", "-200k", "-1.5m"] {
            assert!(tokens(bad).unwrap_err().contains("must not be negative"), "{bad}");
        }
    }

    #[test]
    fn a_target_is_tokens_or_a_percentage() {
        assert_eq!(target_size("12k"), Ok(TargetSize::Tokens(12_000)));
        assert_eq!(
            target_size("12.5%").map(|size| (size.tokens(80_000), size.to_string())),
            Ok((10_000, "12.5%".to_owned()))
        );
        for bad in ["0", "0%", "100%", "NaN%", "x%", "-3%", "%"] {
            assert!(target_size(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn prices_left_out_cost_as_much_as_input() {
        let all = Prices { input: 3.0, cached: 0.3, write: 3.75, output: 15.0, as_of: String::new() };
        assert_eq!(prices(&prices_option(&all)), Ok(all.clone()));
        assert_eq!(prices("input=3,cached=0.3,write=3.75,output=15"), Ok(all));
        let input = Prices { input: 2.0, cached: 2.0, write: 2.0, ..Prices::default() };
        assert_eq!(prices("input=2"), Ok(input));
        for bad in ["", "3", "output=15", "input=x", "input=-1", "input=NaN", "inputs=3", "input=3,input=5"] {
            assert!(prices(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn ratios_outside_of_the_unit_interval_are_refused() {
        assert_eq!(ratio("0.5"), Ok(0.5));
        for bad in ["0", "1.5", "-1", "NaN", "inf", "much"] {
            assert!(ratio(bad).is_err(), "{bad}");
        }
    }
}
