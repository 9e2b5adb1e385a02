//! Encryption, with `rustls`.

use std::sync::Arc;

use model::{Error, Result};
use protocol::stream::Duplex;
use protocol::tls::{certificates, failed, key, provider, roots};
use rustls::server::WebPkiClientVerifier;
use rustls::{ServerConfig, ServerConnection, StreamOwned};
use system::socket::Socket;

use crate::config::TlsFiles;

/// Returns what connections are encrypted with.
pub(crate) fn acceptor(files: &TlsFiles) -> Result<Arc<ServerConfig>> {
    let builder = ServerConfig::builder_with_provider(provider());
    let builder = builder.with_safe_default_protocol_versions().map_err(|e| failed(&e))?;
    let builder = match &files.client_ca {
        None => builder.with_no_client_auth(),
        Some(ca) => {
            let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots(ca)?), provider());
            let wrong = |e: rustls::server::VerifierBuilderError| {
                Error::invalid("read client certificates").with("problem", e)
            };
            builder.with_client_cert_verifier(verifier.build().map_err(wrong)?)
        }
    };
    let config = builder.with_single_cert(certificates(&files.certificate)?, key(&files.key)?);
    config.map(Arc::new).map_err(|e| failed(&e))
}

/// Returns a connection after its handshake, for which the socket's patience holds.
pub(crate) fn accept(config: &Arc<ServerConfig>, socket: Socket) -> Result<Box<dyn Duplex>> {
    let connection = ServerConnection::new(config.clone()).map_err(|e| failed(&e))?;
    let mut stream = StreamOwned::new(connection, socket);
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).map_err(|e| Error::io("set up encryption", &e))?;
    }
    Ok(Box::new(stream))
}
