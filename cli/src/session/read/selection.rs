//! Reads the step that changes what is recorded.

use super::reader::{Read, Reader, Spot};
use invivo_config::Value;
use invivo_config::toml_file::get;
use invivo_proto::control::order::Order;
use invivo_proto::control::selection::{Fits, InvalidRule, Rule, Selection};

const WANTED: &str = "\"clear\", { exclude = \"tiny_*\" }, { include = [\"solve*\", \
                      \"group:coll\"] } or { load = \"FILE\" }";

impl Reader<'_> {
    pub fn selection(&self, value: Spot<'_, '_>) -> Read<Order> {
        let selection = if value.get_ref().is_str() {
            self.choice(value, "selection", &[("clear", ())])?;
            Selection {
                replaces: true,
                rules: Vec::new(),
            }
        } else {
            self.change(value)?
        };
        let checked = Order::Select(selection).checked();
        checked.map_err(|refused| self.error(&value.span(), refused))
    }

    fn change(&self, value: Spot<'_, '_>) -> Read<Selection> {
        let table = self.table(value, "selection", WANTED)?;
        let words = ["exclude", "include", "load"];
        self.known(table, "key of selection", &words)?;
        match words.map(|word| get(table, word)) {
            [Some(patterns), None, None] => self.rules(patterns, "exclude"),
            [None, Some(patterns), None] => self.rules(patterns, "include"),
            [None, None, Some(file)] => {
                let file = self.text(file, "load")?;
                // Read now: a mistake in it is told before anything is done.
                let read = <Selection as Value>::parse(&format!("@{file}"));
                read.map_err(|why| self.error(&value.span(), format!("load: {why}")))
            }
            _ => Err(self.wrong(value, "selection", WANTED)),
        }
    }

    /// A pattern, or a list of them.
    fn rules(&self, patterns: Spot<'_, '_>, word: &str) -> Read<Selection> {
        let include = word == "include";
        let rule = |pattern: Spot<'_, '_>| {
            let fits: Result<Fits, InvalidRule> = self.text(pattern, word)?.parse();
            let fits = fits.map_err(|why| self.error(&pattern.span(), format!("{word}: {why}")));
            fits.map(|fits| Rule { include, fits })
        };
        let rules = match patterns.get_ref().as_array() {
            Some(all) if all.is_empty() => return Err(self.wrong(patterns, word, "some patterns")),
            Some(all) => all.iter().map(rule).collect::<Read<_>>()?,
            None => vec![rule(patterns)?],
        };
        Ok(Selection {
            replaces: false,
            rules,
        })
    }
}
