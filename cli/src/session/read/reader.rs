//! Reads single values of a session's file, with the line of what is wrong.

use invivo_config::toml_file::{self, FileError, Source, plain};
use std::ops::Range;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

pub type Read<T> = Result<T, FileError>;
pub type Spot<'t, 'i> = &'t Spanned<DeValue<'i>>;

/// Reads values of one file.
pub struct Reader<'a> {
    pub source: &'a Source<'a>,
}

impl Reader<'_> {
    pub fn error(&self, span: &Range<usize>, what: impl std::fmt::Display) -> FileError {
        self.source.error_at(span, what)
    }

    pub fn wrong(&self, value: Spot<'_, '_>, key: &str, wanted: &str) -> FileError {
        let kind = value.get_ref().type_str();
        self.error(
            &value.span(),
            format!("{key} is a {kind} here; give {wanted}"),
        )
    }

    /// Refuses keys that a table does not have.
    pub fn known(&self, table: &DeTable<'_>, noun: &str, names: &[&str]) -> Read<()> {
        let stranger = table
            .keys()
            .find(|key| !names.contains(&key.get_ref().as_ref()));
        stranger.map_or(Ok(()), |key| {
            Err(self.error(&key.span(), toml_file::unknown(noun, key.get_ref(), names)))
        })
    }

    pub fn text(&self, value: Spot<'_, '_>, key: &str) -> Read<String> {
        let text = value.get_ref().as_str().map(str::to_owned);
        text.ok_or_else(|| self.wrong(value, key, "a text in quotes"))
    }

    pub fn number(&self, value: Spot<'_, '_>, key: &str) -> Read<u32> {
        let number = plain(value.get_ref()).and_then(|text| text.parse().ok());
        number.ok_or_else(|| self.wrong(value, key, "a whole number"))
    }

    pub fn parsed<T>(
        &self,
        value: Spot<'_, '_>,
        key: &str,
        parse: fn(&str) -> Result<T, String>,
    ) -> Read<T> {
        let text = plain(value.get_ref()).ok_or_else(|| self.wrong(value, key, "a plain value"))?;
        parse(&text).map_err(|what| self.error(&value.span(), format!("{key}: {what}")))
    }

    pub fn table<'t, 'i>(
        &self,
        value: Spot<'t, 'i>,
        key: &str,
        wanted: &str,
    ) -> Read<&'t DeTable<'i>> {
        value
            .get_ref()
            .as_table()
            .ok_or_else(|| self.wrong(value, key, wanted))
    }

    /// One of some names.
    pub fn choice<T: Copy>(&self, value: Spot<'_, '_>, noun: &str, all: &[(&str, T)]) -> Read<T> {
        let text = self.text(value, noun)?;
        let found = all
            .iter()
            .find(|(name, _)| *name == text)
            .map(|(_, one)| *one);
        let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
        found.ok_or_else(|| self.error(&value.span(), toml_file::unknown(noun, &text, &names)))
    }
}
