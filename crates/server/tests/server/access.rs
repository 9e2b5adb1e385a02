//! Who is let in, what names lead to, what is removed, and what is reported and written down.

use std::os::unix::fs::{PermissionsExt, symlink};

use crate::common::{Folder, clients, storage};
use hyperslab_server::{Auth, Config, Rights, Server};
use model::Kind;
use model::properties::FileCreate;
use vol::{Container, FileAccess, Result};

const RIGHTS: &str = "ann annannannannannann write runs\nbob bobbobbobbobbobbob write other\n";
const ANN: &str = "?token=annannannannannann";

fn with_rights(folder: &Folder) -> Config {
    for name in ["runs", "other"] {
        std::fs::create_dir_all(folder.path().join(name)).unwrap();
    }
    let auth = Auth::Tokens(Rights::parse(RIGHTS).unwrap());
    Config { auth, ..Config::local(storage(), folder.path()) }
}

fn create(server: &Server, name: &str) -> Result<std::sync::Arc<dyn Container>> {
    clients().create(&server.location(name), &FileCreate::default(), &FileAccess::write(), false)
}

fn kind<T>(outcome: Result<T>) -> Kind {
    outcome.map(drop).unwrap_err().root_cause().kind()
}

#[test]
fn a_server_makes_a_token_that_only_its_user_finds() {
    let folder = Folder::new("server");
    let server = Server::start(&Config::local(storage(), folder.path())).unwrap();
    let file = server.token_file().expect("a token was made").to_owned();
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let token = std::fs::read_to_string(&file).unwrap();
    assert!(token.len() >= 32 && !server.location("a.h5").contains(&token));
    // Our clients find it; one that says another, or none, is sent away.
    create(&server, "a.h5").unwrap().close().unwrap();
    assert_eq!(kind(create(&server, "b.h5?token=0123456789abcdef")), Kind::Denied);
    std::fs::set_permissions(&file, PermissionsExt::from_mode(0o644)).unwrap();
    assert_eq!(kind(create(&server, "b.h5")), Kind::Denied, "a file that others can read is no token");
    drop(server);
    assert!(!file.exists(), "the token goes with its server");
}

#[test]
fn rights_follow_links_to_what_they_lead_to() {
    let folder = Folder::new("server");
    let server = Server::start(&with_rights(&folder)).unwrap();
    create(&server, "other/secret.h5?token=bobbobbobbobbobbob").unwrap().close().unwrap();
    symlink("../other/secret.h5", folder.path().join("runs/file.h5")).unwrap();
    symlink("../other", folder.path().join("runs/folder")).unwrap();
    symlink("own.h5", folder.path().join("runs/link.h5")).unwrap();
    for name in ["runs/file.h5", "runs/folder/secret.h5"] {
        let location = server.location(&format!("{name}{ANN}"));
        assert_eq!(kind(clients().open(&location, &FileAccess::read())), Kind::Denied, "{name}");
        assert_eq!(kind(clients().open(&location, &FileAccess::write())), Kind::Denied, "{name}");
        assert_eq!(kind(clients().delete(&location, &FileAccess::read())), Kind::Denied, "{name}");
    }
    assert_eq!(kind(create(&server, &format!("runs/folder/new.h5{ANN}"))), Kind::Denied);
    // A link within what one may use is as good as a name.
    create(&server, &format!("runs/own.h5{ANN}")).unwrap().close().unwrap();
    clients().open(&server.location(&format!("runs/link.h5{ANN}")), &FileAccess::read()).unwrap();
    assert!(folder.path().join("other/secret.h5").is_file());
}

#[test]
fn only_containers_are_removed() {
    let folder = Folder::new("server");
    let server = Server::start(&with_rights(&folder)).unwrap();
    std::fs::write(folder.path().join("runs/notes.txt"), "no container").unwrap();
    std::fs::create_dir(folder.path().join("runs/folder")).unwrap();
    std::fs::write(folder.path().join("runs/folder/file"), "no container").unwrap();
    for name in ["runs/notes.txt", "runs/folder", "runs/folder/", "runs/folder/file", "runs"] {
        let location = server.location(&format!("{name}{ANN}"));
        clients().delete(&location, &FileAccess::read()).unwrap_err();
    }
    assert!(
        folder.path().join("runs/notes.txt").is_file() && folder.path().join("runs/folder/file").is_file()
    );
    create(&server, &format!("runs/a.h5{ANN}")).unwrap().close().unwrap();
    clients().delete(&server.location(&format!("runs/a.h5{ANN}")), &FileAccess::read()).unwrap();
    assert!(!folder.path().join("runs/a.h5").exists());
}

#[test]
fn no_error_tells_where_the_root_is() {
    let folder = Folder::new("server");
    let server = Server::start(&with_rights(&folder)).unwrap();
    let root = folder.path().to_string_lossy().into_owned();
    std::fs::write(folder.path().join("runs/notes.txt"), "no container").unwrap();
    std::fs::write(folder.path().join("runs/cut.h5"), b"\x89HDF\r\n\x1a\n\0\0").unwrap();
    for name in ["runs/notes.txt", "runs/cut.h5", "runs/missing.h5", "runs", "runs/none/x.h5"] {
        let location = server.location(&format!("{name}{ANN}"));
        for error in [
            clients().open(&location, &FileAccess::read()).map(drop).unwrap_err(),
            clients().delete(&location, &FileAccess::read()).unwrap_err(),
        ] {
            let text = error.stack();
            assert!(!text.contains(&root) && !text.contains("annann"), "{text}");
        }
    }
}

#[test]
fn who_asked_for_what_is_written_down() {
    let folder = Folder::new("server");
    let (root, audit) = (Folder::new("server"), folder.path().join("audit.json"));
    let config = Config { audit: Some(audit.clone()), ..with_rights(&root) };
    let server = Server::start(&config).unwrap();
    create(&server, &format!("runs/a.h5{ANN}")).unwrap().close().unwrap();
    let _ = create(&server, &format!("other/a.h5{ANN}")).map(drop).unwrap_err();
    let _ = create(&server, "runs/a.h5?token=a-token-of-nobody").map(drop).unwrap_err();
    let _ = clients().delete(&server.location(&format!("runs/x\u{1b}[2J{ANN}")), &FileAccess::read());
    clients().delete(&server.location(&format!("runs/a.h5{ANN}")), &FileAccess::read()).unwrap();
    assert_eq!(std::fs::metadata(&audit).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&audit).unwrap();
    assert!(!text.contains("annann") && !text.contains("a-token") && !text.contains('\u{1b}'), "{text}");
    let has = |words: &[&str]| text.lines().any(|line| words.iter().all(|word| line.contains(word)));
    let from = "\"from\":\"127.0.0.1:";
    assert!(
        has(&["\"who\":\"ann\"", from, "\"what\":\"create\"", "runs/a.h5", "\"allowed\":true"]),
        "{text}"
    );
    assert!(has(&["\"who\":\"ann\"", "\"what\":\"create\"", "other/a.h5", "\"allowed\":false"]), "{text}");
    assert!(has(&["\"who\":\"?\"", from, "\"what\":\"hello\"", "\"allowed\":false", "token"]), "{text}");
    assert!(has(&["\"who\":\"ann\"", "\"what\":\"delete\"", "runs/a.h5", "\"allowed\":true"]), "{text}");
    assert!(text.lines().all(|line| line.starts_with('{') && line.ends_with('}')), "{text}");
}
