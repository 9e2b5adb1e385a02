//! `hyperslab serve`: lets remote clients use the containers of a folder.

#[cfg(feature = "http")]
mod http;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use hyperslab::{Error, Result};
use server::{Auth, Config, Level, Listen, Log, LogFormat, Rights, Server, TlsFiles};

use crate::help::{option_names, unknown_option};
use crate::settings::registry;

pub(crate) const USAGE: &str = "\
usage: hyperslab serve [OPTIONS]
  --root DIR              containers are under this folder (.)
  --vol STACK             layers over every container; a last entry with a colon is the connector: \"stats | raw:\"
                          object+rados:POOL/ are the containers of a pool, for any number of servers
  --listen ADDR           127.0.0.1:4555; unix:/path is a socket of this machine
  --http ADDR             containers over HTTP, for browsers and programs, with /healthz and /metrics; beyond this
                          machine without --tokens, only these two
  --http-origin ORIGIN    pages of this origin (https://HOST) may read answers; may be repeated
  --tokens FILE           who may do what: lines of NAME TOKEN read|write PATH; needed beyond this machine
  --no-auth               everybody may do everything; without it and without --tokens, a token is created, which clients
                          of the same user on this machine find
  --audit FILE            write down who asked for what, from where, and whether it was allowed: a line of JSON each
  --cert FILE --key FILE  encrypt (PEM)
  --client-ca FILE        clients need a certificate that one of these vouches for
  --shared-writers        several clients may write to one container, whatever its connector
  --direct                clients that see the same file system read and write elements in the files: h5s+direct://
  --max-connections N --max-sessions N --max-objects N --max-bulk BYTES --max-memory BYTES
  --max-connections-per-address N --max-connections-per-token N --max-connects-per-second N --max-handshakes N
  --handshake SECONDS     to say who one is; --memory-patience SECONDS of those that wait for memory
  --patience SECONDS      of a frame; --lease SECONDS of a client that is gone; --idle SECONDS of one that is silent
  --lock-lease SECONDS    of a lock of such a client; --lock-patience SECONDS of those that wait for it
  --log text|json         lines on standard error; --log-level error|warn|info|debug
  --check-config          check this configuration, and end
";

/// The options.
struct ServeOptions {
    config: Config,
    /// Origins whose pages may read answers over HTTP.
    origins: Vec<String>,
    check_only: bool,
    format: LogFormat,
    level: Level,
}

pub(crate) fn run(args: &[String]) -> ExitCode {
    if args.iter().any(|arg| arg == "-h" || arg == "--help") {
        print!("{USAGE}");
        return ExitCode::SUCCESS;
    }
    match wanted(args).and_then(|wanted| serve(&wanted)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("hyperslab serve: {error}");
            ExitCode::FAILURE
        }
    }
}

fn serve(wanted: &ServeOptions) -> Result<()> {
    if wanted.check_only {
        wanted.config.check()?;
        println!("the configuration is valid");
        return Ok(());
    }
    crate::allocator::give_back_large_blocks();
    Log::install(wanted.format, wanted.level);
    let (stop, stopped) = mpsc::channel();
    let handler = ctrlc::set_handler(move || {
        // Who stops already needs no second signal.
        let _ = stop.send(());
    });
    handler.map_err(|e| Error::invalid("wait for signals").with("problem", e))?;
    let (config, address) = split_http(&wanted.config);
    let server = Server::start(&config)?;
    println!("serving {}", server.location(""));
    if wanted.config.direct {
        println!("    and {}", server.direct_location(""));
    }
    if let Some(file) = server.token_file() {
        println!("token in {}", file.display());
    }
    if let Some(http) = server.http() {
        println!("metrics at http://{http}/metrics");
    }
    let http = address.map(|address| start_http(wanted, &server, address)).transpose()?;
    // A signal, or no one who could send one.
    let _ = stopped.recv();
    drop(http);
    server.stop()
}

/// Returns the configuration without the address for HTTP, where containers are served there too.
fn split_http(config: &Config) -> (Config, Option<SocketAddr>) {
    let is_safe = |address: &SocketAddr| address.ip().is_loopback() || matches!(config.auth, Auth::Tokens(_));
    let is_built = cfg!(feature = "http") && config.root.is_some();
    match config.http.filter(|address| is_built && is_safe(address)) {
        Some(address) => (Config { http: None, ..config.clone() }, Some(address)),
        None => (config.clone(), None),
    }
}

#[cfg(feature = "http")]
fn start_http(wanted: &ServeOptions, server: &Server, address: SocketAddr) -> Result<http_bridge::Server> {
    let started = http::start(&wanted.config, wanted.origins.clone(), server, address)?;
    println!("metrics at http://{}/metrics", started.address());
    println!("containers at http://{0}/h5grove/, pages at http://{0}/view/?file=NAME", started.address());
    Ok(started)
}

#[cfg(not(feature = "http"))]
fn start_http(_: &ServeOptions, _: &Server, _: SocketAddr) -> Result<()> {
    Err(Error::unsupported("serve containers over HTTP").with("problem", "it is the feature `http`"))
}

