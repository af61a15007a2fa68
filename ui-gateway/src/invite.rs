//! Invitations: a secret that gives a token, once and soon. It is what a one-time URL carries, so
//! that no token stands in a terminal's history or in a browser's.

use crate::auth::{Scope, Tokens};
use crate::door::PeerKey;
use crate::limits;
use crate::rate::{Buckets, Rate};
use invivo_grpc::v1;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tonic::Status;

/// Random bytes of a secret; 256 bits cannot be guessed.
const SECRET_BYTES: usize = 32;
/// Characters of a secret as text.
const SECRET_LENGTH: usize = 2 * SECRET_BYTES;

/// The invitations that are open; clones share them.
#[derive(Clone)]
pub struct Invites {
    tokens: Tokens,
    /// Where the gateway listens with TLS; nothing where it does not.
    url: Option<String>,
    valid: Duration,
    open: Arc<Mutex<Open>>,
}

struct Open {
    invites: Vec<Invite>,
    attempts: Buckets<PeerKey>,
}

struct Invite {
    secret: String,
    scope: Scope,
    until: Instant,
}

impl Invites {
    /// No invitations; those to come are good for `valid`.
    pub fn new(tokens: Tokens, url: Option<String>, valid: Duration) -> Invites {
        let rate = const { Rate::per_minute(limits::REDEEMS_PER_MINUTE, limits::REDEEMS_BURST) };
        let open = Open {
            invites: Vec::new(),
            attempts: Buckets::new(rate, limits::REDEEMERS_MAX),
        };
        Invites {
            tokens,
            url,
            valid,
            open: Arc::new(Mutex::new(open)),
        }
    }

    fn open(&self, now: Instant) -> MutexGuard<'_, Open> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.invites.retain(|invite| invite.until > now);
        open
    }

    /// Makes an invitation for somebody whose own token opens `own`.
    ///
    /// # Errors
    /// When it would open more, or there are too many.
    pub fn invite(&self, scope: &str, own: Scope, now: Instant) -> Result<v1::InviteReply, Status> {
        let scope = match scope {
            "view" => Scope::View,
            "control" => Scope::Control,
            _ => {
                return Err(Status::invalid_argument(format!(
                    "there is no scope {scope:?}: invite to \"view\" or to \"control\""
                )));
            }
        };
        if scope > own {
            return Err(Status::permission_denied(
                "this token opens view and cannot invite to control: call again with the token \"control\" of the job's \
                 connect.json",
            ));
        }
        let mut open = self.open(now);
        if open.invites.len() >= limits::INVITES_MAX {
            return Err(Status::resource_exhausted(format!(
                "{} invitations wait to be used: use one, or ask again in {:?}",
                limits::INVITES_MAX,
                self.valid
            )));
        }
        let secret = secret()?;
        let url = self
            .url
            .as_ref()
            .map(|url| format!("{url}/#invite={secret}"));
        open.invites.push(Invite {
            secret: secret.clone(),
            scope,
            until: now + self.valid,
        });
        Ok(v1::InviteReply {
            secret,
            valid_ns: self.valid.as_nanos().try_into().unwrap_or(u64::MAX),
            url: url.unwrap_or_default(),
        })
    }

    /// Gives the token for a secret, and forgets the secret.
    ///
    /// # Errors
    /// When there is no such secret (any more), or the peer tries too often.
    pub fn redeem(
        &self,
        secret: &str,
        peer: PeerKey,
        now: Instant,
    ) -> Result<v1::RedeemReply, Status> {
        let mut open = self.open(now);
        open.attempts.take(peer, now).map_err(|wait| {
            let seconds = wait.as_secs() + 1;
            Status::resource_exhausted(format!("too many attempts: try again in {seconds} s"))
        })?;
        let Some(at) = find(&open.invites, secret) else {
            return Err(Status::permission_denied(format!(
                "no such invitation: each can be used once, and within {:?}; ask for another one",
                self.valid
            )));
        };
        let invite = open.invites.swap_remove(at);
        Ok(v1::RedeemReply {
            token: self.tokens.of(invite.scope).to_owned(),
            scope: invite.scope.name().to_owned(),
        })
    }
}

