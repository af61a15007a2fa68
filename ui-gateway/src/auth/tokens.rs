//! The tokens of a job and the scope of each, compared in constant time: the two of `connect.json`,
//! and one for each invitation that was used, which can be taken back.

use crate::limits;
use invivo_jobdir::random;
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;
use subtle::ConstantTimeEq;
use tokio_util::sync::CancellationToken;

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
    /// All of them.
    pub const ALL: [Scope; 2] = [Scope::View, Scope::Control];

    /// Its name in `connect.json`, messages and logs.
    pub fn name(self) -> &'static str {
        match self {
            Scope::View => "view",
            Scope::Control => "control",
        }
    }
}

/// Which token: limits count by it, and it is revoked by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum TokenId {
    /// The one of `connect.json`.
    Own(Scope),
    /// Made for the invitation of this number.
    Guest(u64),
}

/// A token that a call has shown.
#[derive(Clone, Debug)]
pub struct Shown {
    pub id: TokenId,
    pub scope: Scope,
    /// Cancelled when the token is revoked.
    pub revoked: CancellationToken,
}

/// A guest's token, as it is listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    pub number: u64,
    pub scope: Scope,
    /// The guest who made the invitation; nothing where the token was one of `connect.json`.
    pub invited_by: Option<u64>,
    pub since: SystemTime,
    /// The invitation was used.
    pub is_used: bool,
}

#[derive(Debug)]
struct Entry {
    guest: Guest,
    /// Empty until the invitation is used, and equal to nothing then.
    token: String,
    revoked: CancellationToken,
}

#[derive(Debug, Default)]
struct Guests {
    last: u64,
    entries: BTreeMap<u64, Entry>,
}

