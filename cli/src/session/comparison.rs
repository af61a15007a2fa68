//! Comparisons of an answer's numbers with values.

use super::field::{Answer, Field, Kind, Unit};
use super::part::Part;
use invivo_config::{Bytes, Time, Value};
use std::fmt::{Display, Formatter};

/// How two numbers are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `==`
    Equal,
    /// `!=`
    NotEqual,
    /// `>=`
    GreaterOrEqual,
    /// `>`
    Greater,
}

impl Op {
    /// By the sign that a file has for it.
    pub const ALL: [(&str, Op); 6] = [
        ("<", Op::Less),
        ("<=", Op::LessOrEqual),
        ("==", Op::Equal),
        ("!=", Op::NotEqual),
        (">=", Op::GreaterOrEqual),
        (">", Op::Greater),
    ];

    fn holds(self, left: f64, right: f64) -> bool {
        match self {
            Op::Less => left < right,
            Op::LessOrEqual => left <= right,
            Op::Equal => left == right,
            Op::NotEqual => left != right,
            Op::GreaterOrEqual => left >= right,
            Op::Greater => left > right,
        }
    }
}

/// A field held against a value.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// The field's name.
    pub field: String,
    /// Of which part of the answer.
    pub part: Part,
    /// How.
    pub op: Op,
    /// With what, in the field's unit.
    pub value: f64,
    /// That as the file has it.
    pub written: String,
}

impl Display for Comparison {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        // As the file spells it, so that a message quotes what the user wrote.
        let sign = Op::ALL
            .iter()
            .find(|(_, op)| *op == self.op)
            .map_or("?", |(sign, _)| sign);
        write!(f, "{}", self.field)?;
        let Part {
            function,
            rank,
            source,
            destination,
        } = &self.part;
        if let Some(function) = function {
            write!(f, " of {function}")?;
        }
        if let Some(rank) = rank {
            write!(f, " on rank {rank}")?;
        }
        if let Some(source) = source {
            write!(f, " from rank {source}")?;
        }
        if let Some(destination) = destination {
            write!(f, " to rank {destination}")?;
        }
        write!(f, " {sign} {}", self.written)
    }
}

impl Comparison {
    /// Whether it holds, and the field's number in its unit.
    ///
    /// # Errors
    /// When the answer does not have the number.
    pub fn evaluate(&self, kind: Kind, answer: &Answer) -> Result<(bool, f64), String> {
        let field = Field::find(kind, &self.field)
            .ok_or_else(|| format!("an answer to {} has no field {}", kind.name(), self.field))?;
        let number = field.number(answer, &self.part)?;
        Ok((self.op.holds(number, self.value), number))
    }
}

/// Reads a value in a field's unit: a plain number, or with a unit as `2s`, `64KiB`, `20%`.
///
/// # Errors
/// What it should look like.
pub fn value_in(unit: Unit, text: &str) -> Result<f64, String> {
    // Rust also reads `inf` and `nan`, with which every comparison or none would hold.
    if let Some(number) = text.parse::<f64>().ok().filter(|number| number.is_finite()) {
        return Ok(number);
    }
    let (with_unit, like) = match unit {
        Unit::Count => (None, "a number"),
        Unit::Time => (
            Time::parse(text).ok().map(|time| time.ns() as f64),
            "a number of ns, or as \"2s\"",
        ),
        Unit::Bytes => (
            Bytes::parse(text).ok().map(|bytes| bytes.0 as f64),
            "a number of bytes, or as \"64KiB\"",
        ),
        Unit::Share => {
            let number = text
                .strip_suffix('%')
                .and_then(|number| number.trim().parse::<f64>().ok());
            (
                number.map(|number| number / 100.0),
                "a number from 0 to 1, or as \"20%\"",
            )
        }
    };
    with_unit.ok_or_else(|| format!("{text:?} is no value; give {like}"))
}

/// A number in a field's unit, as people read it.
pub fn shown(unit: Unit, number: f64) -> String {
    use invivo_report::units;
    match unit {
        // Counts are whole.
        Unit::Count => units::count(number as u64),
        Unit::Time => units::duration_f64(number),
        Unit::Bytes => units::bytes(number as u64),
        Unit::Share => units::share(number, 1.0),
    }
}
