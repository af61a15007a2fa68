//! Invitations: secrets that can be exchanged for a token once, within a short time. A one-time URL
//! carries such a secret, so that no token stands in the history of a terminal or browser.

use super::caller::Caller;
use super::tokens::{NoToken, Scope, TokenId, Tokens};
use crate::connection::peer::PeerKey;
use crate::limits;
use crate::limits::rate_limit::{KeyedRateLimit, Rate};
use invivo_grpc::v1;
use invivo_jobdir::random;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use subtle::{Choice, ConditionallySelectable, ConstantTimeEq};
use tonic::Status;

/// The open invitations; clones share them.
#[derive(Clone)]
pub struct Invitations {
    tokens: Tokens,
    /// Where the gateway listens with TLS; `None` if it does not.
    url: Option<String>,
    valid: Duration,
    open: Arc<Mutex<Open>>,
}

struct Open {
    invites: Vec<Invite>,
    attempts: KeyedRateLimit<PeerKey>,
}

struct Invite {
    secret: String,
    /// Of the guest who is to have a token.
    guest: u64,
    by: TokenId,
    until: Instant,
}

impl Invitations {
    /// No invitations yet; each will be valid for `valid`.
    pub fn new(tokens: Tokens, url: Option<String>, valid: Duration) -> Invitations {
        let rate = const { Rate::per_minute(limits::REDEEMS_PER_MINUTE, limits::REDEEMS_BURST) };
        let open = Open {
            invites: Vec::new(),
            attempts: KeyedRateLimit::new(rate, limits::REDEEMERS_MAX),
        };
        Invitations {
            tokens,
            url,
            valid,
            open: Arc::new(Mutex::new(open)),
        }
    }

    /// The tokens of all who were invited.
    pub fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    /// Takes back a guest's token, or the invitation, with those that the guest has made; see
    /// [`Tokens::revoke`].
    pub fn revoke(&self, guest: u64) -> Vec<u64> {
        let mut open = self.open(Instant::now());
        let gone = self.tokens.revoke(guest);
        open.invites.retain(|invite| !gone.contains(&invite.guest));
        gone
    }

    fn open(&self, now: Instant) -> MutexGuard<'_, Open> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let (kept, over): (Vec<Invite>, Vec<Invite>) = open
            .invites
            .drain(..)
            .partition(|invite| invite.until > now);
        over.iter()
            .for_each(|invite| self.tokens.expire(invite.guest));
        open.invites = kept;
        open
    }

    /// Makes an invitation for a caller.
    ///
    /// # Errors
    /// `INVALID_ARGUMENT` if it is to no scope, or for too long, `PERMISSION_DENIED` if the scope
    /// exceeds the caller's own, `RESOURCE_EXHAUSTED` if too many are open.
    pub fn invite(
        &self,
        wanted: &v1::InviteRequest,
        caller: &Caller,
        now: Instant,
    ) -> Result<v1::InviteReply, Status> {
        let scope = match &*wanted.scope {
            "view" => Scope::View,
            "control" => Scope::Control,
            scope => {
                return Err(Status::invalid_argument(format!(
                    "there is no scope {scope:?}: invite to \"view\" or to \"control\""
                )));
            }
        };
        if scope > caller.scope {
            return Err(Status::permission_denied(
                "this token opens view and cannot invite to control: call again with the token \
                 \"control\" of the job's connect.json",
            ));
        }

        let valid = match Duration::from_nanos(wanted.valid_ns) {
            Duration::ZERO => self.valid,
            valid if valid <= limits::INVITE_VALID_MAX => valid,
            _ => {
                let minutes = limits::INVITE_VALID_MAX.as_secs() / 60;
                return Err(Status::invalid_argument(format!(
                    "an invitation is good for {minutes} minutes at most"
                )));
            }
        };

        let mut open = self.open(now);
        let by = caller.token;
        let of_token = open.invites.iter().filter(|invite| invite.by == by).count();
        if open.invites.len() >= limits::INVITES_MAX || of_token >= limits::INVITES_PER_TOKEN_MAX {
            return Err(Status::resource_exhausted(format!(
                "{} invitations wait to be used: use one, or take one back (invivo invite --list, \
                 --revoke)",
                open.invites.len()
            )));
        }

        let secret = random::token().map_err(|error| {
            Status::internal(format!("the system has no random numbers: {error}"))
        })?;

        // Behind `#`: a browser sends the fragment to no server, so the secret is in no log of
        // requests.
        let url = self
            .url
            .as_ref()
            .map(|url| format!("{url}/#invite={secret}"));
        let guest = self.tokens.invite(scope, by).map_err(refused)?;
        open.invites.push(Invite {
            secret: secret.clone(),
            guest,
            by,
            until: now + valid,
        });
        Ok(v1::InviteReply {
            secret,
            valid_ns: valid.as_nanos().try_into().unwrap_or(u64::MAX),
            url: url.unwrap_or_default(),
            guest,
        })
    }

    /// Exchanges a secret for a new token, and says which guest's; the secret cannot be used again.
    ///
    /// # Errors
    /// `PERMISSION_DENIED` for an unknown, used or expired secret, `RESOURCE_EXHAUSTED` if the peer
    /// tries too often.
    pub fn redeem(
        &self,
        secret: &str,
        peer: PeerKey,
        now: Instant,
    ) -> Result<(v1::RedeemReply, u64), Status> {
        let mut open = self.open(now);
        // Counted before the search: failed attempts are what is to be limited.
        open.attempts.take(peer, now).map_err(|wait| {
            let seconds = wait.as_secs() + 1;
            Status::resource_exhausted(format!("too many attempts: try again in {seconds} s"))
        })?;

        let Some(at) = find(&open.invites, secret) else {
            return Err(Status::permission_denied(
                "no such invitation: each can be used once, and for a limited time; ask for \
                 another one",
            ));
        };

        // Removed at once, while the lock is held: two redeemers of one secret cannot both succeed.
        let invite = open.invites.swap_remove(at);
        let (token, scope) = self.tokens.admit(invite.guest).map_err(refused)?;
        let scope = scope.name().to_owned();
        Ok((v1::RedeemReply { token, scope }, invite.guest))
    }
}

