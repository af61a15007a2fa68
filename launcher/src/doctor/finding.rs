//! What a check found: what, why, and what to do next.

use serde_json::json;

/// How grave it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// As it should be.
    Good,
    /// Jobs run; somebody may want to know.
    Note,
    /// Jobs do not run, or not under observation.
    Failed,
}

/// What a check found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The check's name.
    pub check: &'static str,
    /// How grave it is.
    pub level: Level,
    /// What was found, and why that matters.
    pub what: String,
    /// What to do or type; of good news nothing.
    pub next: Option<String>,
}

impl Finding {
    /// All is well.
    pub fn good(check: &'static str, what: impl Into<String>) -> Finding {
        Finding {
            check,
            level: Level::Good,
            what: what.into(),
            next: None,
        }
    }

    /// Worth knowing.
    pub fn note(check: &'static str, what: impl Into<String>, next: impl Into<String>) -> Finding {
        Finding {
            check,
            level: Level::Note,
            what: what.into(),
            next: Some(next.into()),
        }
    }

    /// In the way.
    pub fn failed(
        check: &'static str,
        what: impl Into<String>,
        next: impl Into<String>,
    ) -> Finding {
        Finding {
            check,
            level: Level::Failed,
            what: what.into(),
            next: Some(next.into()),
        }
    }

    /// One line, and a second one with what to do.
    pub fn text(&self) -> String {
        let mut text = format!("{:<7}{:<14}{}\n", self.level.word(), self.check, self.what);
        if let Some(next) = &self.next {
            text += &format!("{:21}next: {next}\n", "");
        }
        text
    }

    /// For programs.
    pub fn json(&self) -> serde_json::Value {
        json!({
            "check": self.check,
            "level": self.level.word(),
            "what": self.what,
            "next": self.next,
        })
    }
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Level::Good => "ok",
            Level::Note => "note",
            Level::Failed => "FAILED",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_says_what_to_do_next() {
        let text = Finding::failed("state", "it is not ours", "set XDG_STATE_HOME").text();
        assert_eq!(
            text,
            "FAILED state         it is not ours\n                     next: set XDG_STATE_HOME\n"
        );
        assert_eq!(Finding::good("state", "fine").text().lines().count(), 1);
        let json = Finding::note("slots", "few", "ask for more").json();
        assert_eq!(
            (json["level"].as_str(), json["next"].as_str()),
            (Some("note"), Some("ask for more"))
        );
    }
}
