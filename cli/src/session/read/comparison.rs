//! The comparisons in a session's file.

use super::super::comparison::{Comparison, Op, value_in};
use super::super::field::{FIELDS, Field};
use super::super::part::Part;
use super::reader::{Read, Reader, Spot};
use invivo_config::toml_file::{get, plain, unknown_of_many};
use toml::de::DeTable;

/// The keys of an assertion.
pub(super) const COMPARISON_KEYS: [&str; 7] = [
    "field",
    "op",
    "value",
    "function",
    "rank",
    "source",
    "destination",
];

impl Reader<'_> {
    /// Of a field with a value.
    pub(super) fn comparison(&self, value: Spot<'_, '_>, table: &DeTable<'_>) -> Read<Comparison> {
        let need = |key: &str| {
            let missing = || {
                self.error(
                    &value.span(),
                    format!("`{key}` is missing: field, op and value are needed"),
                )
            };
            get(table, key).ok_or_else(missing)
        };
        let mut names: Vec<(&str, &Field)> =
            FIELDS.iter().map(|field| (field.name, field)).collect();
        names.sort_by_key(|(name, _)| *name);
        // Several answers have fields of one name, which count the same and have the same unit.
        names.dedup_by_key(|(name, _)| *name);
        let field = self.choice(need("field")?, "field", &names)?;
        let op = self.choice(need("op")?, "op", &Op::ALL)?;
        let against = need("value")?;
        let wrong = || self.wrong(against, "value", "a number, or a text as \"2s\"");
        let written = plain(against.get_ref()).ok_or_else(wrong)?;
        // Read now: an error in the unit is an error of the file, not of the step.
        let number = value_in(field.unit, &written)
            .map_err(|what| self.error(&against.span(), format!("value: {what}")))?;
        let rank = |key| {
            get(table, key)
                .map(|value| self.number(value, key))
                .transpose()
        };
        let part = Part {
            function: get(table, "function")
                .map(|value| self.function(value))
                .transpose()?,
            rank: rank("rank")?,
            source: rank("source")?,
            destination: rank("destination")?,
        };
        Ok(Comparison {
            field: field.name.to_owned(),
            part,
            op,
            value: number,
            written,
        })
    }

    fn function(&self, value: Spot<'_, '_>) -> Read<String> {
        let recorded = invivo_proto::mpi::FUNCTIONS
            .iter()
            .filter(|function| function.recorded);
        let name = self.text(value, "function")?;
        let names: Vec<&str> = recorded.map(|function| function.name).collect();
        if names.contains(&name.as_str()) {
            return Ok(name);
        }
        Err(self.error(
            &value.span(),
            unknown_of_many("recorded MPI function", &name, &names),
        ))
    }
}