fn wanted(args: &[String]) -> Result<ServeOptions> {
    let mut wanted = ServeOptions {
        config: Config {
            listen: Listen::Tcp(SocketAddr::from(([127, 0, 0, 1], 4555))),
            ..Config::local(registry().clone(), ".")
        },
        origins: Vec::new(),
        check_only: false,
        format: LogFormat::Text,
        level: Level::INFO,
    };
    let (mut certificate, mut key, mut client_ca) = (None, None, None);
    let mut no_auth = false;
    let mut words = args.iter().map(String::as_str);
    while let Some(option) = words.next() {
        match option {
            "--check-config" => wanted.check_only = true,
            "--no-auth" => no_auth = true,
            "--direct" => wanted.config.direct = true,
            "--shared-writers" => wanted.config.shared_writers = true,
            "--cert" => certificate = Some(PathBuf::from(value(option, words.next())?)),
            "--key" => key = Some(PathBuf::from(value(option, words.next())?)),
            "--client-ca" => client_ca = Some(PathBuf::from(value(option, words.next())?)),
            _ => set(&mut wanted, option, words.next())?,
        }
    }
    wanted.config.tls = match (certificate, key) {
        (Some(certificate), Some(key)) => Some(TlsFiles { certificate, key, client_ca }),
        (None, None) if client_ca.is_none() => None,
        _ => return Err(Error::invalid("read arguments").with("problem", "--cert and --key go together")),
    };
    let has_certificates = wanted.config.tls.as_ref().is_some_and(|tls| tls.client_ca.is_some());
    match wanted.config.auth {
        Auth::Tokens(_) if no_auth => {
            return Err(
                Error::invalid("read arguments").with("problem", "--tokens and --no-auth are opposites")
            );
        }
        // A caller that has a certificate said who it is.
        Auth::Made if no_auth || has_certificates => wanted.config.auth = Auth::Off,
        _ => {}
    }
    if wanted.config.is_without_folder() {
        wanted.config.root = None;
    }
    Ok(wanted)
}

/// Options with a value.
fn set(wanted: &mut ServeOptions, option: &str, word: Option<&str>) -> Result<()> {
    let config = &mut wanted.config;
    let seconds = |word| number(option, word).map(Duration::from_secs);
    match option {
        "--root" => config.root = Some(value(option, word)?.into()),
        "--vol" => config.stack = Some(value(option, word)?.to_owned()),
        "--listen" => config.listen = listen(value(option, word)?)?,
        "--http" => config.http = Some(address(value(option, word)?)?),
        "--http-origin" => wanted.origins.push(value(option, word)?.to_owned()),
        "--tokens" => config.auth = Auth::Tokens(Rights::read(value(option, word)?.as_ref())?),
        "--audit" => config.audit = Some(value(option, word)?.into()),
        "--max-connections-per-address" => {
            config.limits.connections_per_address_max = number(option, word)? as usize;
        }
        "--max-connections-per-token" => {
            config.limits.connections_per_token_max = number(option, word)? as usize;
        }
        "--max-connects-per-second" => {
            config.limits.connects_per_second_max = u32::try_from(number(option, word)?).unwrap_or(u32::MAX);
        }
        "--max-handshakes" => config.limits.handshakes_max = number(option, word)? as usize,
        "--handshake" => config.limits.handshake = seconds(word)?,
        "--memory-patience" => config.limits.memory_patience = seconds(word)?,
        "--max-connections" => config.limits.connections_max = number(option, word)? as usize,
        "--max-sessions" => config.limits.sessions_max = number(option, word)? as usize,
        "--max-objects" => config.limits.objects_max = number(option, word)? as usize,
        "--max-bulk" => config.limits.bulk_bytes_max = number(option, word)?,
        "--max-memory" => config.limits.memory_bytes_max = number(option, word)?,
        "--patience" => config.limits.patience = seconds(word)?,
        "--lease" => config.limits.lease = seconds(word)?,
        "--lock-lease" => config.limits.lock_lease = seconds(word)?,
        "--lock-patience" => config.limits.lock_patience = seconds(word)?,
        "--idle" => config.limits.idle = seconds(word)?,
        "--log" => {
            wanted.format = match value(option, word)? {
                "text" => LogFormat::Text,
                "json" => LogFormat::Json,
                other => return Err(wrong(option, other)),
            };
        }
        "--log-level" => {
            let level = value(option, word)?;
            wanted.level = level.parse().map_err(|_| wrong(option, level))?;
        }
        _ => {
            let problem = unknown_option(option, option_names(USAGE));
            return Err(Error::invalid("read arguments").with("problem", problem));
        }
    }
    Ok(())
}

fn wrong(option: &str, value: &str) -> Error {
    Error::invalid("read arguments").with("option", option).with("value", value)
}

fn value<'a>(option: &str, word: Option<&'a str>) -> Result<&'a str> {
    word.ok_or_else(|| wrong(option, "missing"))
}

fn number(option: &str, word: Option<&str>) -> Result<u64> {
    let word = value(option, word)?;
    word.parse().ok().filter(|n| *n > 0).ok_or_else(|| wrong(option, word))
}

fn address(text: &str) -> Result<SocketAddr> {
    text.parse().map_err(|_| wrong("address", text))
}

fn listen(text: &str) -> Result<Listen> {
    match text.strip_prefix("unix:") {
        Some(path) => Ok(Listen::Unix(path.into())),
        None => address(text).map(Listen::Tcp),
    }
}
