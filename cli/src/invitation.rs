//! An invitation as one line: where the gateway listens, which job that is, the secret, and the
//! certificate of the job's authority, without which the secret would go to whoever listens there.
//!
//! ```text
//! https://node17:40123/node17-4711#SECRET.CERTIFICATE
//! ```
//!
//! The certificate is in DER, base64 with the letters of URLs. Pure.

use std::fmt;

/// Around the base64 of a certificate.
const PEM: [&str; 2] = ["-----BEGIN CERTIFICATE-----", "-----END CERTIFICATE-----"];
/// Characters in a line of PEM.
const PEM_LINE: usize = 64;

/// What a guest needs.
#[derive(Clone, PartialEq, Eq)]
pub struct Invitation {
    /// `https://node17:40123`
    pub url: String,
    /// The job's id.
    pub job: String,
    /// Good once.
    pub secret: String,
    /// The certificate of the job's authority, PEM.
    pub authority: String,
}

impl fmt::Display for Invitation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Invitation {
            url, job, secret, ..
        } = self;
        let lines = self.authority.lines().filter(|line| !line.starts_with('-'));
        let of_url = |c: char| match c {
            '+' => '-',
            '/' => '_',
            c => c,
        };
        let base64 = lines.flat_map(str::chars).filter(|c| *c != '=');
        let certificate: String = base64.map(of_url).collect();
        write!(f, "{url}/{job}#{secret}.{certificate}")
    }
}

impl Invitation {
    /// The invitation that this line is, if it is one.
    pub fn parse(line: &str) -> Option<Invitation> {
        let (place, opens) = line.trim().split_once('#')?;
        let (url, job) = place.rsplit_once('/')?;
        let (secret, certificate) = opens.split_once('.')?;
        let is_word = |text: &str, more: &str| {
            let fits = |c: char| c.is_ascii_alphanumeric() || more.contains(c);
            !text.is_empty() && text.chars().all(fits)
        };
        let is_one = url.starts_with("https://")
            && is_word(job, "-_.")
            && !job.starts_with('.')
            && is_word(secret, "")
            && is_word(certificate, "-_");
        is_one.then(|| Invitation {
            url: url.to_owned(),
            job: job.to_owned(),
            secret: secret.to_owned(),
            authority: pem(certificate),
        })
    }
}

/// The certificate as PEM, of the base64 of URLs.
fn pem(certificate: &str) -> String {
    let mut base64: Vec<char> = certificate
        .chars()
        .map(|c| match c {
            '-' => '+',
            '_' => '/',
            c => c,
        })
        .collect();
    base64.resize(base64.len().next_multiple_of(4), '=');
    let lines = base64.chunks(PEM_LINE).map(String::from_iter);
    let lines: Vec<String> = lines.collect();
    format!("{}\n{}\n{}\n", PEM[0], lines.join("\n"), PEM[1])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn invitation() -> Invitation {
        let line = "MIIBdzCCAR2gAwIBAgIUJ0ko+Jx/cf0u3iJ0pT3wq4k+u1kwCgYIKoZIzj0EAwIw";
        Invitation {
            url: "https://node17:40123".into(),
            job: "node17-4711".into(),
            secret: "00ff".repeat(16),
            authority: format!("{}\n{line}\nIDEeMB==\n{}\n", PEM[0], PEM[1]),
        }
    }

    #[test]
    fn a_line_says_it_all() {
        let line = invitation().to_string();
        assert!(!line.contains(['+', '=', ' ', '\n']), "{line}");
        assert!(Invitation::parse(&format!(" {line}\n")) == Some(invitation()));
    }

    #[test]
    fn what_is_no_invitation_is_none() {
        let line = invitation().to_string();
        let job = "node17-4711";
        for wrong in [
            String::new(),
            line.replace("https", "http"),
            line.replace('#', "/"),
            line.replace('.', ""),
            line.replace(job, ".."),
            line.replace(job, "a b"),
            line.replace("00ff", "00 f"),
            format!("{line}%"),
            format!("{line}.more"),
        ] {
            assert!(Invitation::parse(&wrong).is_none(), "{wrong}");
        }
    }
}
