//! Encrypted connections: the server's certificate is always checked.

use std::path::Path;
use std::sync::Arc;

use rustls::crypto::ring;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use rustls::{ClientConfig, RootCertStore};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres_rustls::MakeRustlsConnect;

/// Configures TLS with the certificates of a file, or else those of the platform, which are read
/// only if it is used.
pub(super) fn connector(is_used: bool, roots: Option<&Path>) -> Result<MakeRustlsConnect, String> {
    let failed = |error: rustls::Error| error.to_string();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()));
    let builder = builder.with_safe_default_protocol_versions().map_err(failed)?;
    let config = match roots {
        _ if !is_used => builder.with_root_certificates(RootCertStore::empty()),
        Some(file) => builder.with_root_certificates(roots_of(file)?),
        None => builder.with_platform_verifier().map_err(failed)?,
    };
    Ok(MakeRustlsConnect::new(config.with_no_client_auth()))
}

fn roots_of(file: &Path) -> Result<RootCertStore, String> {
    let failed = |what: String| format!("the certificate in {} cannot be read: {what}", file.display());
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))? {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() { Err(failed("it has none".to_owned())) } else { Ok(roots) }
}
