//! Encrypted connections: who is whom. Certificates are made with `openssl`; without it these tests fail, unless `HYPERSLAB_WITHOUT_ORACLES` is set.

use std::process::Command;

use crate::common::{Folder, clients, group, in_memory};
use hyperslab_server::{Config, Server, TlsFiles};
use model::properties::FileCreate;
use vol::{FileAccess, Result};

fn openssl(folder: &Folder, args: &[&str]) -> bool {
    let run = Command::new("openssl").args(args).current_dir(folder.path()).output();
    run.is_ok_and(|output| output.status.success())
}

/// An authority, and a certificate of it.
fn issue(folder: &Folder, authority: &str, name: &str) -> bool {
    let (ca, ca_key) = (format!("{authority}.pem"), format!("{authority}.key"));
    let (pem, key, request, extra) =
        (format!("{name}.pem"), format!("{name}.key"), format!("{name}.csr"), format!("{name}.ext"));
    let has_authority = folder.path().join(&ca).is_file()
        || openssl(
            folder,
            &[
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-days",
                "2",
                "-subj",
                "/CN=authority",
                "-keyout",
                &ca_key,
                "-out",
                &ca,
            ],
        );
    std::fs::write(folder.path().join(&extra), "subjectAltName=DNS:localhost,IP:127.0.0.1\n").unwrap();
    has_authority
        && openssl(
            folder,
            &[
                "req",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
                "-nodes",
                "-subj",
                "/CN=localhost",
                "-keyout",
                &key,
                "-out",
                &request,
            ],
        )
        && openssl(
            folder,
            &[
                "x509",
                "-req",
                "-in",
                &request,
                "-CA",
                &ca,
                "-CAkey",
                &ca_key,
                "-CAcreateserial",
                "-days",
                "2",
                "-extfile",
                &extra,
                "-out",
                &pem,
            ],
        )
}

/// A server with certificates; `None` where they cannot be made here.
fn server(folder: &Folder, asks_clients: bool) -> Option<Server> {
    if !(issue(folder, "ours", "server")
        && issue(folder, "ours", "client")
        && issue(folder, "others", "stranger"))
    {
        testkit::oracles::missing("openssl");
        return None;
    }
    let at = |name: &str| folder.path().join(name);
    let client_ca = asks_clients.then(|| at("ours.pem"));
    let tls = Some(TlsFiles { certificate: at("server.pem"), key: at("server.key"), client_ca });
    Some(Server::start(&Config { tls, ..in_memory() }).unwrap())
}

fn try_with(server: &Server, folder: &Folder, options: &str) -> Result<u64> {
    let options = options.replace('@', &format!("{}/", folder.path().display()));
    let location = server.location(&format!("a?deadline=5&{options}"));
    let container = clients().create(&location, &FileCreate::default(), &FileAccess::write(), true)?;
    let root = container.info()?.root;
    container.group_create(&group(root, "x"))?;
    let data = crate::common::bytes_dataset(&*container, "data", 9 << 20)?;
    let bytes: Vec<u8> = (0..9u32 << 20).map(|n| n as u8).collect();
    container.dataset_write(&[vol::OpWrite {
        dataset: data,
        selection: &model::Selection::All,
        from: &bytes,
    }])?;
    let mut back = vec![0; bytes.len()];
    container.dataset_read(&mut [vol::OpRead {
        dataset: data,
        selection: &model::Selection::All,
        into: &mut back,
    }])?;
    assert!(back == bytes);
    let links = container.group_info(root)?.links;
    container.close()?;
    Ok(links)
}

#[test]
fn only_the_right_server_is_talked_to() {
    let folder = Folder::new("server");
    let Some(server) = server(&folder, false) else { return };
    assert_eq!(try_with(&server, &folder, "ca=@ours.pem").unwrap(), 2);
    try_with(&server, &folder, "ca=@others.pem").unwrap_err();
    try_with(&server, &folder, "ca=@ours.pem&server_name=elsewhere.example").unwrap_err();
    // Without encryption nothing is understood, and no one waits for long.
    try_with(&server, &folder, "").unwrap_err();
}

#[test]
fn clients_without_the_right_certificate_are_refused() {
    let folder = Folder::new("server");
    let Some(server) = server(&folder, true) else { return };
    assert_eq!(try_with(&server, &folder, "ca=@ours.pem&cert=@client.pem&key=@client.key").unwrap(), 2);
    try_with(&server, &folder, "ca=@ours.pem").unwrap_err();
    try_with(&server, &folder, "ca=@ours.pem&cert=@stranger.pem&key=@stranger.key").unwrap_err();
}