/// Why there is no token for a guest.
#[derive(Debug, thiserror::Error)]
pub enum NoToken {
    #[error("{0} guests have tokens already: revoke one of them (invivo invite --list)")]
    TooMany(usize),
    #[error("the invitation was taken back")]
    Revoked,
    #[error("the system has no random numbers: {0}")]
    Random(#[from] std::io::Error),
}

/// The tokens of a job; clones share those of guests.
#[derive(Clone, Debug)]
pub struct Tokens {
    view: String,
    control: String,
    guests: Arc<Mutex<Guests>>,
}

impl Tokens {
    /// Those of `connect.json`.
    pub fn new(view: String, control: String) -> Tokens {
        Tokens {
            view,
            control,
            guests: Arc::default(),
        }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The token that is `token`; `None` for a wrong one.
    pub fn shown(&self, token: &[u8]) -> Option<Shown> {
        // An empty one would equal a field that was left empty.
        if token.is_empty() {
            return None;
        }
        // All comparisons are always made and each takes constant time, so that the time of a
        // refusal reveals nothing about the tokens.
        let control = bool::from(token.ct_eq(self.control.as_bytes()));
        let view = bool::from(token.ct_eq(self.view.as_bytes()));
        let guests = self.guests();
        let mut guest = None;
        for entry in guests.entries.values() {
            if bool::from(token.ct_eq(entry.token.as_bytes())) {
                guest = Some(entry);
            }
        }
        let own = |scope| Shown {
            id: TokenId::Own(scope),
            scope,
            revoked: CancellationToken::new(),
        };
        match (control, view) {
            (true, _) => Some(own(Scope::Control)),
            (false, true) => Some(own(Scope::View)),
            (false, false) => guest.map(|entry| Shown {
                id: TokenId::Guest(entry.guest.number),
                scope: entry.guest.scope,
                revoked: entry.revoked.clone(),
            }),
        }
    }

    /// The scope of `token`; `None` for a wrong one.
    pub fn scope(&self, token: &[u8]) -> Option<Scope> {
        self.shown(token).map(|shown| shown.scope)
    }

    /// A number for a guest who is invited, and has no token before the invitation is used.
    ///
    /// # Errors
    /// If there are too many.
    pub fn invite(&self, scope: Scope, by: TokenId) -> Result<u64, NoToken> {
        let mut guests = self.guests();
        if guests.entries.len() >= limits::GUESTS_MAX {
            return Err(NoToken::TooMany(limits::GUESTS_MAX));
        }
        let invited_by = match by {
            TokenId::Own(_) => None,
            TokenId::Guest(number) if guests.entries.contains_key(&number) => Some(number),
            TokenId::Guest(_) => return Err(NoToken::Revoked),
        };
        guests.last += 1;
        let number = guests.last;
        let entry = Entry {
            guest: Guest {
                number,
                scope,
                invited_by,
                since: SystemTime::now(),
                is_used: false,
            },
            token: String::new(),
            revoked: CancellationToken::new(),
        };
        guests.entries.insert(number, entry);
        Ok(number)
    }

    /// The token of a guest whose invitation is used.
    ///
    /// # Errors
    /// If it was revoked before.
    pub fn admit(&self, number: u64) -> Result<(String, Scope), NoToken> {
        let token = random::token()?;
        let mut guests = self.guests();
        let entry = guests.entries.get_mut(&number).ok_or(NoToken::Revoked)?;
        entry.token.clone_from(&token);
        entry.guest.is_used = true;
        Ok((token, entry.guest.scope))
    }

    /// Forgets an invitation that nobody has used in time.
    pub fn expire(&self, number: u64) {
        let mut guests = self.guests();
        if guests
            .entries
            .get(&number)
            .is_some_and(|entry| !entry.guest.is_used)
        {
            guests.entries.remove(&number);
        }
    }

    /// All guests, the first invited first.
    pub fn list(&self) -> Vec<Guest> {
        let guests = self.guests();
        guests
            .entries
            .values()
            .map(|entry| entry.guest.clone())
            .collect()
    }

    /// Takes back a guest's token, and those of whom it has invited: calls in progress end. Returns
    /// the numbers; none where there is no such guest.
    pub fn revoke(&self, number: u64) -> Vec<u64> {
        let mut guests = self.guests();
        let mut gone = Vec::new();
        // Whoever was invited has a higher number than the one who has invited.
        for (of, entry) in &guests.entries {
            let is_below = entry.guest.invited_by.is_some_and(|by| gone.contains(&by));
            if *of == number || is_below {
                gone.push(*of);
            }
        }
        for of in &gone {
            if let Some(entry) = guests.entries.remove(of) {
                entry.revoked.cancel();
            }
        }
        gone
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens() -> Tokens {
        Tokens::new("a".repeat(64), "b".repeat(64))
    }

    const VIEW: TokenId = TokenId::Own(Scope::View);

    #[test]
    fn an_empty_field_is_no_token() {
        let tokens = Tokens::new(String::new(), String::new());
        tokens.invite(Scope::Control, VIEW).expect("room");
        assert_eq!(tokens.scope(b""), None);
    }

    #[test]
    fn only_the_right_token_gives_a_scope() {
        let tokens = tokens();
        assert_eq!(tokens.scope("a".repeat(64).as_bytes()), Some(Scope::View));
        assert_eq!(
            tokens.scope("b".repeat(64).as_bytes()),
            Some(Scope::Control)
        );
        for wrong in ["", "a", &"a".repeat(65), &"c".repeat(64)] {
            assert_eq!(tokens.scope(wrong.as_bytes()), None);
        }
    }

    #[test]
    fn a_guest_has_a_token_of_its_own() {
        let tokens = tokens();
        let number = tokens.invite(Scope::View, VIEW).expect("room");
        assert!(!tokens.list()[0].is_used);
        let (token, scope) = tokens.admit(number).expect("admitted");
        assert_eq!(
            (scope, tokens.scope(token.as_bytes())),
            (Scope::View, Some(Scope::View))
        );
        let shown = tokens.shown(token.as_bytes()).expect("valid");
        assert_eq!(shown.id, TokenId::Guest(number));
        tokens.expire(number);
        assert!(tokens.list()[0].is_used, "a used one does not expire");
        assert_eq!(tokens.revoke(number), [number]);
        assert!(shown.revoked.is_cancelled() && tokens.shown(token.as_bytes()).is_none());
        assert!(tokens.admit(number).is_err() && tokens.revoke(number).is_empty());
    }

    /// Revoking a guest revokes those whom it has invited, and nobody else.
    #[test]
    fn guests_of_a_guest_go_with_it() {
        let tokens = tokens();
        let first = tokens.invite(Scope::Control, VIEW).expect("room");
        let other = tokens.invite(Scope::View, VIEW).expect("room");
        let child = tokens
            .invite(Scope::View, TokenId::Guest(first))
            .expect("room");
        let grandchild = tokens
            .invite(Scope::View, TokenId::Guest(child))
            .expect("room");
        let (token, _) = tokens.admit(grandchild).expect("admitted");
        assert_eq!(tokens.revoke(first), [first, child, grandchild]);
        assert_eq!(tokens.scope(token.as_bytes()), None);
        assert_eq!(
            tokens
                .list()
                .iter()
                .map(|guest| guest.number)
                .collect::<Vec<_>>(),
            [other]
        );
        assert!(tokens.invite(Scope::View, TokenId::Guest(child)).is_err());
    }

    #[test]
    fn guests_are_bounded() {
        let tokens = tokens();
        for _ in 0..limits::GUESTS_MAX {
            tokens.invite(Scope::View, VIEW).expect("room");
        }
        assert!(tokens.invite(Scope::View, VIEW).is_err());
        tokens.expire(1);
        tokens.invite(Scope::View, VIEW).expect("room again");
    }
}
