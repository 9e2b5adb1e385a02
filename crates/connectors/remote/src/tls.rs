//! Encryption, with `rustls`.

use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

use model::{Error, Result};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};

use crate::address::{Endpoint, Options};
use crate::stream::{Duplex, Socket};

/// Certificates of a PEM file.
pub fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let all: std::result::Result<Vec<_>, _> =
        CertificateDer::pem_reader_iter(io::BufReader::new(open(path)?)).collect();
    match all {
        Ok(all) if !all.is_empty() => Ok(all),
        Ok(_) => Err(wrong(path, "no certificate in it")),
        Err(error) => Err(wrong(path, &error.to_string())),
    }
}

/// The key of a PEM file.
pub fn key(path: &Path) -> Result<PrivateKeyDer<'static>> {
    let key = PrivateKeyDer::from_pem_reader(io::BufReader::new(open(path)?));
    key.map_err(|error| wrong(path, &error.to_string()))
}

/// Certificates that others are checked against.
pub fn roots(path: &Path) -> Result<RootCertStore> {
    let mut roots = RootCertStore::empty();
    for certificate in certificates(path)? {
        roots.add(certificate).map_err(|error| wrong(path, &error.to_string()))?;
    }
    Ok(roots)
}

/// The one implementation of ciphers in this build.
pub fn provider() -> Arc<rustls::crypto::CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

fn open(path: &Path) -> Result<File> {
    File::open(path).map_err(|e| Error::io("read PEM file", &e).with("path", path.display()))
}

fn wrong(path: &Path, problem: &str) -> Error {
    Error::invalid("read PEM file").with("path", path.display()).with("problem", problem)
}

/// An error of TLS.
pub fn failed(error: &rustls::Error) -> Error {
    Error::denied("set up encryption").with("problem", error)
}

/// A connection to a server whose certificate one of `ca` vouches for.
pub(crate) fn client(
    socket: Socket,
    ca: &Path,
    endpoint: &Endpoint,
    options: &Options,
) -> Result<Box<dyn Duplex>> {
    let builder = ClientConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| failed(&e))?;
    let builder = builder.with_root_certificates(roots(ca)?);
    let config = match &options.identity {
        None => builder.with_no_client_auth(),
        Some((certificate, own)) => {
            let built = builder.with_client_auth_cert(certificates(certificate)?, key(own)?);
            built.map_err(|e| failed(&e))?
        }
    };
    let host = match (&options.server_name, endpoint) {
        (Some(name), _) => name.clone(),
        (None, Endpoint::Tcp(host, _)) => host.clone(),
        (None, Endpoint::Unix(_)) => "localhost".to_owned(),
    };
    let name = ServerName::try_from(host.clone())
        .map_err(|_| Error::invalid("set up encryption").with("server name", host))?;
    let connection = ClientConnection::new(Arc::new(config), name).map_err(|e| failed(&e))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|e| Error::io("set up encryption", &e))?;
    }
    Ok(Box::new(stream))
}
