//! Makes the TLS 1.3 identity of this run of the gateway: an authority that signs one certificate.
//!
//! The authority's key exists only in memory and is dropped at once, so nothing else can ever be
//! signed by what clients trust. No key is written anywhere.

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

/// How far the clocks of clients may be slow.
const CLOCK_SKEW: Duration = Duration::days(1);
/// Validity of the certificate: longer than any job.
const VALID: Duration = Duration::days(400);

/// Why there is no TLS.
#[derive(Debug, thiserror::Error)]
pub enum NoTls {
    #[error("cannot make the job's certificates: {0}")]
    Certificate(#[from] rcgen::Error),
    #[error("cannot use the job's certificates: {0}")]
    Config(#[from] rustls::Error),
}

pub struct Identity {
    /// The authority's certificate (PEM), which clients trust.
    pub authority: String,
    pub server: Arc<ServerConfig>,
}

/// Makes the identity of a server with these names (host names and addresses).
///
/// # Errors
/// If a name cannot stand in a certificate.
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
    // Path length 0: the authority can sign no further authority.
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

    // No session is resumed: every connection negotiates keys of its own.
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
    fn each_identity_has_its_own_authority_and_keeps_keys() {
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
    fn odd_job_names_are_allowed_odd_host_names_refused() {
        identity("ä \u{1}\n", &["localhost".to_owned()]).expect("made");
        assert!(identity("job", &["no name ä".to_owned()]).is_err());
    }
}
