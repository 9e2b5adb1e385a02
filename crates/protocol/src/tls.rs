//! Both ends of a TLS connection, with `rustls`: certificates, keys, the cipher provider.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{Error, Result};
use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// Returns the certificates of a PEM file.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_reader_iter(io::BufReader::new(open(path)?)).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(wrong(path, "no certificate in it")),
        Err(error) => Err(wrong(path, &error.to_string())),
    }
}

/// Returns the key of a PEM file.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let key = PrivateKeyDer::from_pem_reader(io::BufReader::new(open(path)?));
    key.map_err(|error| wrong(path, &error.to_string()))
}

/// Returns the root certificates that peers are checked against.
pub fn roots(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(path, &error.to_string()))?;
    }
    Ok(roots)
}

/// Returns the one implementation of ciphers in this build.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io("read PEM file", &e).with("path", path.display()))
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::invalid("read PEM file").with("path", path.display()).with("problem", problem)
}

/// Returns an error of TLS.
pub fn failed(error: &rustls::Error) -> Error {
    Error::denied("set up encryption").with("problem", error)
}