/// Where the invitation with this secret is. All are compared to their end, so that time tells
/// nothing.
fn find(invites: &[Invite], secret: &str) -> Option<usize> {
    let (mut found, mut at) = (Choice::from(0), 0u64);
    for (index, invite) in (0u64..).zip(invites) {
        let same = invite.secret.as_bytes().ct_eq(secret.as_bytes());
        at.conditional_assign(&index, same);
        found |= same;
    }
    bool::from(found).then_some(at as usize)
}

fn secret() -> Result<String, Status> {
    let mut bytes = [0u8; SECRET_BYTES];
    crate::random::fill(&mut bytes)?;
    let mut text = String::with_capacity(SECRET_LENGTH);
    for byte in bytes {
        text.push_str(&format!("{byte:02x}"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic::Code;

    const VALID: Duration = Duration::from_secs(60);
    const PEER: PeerKey = PeerKey::User(1);

    fn invites(url: Option<&str>) -> Invites {
        let tokens = Tokens {
            view: "v".into(),
            control: "c".into(),
        };
        Invites::new(tokens, url.map(str::to_owned), VALID)
    }

    #[test]
    fn a_secret_opens_once_and_its_scope_only() {
        let (invites, now) = (invites(Some("https://node17:4000")), Instant::now());
        let view = invites.invite("view", Scope::Control, now).expect("made");
        let control = invites
            .invite("control", Scope::Control, now)
            .expect("made");
        assert_eq!(view.secret.len(), SECRET_LENGTH);
        assert_eq!(
            view.url,
            format!("https://node17:4000/#invite={}", view.secret)
        );
        assert_eq!(view.valid_ns, 60_000_000_000);
        let redeemed = invites.redeem(&view.secret, PEER, now).expect("redeemed");
        assert_eq!(
            (redeemed.token.as_str(), redeemed.scope.as_str()),
            ("v", "view")
        );
        let twice = invites.redeem(&view.secret, PEER, now).expect_err("used");
        assert_eq!(twice.code(), Code::PermissionDenied);
        let redeemed = invites
            .redeem(&control.secret, PEER, now)
            .expect("redeemed");
        assert_eq!(
            (redeemed.token.as_str(), redeemed.scope.as_str()),
            ("c", "control")
        );
    }

    #[test]
    fn a_secret_ends_with_its_time() {
        let (invites, now) = (invites(None), Instant::now());
        let invite = invites.invite("view", Scope::View, now).expect("made");
        assert_eq!(invite.url, "");
        let late = invites
            .redeem(&invite.secret, PEER, now + VALID)
            .expect_err("late");
        assert_eq!(late.code(), Code::PermissionDenied);
        let invite = invites.invite("view", Scope::View, now).expect("made");
        let just_in_time = now + VALID - Duration::from_nanos(1);
        assert!(invites.redeem(&invite.secret, PEER, just_in_time).is_ok());
    }

    #[test]
    fn nobody_invites_to_more_than_he_has() {
        let (invites, now) = (invites(None), Instant::now());
        let refused = invites
            .invite("control", Scope::View, now)
            .expect_err("more");
        assert_eq!(refused.code(), Code::PermissionDenied);
        for scope in ["", "modules", "View"] {
            let refused = invites
                .invite(scope, Scope::Control, now)
                .expect_err("no scope");
            assert_eq!(refused.code(), Code::InvalidArgument);
        }
    }

    #[test]
    fn invitations_and_attempts_are_bounded() {
        let (invites, now) = (invites(None), Instant::now());
        let made: Vec<_> = (0..limits::INVITES_MAX)
            .map(|_| invites.invite("view", Scope::View, now).expect("made"))
            .collect();
        let full = invites.invite("view", Scope::View, now).expect_err("full");
        assert_eq!(full.code(), Code::ResourceExhausted);
        for wrong in ["", "x", &made[0].secret[1..]]
            .iter()
            .cycle()
            .take(limits::REDEEMS_BURST as usize)
        {
            let refused = invites.redeem(wrong, PEER, now).expect_err("wrong");
            assert_eq!(refused.code(), Code::PermissionDenied);
        }
        let refused = invites
            .redeem(&made[0].secret, PEER, now)
            .expect_err("too often");
        assert_eq!(refused.code(), Code::ResourceExhausted);
        assert!(
            invites
                .redeem(&made[0].secret, PeerKey::User(2), now)
                .is_ok(),
            "others are not held up"
        );
        assert!(
            invites.invite("view", Scope::View, now + VALID).is_ok(),
            "old ones are forgotten"
        );
    }
}
