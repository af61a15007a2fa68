//! The option `back-pressure`: what a rank does when records come faster than they are taken.

use super::value::Value;
use invivo_proto::shm::back_pressure;
use serde_json::json;

/// The policy of a rank that needs a packet when none is free.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BackPressure {
    /// Waits 10 ms at once and 1 % of the run at most, then drops and counts.
    #[default]
    Bounded,
    /// Drops and counts at once.
    Drop,
    /// Waits for as long as it takes: nothing is lost, and the application stands while it does.
    Block,
}

const NAMES: [(&str, BackPressure); 3] = [
    ("bounded", BackPressure::Bounded),
    ("drop", BackPressure::Drop),
    ("block", BackPressure::Block),
];

impl BackPressure {
    /// As the rank reads it from its memory.
    pub fn word(self) -> u32 {
        match self {
            // Numbers of the shared memory, not of this enum: the shim reads them without this
            // crate.
            BackPressure::Bounded => back_pressure::BOUNDED,
            BackPressure::Drop => back_pressure::DROP,
            BackPressure::Block => back_pressure::BLOCK,
        }
    }
}

impl Value for BackPressure {
    fn parse(text: &str) -> Result<BackPressure, String> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found
            .map(|(_, policy)| *policy)
            .ok_or_else(|| format!("{text:?} is none of bounded, drop and block; give one of them"))
    }

    fn text(&self) -> String {
        let found = NAMES.iter().find(|(_, policy)| policy == self);
        found
            .map(|(name, _)| (*name).to_owned())
            .unwrap_or_default()
    }

    fn json(&self) -> serde_json::Value {
        json!(self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every policy has a name and a word of its own.
    #[test]
    fn every_policy_has_its_own_name_and_word() {
        let mut words = Vec::new();
        for (name, policy) in NAMES {
            assert_eq!(BackPressure::parse(name), Ok(policy));
            assert_eq!(policy.text(), name);
            words.push(policy.word());
        }
        words.dedup();
        assert_eq!(words.len(), NAMES.len());
        assert!(BackPressure::parse("wait").is_err_and(|why| why.contains("give")));
    }
}
