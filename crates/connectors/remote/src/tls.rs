//! The client's end of a TLS connection.

use std::path::Path;
use std::sync::Arc;

use model::{Error, Result};
use protocol::stream::Duplex;
use protocol::tls::{certificates, failed, key, provider, roots};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use system::socket::Socket;

use crate::address::{Endpoint, Options};

/// Returns a connection to a server whose certificate one of `ca` vouches for.
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
