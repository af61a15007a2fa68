//! TLS 1.3 under an authority of this job's own. It is made in memory for this run of the gateway,
//! signs one certificate, and its key is forgotten: nothing else can ever be signed by what clients
//! trust. No key is written anywhere.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use std::sync::Arc;
use time::{Duration, OffsetDateTime};
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio_rustls::rustls::server::NoServerSessionStorage;
use tokio_rustls::rustls::version::TLS13;
use tokio_rustls::rustls::{self, ServerConfig};

/// How far the clocks of clients may be behind.
const CLOCK_SKEW: Duration = Duration::days(1);
/// For how long the certificate is good: longer than any job.
const VALID: Duration = Duration::days(400);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum NoTls {
    /// The certificates cannot be made.
    #[error("cannot make the job's certificates: {0}")]
    Certificate(#[from] rcgen::Error),
    /// They cannot be used.
    #[error("cannot use the job's certificates: {0}")]
    Config(#[from] rustls::Error),
}

/// What a server needs and what its clients trust.
pub struct Identity {
    /// The authority's certificate, PEM.
    pub authority: String,
    /// The server's side.
    pub server: Arc<ServerConfig>,
}

/// An identity for a server with these names (host names and addresses).
///
/// # Errors
/// Why there is none.
pub fn identity(job: &str, names: &[String]) -> Result<Identity, NoTls> {
    let now = OffsetDateTime::now_utc();
    let params = |names: &[String], title: String| {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(DnType::CommonName, title);
        params.not_before = now - CLOCK_SKEW;
        params.not_after = now + VALID;
        Ok::<_, rcgen::Error>(params)
    };
    let mut authority = params(&[], format!("Invivo authority of job {job}"))?;
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
    let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate()?)?;

    let mut server = params(names, format!("Invivo gateway of job {job}"))?;
    server.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    server.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    server.use_authority_key_identifier_extension = true;
    let key = KeyPair::generate()?;
    let certificate = server.signed_by(&key, &authority)?;

    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let mut config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(&[&TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.der().clone()], key)?;
    config.alpn_protocols = vec![b"h2".to_vec()];
    // Every connection makes its own keys; nothing is kept for a later one.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Identity {
        authority: authority.pem(),
        server: Arc::new(config),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_identity_has_its_own_authority_and_no_key_leaves_it() {
        let names = ["node17".to_owned(), "10.0.0.7".to_owned()];
        let first = identity("job", &names).expect("made");
        let second = identity("job", &names).expect("made");
        assert_ne!(first.authority, second.authority);
        assert!(first.authority.starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(
            first.authority.matches("-----BEGIN").count(),
            1,
            "no key beside it"
        );
        assert_eq!(first.server.alpn_protocols, [b"h2"]);
    }

    #[test]
    fn a_job_with_an_odd_name_has_one_too() {
        identity("ä \u{1}\n", &["localhost".to_owned()]).expect("made");
        assert!(identity("job", &["no name ä".to_owned()]).is_err());
    }
}
