//! Who may come in: a secret that is good once, and what a browser has after that. Pure.
//!
//! A browser that shows the secret gets two tokens. The *cookie* is kept from scripts; browsers
//! send it to every port of this host, so that another server here could learn it. The *key* stays
//! with the page, whose storage belongs to its host and port; it comes in a header that pages of
//! other origins cannot send. A request needs both.

use invivo_jobdir::random;
use std::time::{Duration, Instant};
use subtle::{Choice, ConstantTimeEq};

/// A link that nobody follows ends by itself.
pub const LINK_VALID: Duration = Duration::from_secs(60 * 60);
/// Browsers that may be inside at once; with another one the first is out.
const GUESTS_MAX: usize = 16;

/// What a browser has that came in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guest {
    /// For the `Cookie` header.
    pub cookie: String,
    /// For the header [`super::guard::KEY`].
    pub key: String,
}

/// The door of one server.
#[derive(Debug, Default)]
pub struct Door {
    /// The secret of the newest link, unless it was used, and until when it is good.
    link: Option<(String, Instant)>,
    guests: Vec<Guest>,
}

impl Door {
    /// Makes a secret; the one before is good no more.
    ///
    /// # Errors
    /// If the system has no random numbers.
    pub fn invite(&mut self, now: Instant) -> std::io::Result<String> {
        let secret = random::token()?;
        self.link = Some((secret.clone(), now + LINK_VALID));
        Ok(secret)
    }

    /// Lets in whoever shows the secret, once.
    ///
    /// # Errors
    /// If the system has no random numbers: the secret stays good.
    pub fn enter(&mut self, secret: &str, now: Instant) -> std::io::Result<Option<Guest>> {
        let Some((expected, until)) = &self.link else {
            return Ok(None);
        };
        if now >= *until || !is_same(secret, expected) {
            return Ok(None);
        }
        let guest = Guest {
            cookie: random::token()?,
            key: random::token()?,
        };
        self.link = None;
        if self.guests.len() == GUESTS_MAX {
            self.guests.remove(0);
        }
        self.guests.push(guest.clone());
        Ok(Some(guest))
    }

    /// Whether these two tokens are one guest's.
    pub fn admits(&self, cookie: &str, key: &str) -> bool {
        let known = self.guests.iter().fold(Choice::from(0), |known, guest| {
            known
                | (guest.cookie.as_bytes().ct_eq(cookie.as_bytes())
                    & guest.key.as_bytes().ct_eq(key.as_bytes()))
        });
        known.into()
    }
}

/// In a time that does not tell how much of it is right.
fn is_same(text: &str, expected: &str) -> bool {
    text.as_bytes().ct_eq(expected.as_bytes()).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entered(door: &mut Door) -> Guest {
        let now = Instant::now();
        let secret = door.invite(now).expect("random numbers");
        let guest = door.enter(&secret, now).expect("random numbers");
        guest.expect("the secret is good")
    }

    #[test]
    fn a_secret_opens_once() {
        let (mut door, now) = (Door::default(), Instant::now());
        let secret = door.invite(now).expect("random numbers");
        assert_eq!(door.enter("", now).expect("random"), None);
        assert_eq!(door.enter(&secret[1..], now).expect("random"), None);
        let guest = door.enter(&secret, now).expect("random").expect("good");
        assert_eq!(door.enter(&secret, now).expect("random"), None);
        assert!(door.admits(&guest.cookie, &guest.key));
    }

    #[test]
    fn a_newer_secret_replaces_it_and_time_ends_it() {
        let (mut door, now) = (Door::default(), Instant::now());
        let first = door.invite(now).expect("random numbers");
        let second = door.invite(now).expect("random numbers");
        assert_eq!(door.enter(&first, now).expect("random"), None);
        assert_eq!(door.enter(&second, now + LINK_VALID).expect("random"), None);
    }

    #[test]
    fn cookie_and_key_belong_together() {
        let mut door = Door::default();
        let (one, two) = (entered(&mut door), entered(&mut door));
        assert!(door.admits(&one.cookie, &one.key) && door.admits(&two.cookie, &two.key));
        assert!(!door.admits(&one.cookie, &two.key));
        assert!(!door.admits("", "") && !door.admits(&one.cookie, ""));
    }

    #[test]
    fn too_many_guests_put_the_first_out() {
        let mut door = Door::default();
        let first = entered(&mut door);
        for _ in 0..GUESTS_MAX {
            let other = entered(&mut door);
            assert!(door.admits(&other.cookie, &other.key));
        }
        assert!(!door.admits(&first.cookie, &first.key));
    }
}