fn refused(why: NoToken) -> Status {
    match why {
        NoToken::TooMany(_) => Status::resource_exhausted(why.to_string()),
        NoToken::Revoked => Status::permission_denied(why.to_string()),
        NoToken::Random(_) => Status::internal(why.to_string()),
    }
}

/// Index of the invitation with this secret. All secrets are compared completely, so that the time
/// of the search reveals nothing about them.
fn find(invites: &[Invite], secret: &str) -> Option<usize> {
    // No early return: the position of a match would show in the time.
    let (mut found, mut at) = (Choice::from(0), 0u64);
    for (index, invite) in (0u64..).zip(invites) {
        let same = invite.secret.as_bytes().ct_eq(secret.as_bytes());
        at.conditional_assign(&index, same);
        found |= same;
    }
    bool::from(found).then_some(at as usize)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::peer::Peer;
    use tokio_util::sync::CancellationToken;
    use tonic::Code;

    const VALID: Duration = Duration::from_secs(60);
    const PEER: PeerKey = PeerKey::User(1);

    fn invites(url: Option<&str>) -> Invitations {
        let tokens = Tokens::new("v".into(), "c".into());
        Invitations::new(tokens, url.map(str::to_owned), VALID)
    }

    fn caller(scope: Scope, token: TokenId) -> Caller {
        Caller {
            peer: Peer::Unix { uid: 1, pid: None },
            client: String::new(),
            scope,
            token,
            revoked: CancellationToken::new(),
        }
    }

    fn wanted(scope: &str) -> v1::InviteRequest {
        v1::InviteRequest {
            scope: scope.to_owned(),
            valid_ns: 0,
        }
    }

    fn own(scope: Scope) -> Caller {
        caller(scope, TokenId::Own(scope))
    }

    #[test]
    fn a_secret_is_valid_once_for_its_scope() {
        let (invites, now) = (invites(Some("https://node17:4000")), Instant::now());
        let view = invites
            .invite(&wanted("view"), &own(Scope::Control), now)
            .expect("made");
        let control = invites
            .invite(&wanted("control"), &own(Scope::Control), now)
            .expect("made");
        assert_eq!(view.secret.len(), random::TOKEN_LENGTH);
        assert_eq!(
            view.url,
            format!("https://node17:4000/#invite={}", view.secret)
        );
        assert_eq!(view.valid_ns, 60_000_000_000);
        let (redeemed, guest) = invites.redeem(&view.secret, PEER, now).expect("redeemed");
        assert_eq!((redeemed.scope.as_str(), guest), ("view", view.guest));
        let scope = invites.tokens().scope(redeemed.token.as_bytes());
        assert_eq!(scope, Some(Scope::View));
        let twice = invites.redeem(&view.secret, PEER, now).expect_err("used");
        assert_eq!(twice.code(), Code::PermissionDenied);
        let (other, _) = invites
            .redeem(&control.secret, PEER, now)
            .expect("redeemed");
        assert_eq!(other.scope, "control");
        assert!(other.token.len() == random::TOKEN_LENGTH && other.token != redeemed.token);
    }

    #[test]
    fn an_invitation_that_was_taken_back_opens_nothing() {
        let (invites, now) = (invites(None), Instant::now());
        let made = invites
            .invite(&wanted("view"), &own(Scope::View), now)
            .expect("made");
        assert_eq!(invites.revoke(made.guest), [made.guest]);
        let refused = invites.redeem(&made.secret, PEER, now).expect_err("gone");
        assert_eq!(refused.code(), Code::PermissionDenied);
        assert!(invites.revoke(made.guest).is_empty());
    }

    #[test]
    fn one_token_leaves_invitations_to_others() {
        let (invites, now) = (invites(None), Instant::now());
        let made = invites
            .invite(&wanted("view"), &own(Scope::View), now)
            .expect("made");
        let guest = caller(Scope::View, TokenId::Guest(made.guest));
        let made = (0..2 * limits::INVITES_MAX)
            .filter(|_| invites.invite(&wanted("view"), &guest, now).is_ok())
            .count();
        assert_eq!(made, limits::INVITES_PER_TOKEN_MAX);
        assert!(
            invites
                .invite(&wanted("view"), &own(Scope::View), now)
                .is_ok()
        );
    }

    #[test]
    fn a_secret_expires() {
        let (invites, now) = (invites(None), Instant::now());
        let invite = invites
            .invite(&wanted("view"), &own(Scope::View), now)
            .expect("made");
        assert_eq!(invite.url, "");
        let late = invites
            .redeem(&invite.secret, PEER, now + VALID)
            .expect_err("late");
        assert_eq!(late.code(), Code::PermissionDenied);
        let invite = invites
            .invite(&wanted("view"), &own(Scope::View), now)
            .expect("made");
        let just_in_time = now + VALID - Duration::from_nanos(1);
        assert!(invites.redeem(&invite.secret, PEER, just_in_time).is_ok());
    }

    #[test]
    fn nobody_invites_beyond_the_own_scope() {
        let (invites, now) = (invites(None), Instant::now());
        let refused = invites
            .invite(&wanted("control"), &own(Scope::View), now)
            .expect_err("more");
        assert_eq!(refused.code(), Code::PermissionDenied);
        for scope in ["", "modules", "View"] {
            let refused = invites
                .invite(&wanted(scope), &own(Scope::Control), now)
                .expect_err("no scope");
            assert_eq!(refused.code(), Code::InvalidArgument);
        }
    }

    #[test]
    fn invitations_and_attempts_are_bounded() {
        let (invites, now) = (invites(None), Instant::now());
        let made: Vec<_> = (0..limits::INVITES_MAX)
            .map(|at| {
                let of = [Scope::View, Scope::Control][at % 2];
                invites
                    .invite(&wanted("view"), &own(of), now)
                    .expect("made")
            })
            .collect();
        let full = invites
            .invite(&wanted("view"), &own(Scope::View), now)
            .expect_err("full");
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
            invites
                .invite(&wanted("view"), &own(Scope::View), now + VALID)
                .is_ok(),
            "old ones are forgotten"
        );
    }

    #[test]
    fn an_invitation_is_good_as_long_as_was_wanted() {
        let (invites, now) = (invites(None), Instant::now());
        let hour = Duration::from_secs(3600);
        let request = |valid: Duration| v1::InviteRequest {
            valid_ns: valid.as_nanos() as u64,
            ..wanted("view")
        };
        let long = invites
            .invite(&request(hour), &own(Scope::View), now)
            .expect("made");
        assert_eq!(u128::from(long.valid_ns), hour.as_nanos());
        let late = now + hour - Duration::from_nanos(1);
        assert!(invites.redeem(&long.secret, PEER, late).is_ok());
        let longer = request(hour + Duration::from_nanos(1));
        let refused = invites.invite(&longer, &own(Scope::View), now);
        assert_eq!(refused.expect_err("too long").code(), Code::InvalidArgument);
    }
}
