//! How much of a bench is run: what the command line says about turns and programs.

/// Turns in a short and in a full bench.
pub type Turns = (usize, usize);

/// What the command line asks for.
#[derive(Clone, Debug, Default)]
pub struct Effort {
    /// As many turns as narrow bounds take.
    pub full: bool,
    /// Another number of turns than the bench's own.
    pub turns: Option<usize>,
    /// Only what has this in its name: nothing is written then.
    pub only: Option<String>,
}

impl Effort {
    /// The turns of a bench that has so many of its own.
    pub fn turns(&self, (short, full): Turns) -> usize {
        let own = if self.full { full } else { short };
        self.turns.unwrap_or(own).max(1)
    }

    /// Whether something of this name is asked for.
    pub fn wants(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only))
    }
}
