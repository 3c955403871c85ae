//! Filters as they are written on the command line: `key=value`, one or many.
//!
//! Promises: an unknown key and an invalid value are errors that name the valid ones. It checks
//! no limits: the query does.

use agentsite_protocol::{BadMoney, Filter};

/// The keys, as the error about an unknown one lists them.
const KEYS: &str = "tag, protocol, input, output, region, owner, live, max-price, min-trust";

/// Reads filters; the same key again is an alternative.
pub(super) fn read(pairs: &[String]) -> Result<Filter, String> {
    let mut filter = Filter::default();
    for pair in pairs {
        let (key, value) = pair
            .split_once('=')
            .map(|(key, value)| (key.trim(), value.trim()))
            .filter(|(_, value)| !value.is_empty())
            .ok_or_else(|| format!("`{pair}` is not a filter: write it as KEY=VALUE, like tag=math"))?;
        let values = match key {
            "tag" | "tags" => &mut filter.tags,
            "protocol" | "protocols" => &mut filter.protocols,
            "input" | "inputModes" => &mut filter.input_modes,
            "output" | "outputModes" => &mut filter.output_modes,
            "region" | "regions" => &mut filter.regions,
            "owner" | "owners" => &mut filter.owners,
            "live" => {
                filter.live = value.parse().map_err(|_| "live takes true or false".to_owned())?;
                continue;
            }
            "max-price" | "maxPrice" => {
                let wrong =
                    |error: BadMoney| format!("{key} takes a price such as 0.5 or \"0.50 USD\": {error}");
                filter.max_price = Some(value.parse().map_err(wrong)?);
                continue;
            }
            "min-trust" | "minTrust" => {
                filter.min_trust = Some(number(key, value)?);
                continue;
            }
            _ => return Err(format!("unknown filter `{key}`; valid filters: {KEYS}")),
        };
        values.push(value.to_owned());
    }
    Ok(filter)
}

fn number(key: &str, value: &str) -> Result<f64, String> {
    value.parse().map_err(|_| format!("{key} takes a number, not `{value}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(pairs: &[&str]) -> Result<Filter, String> {
        read(&pairs.iter().map(|pair| (*pair).to_owned()).collect::<Vec<_>>())
    }

    #[test]
    fn every_filter_has_a_key_and_lists_grow() {
        let all = [
            "tag=math",
            "tag=sums",
            "protocol=mcp",
            "input=text/plain",
            "output=image/png",
            "region=eu",
            "owner=admin",
            "live=true",
            "max-price=0.5",
            "min-trust=0.2",
        ];
        let filter = filter(&all).unwrap();
        assert_eq!(filter.tags, ["math", "sums"]);
        assert_eq!(
            (filter.live, filter.max_price, filter.min_trust),
            (true, Some("0.5".parse().unwrap()), Some(0.2))
        );
        assert!(filter.lists().iter().all(|(_, values)| !values.is_empty()));
    }

    #[test]
    fn what_is_no_filter_is_told_with_those_there_are() {
        assert!(filter(&["colour=red"]).unwrap_err().contains("min-trust"));
        for wrong in ["tag", "tag=", "live=maybe", "max-price=cheap", "max-price=-1", "max-price=1 usd"] {
            assert!(filter(&[wrong]).is_err(), "{wrong}");
        }
    }
}
