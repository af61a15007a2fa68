//! The two tokens of a job and the scope of each, compared in constant time.

use serde::Serialize;
use subtle::ConstantTimeEq;

/// What a token permits. Ordered: each scope includes those before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Calls that only read.
    View,
    /// Calls that act on the application or the measurement, and all others.
    Control,
}

impl Scope {
    /// Its name in `connect.json`, messages and logs.
    pub fn name(self) -> &'static str {
        match self {
            Scope::View => "view",
            Scope::Control => "control",
        }
    }
}

/// The tokens of a job.
#[derive(Clone)]
pub struct Tokens {
    pub view: String,
    pub control: String,
}

impl Tokens {
    /// The token for `scope`.
    pub fn of(&self, scope: Scope) -> &str {
        match scope {
            Scope::View => &self.view,
            Scope::Control => &self.control,
        }
    }

    /// The scope of `token`; `None` for a wrong one.
    pub fn scope(&self, token: &[u8]) -> Option<Scope> {
        // Both comparisons are always made and each takes constant time, so that the time of a
        // refusal reveals nothing about the tokens.
        let view = token.ct_eq(self.view.as_bytes());
        let control = token.ct_eq(self.control.as_bytes());
        match (bool::from(control), bool::from(view)) {
            (true, _) => Some(Scope::Control),
            (false, true) => Some(Scope::View),
            (false, false) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_right_token_gives_a_scope() {
        let tokens = Tokens {
            view: "a".repeat(64),
            control: "b".repeat(64),
        };
        assert_eq!(tokens.scope("a".repeat(64).as_bytes()), Some(Scope::View));
        assert_eq!(
            tokens.scope("b".repeat(64).as_bytes()),
            Some(Scope::Control)
        );
        for wrong in ["", "a", &"a".repeat(65), &"c".repeat(64)] {
            assert_eq!(tokens.scope(wrong.as_bytes()), None);
        }
    }
}
