//! Help, completions, manual pages, and outputs for other programs.

use std::process::Command;

use hyperslab::File;

use super::common::{Folder, done, hyperslab, text};

#[test]
fn each_command_has_help_and_a_mistyped_one_is_guessed() {
    let all = text(&done(&["help"]).stdout);
    for command in ["dump", "ls", "copy", "check", "serve", "completions"] {
        assert!(all.contains(&format!("  {command} ")), "{command}");
        assert!(text(&done(&["help", command]).stdout).starts_with(&format!("usage: hyperslab {command}")));
    }
    let wrong = hyperslab(&["dmup", "file"]);
    assert!(!wrong.status.success() && text(&wrong.stderr).contains("did you mean `hyperslab dump`?"));
}

/// Commands with parsers of every kind.
#[test]
fn a_mistyped_option_is_guessed() {
    for (words, meant) in [
        (["dump", "--propreties", "a.h5"], "--properties"),
        (["ls", "--recusive", "a.h5"], "--recursive"),
        (["stat", "--freespcae", "a.h5"], "--freespace"),
        (["diff", "--reprot", "a.h5"], "--report"),
        (["copy", "--overwirte", "a.h5"], "--overwrite"),
        (["repack", "--fliter", "a.h5"], "--filter"),
        (["check", "--jsno", "a.h5"], "--json"),
        (["view", "--no-opne", "a.h5"], "--no-open"),
        (["watch", "--intreval", "a.h5"], "--interval"),
        (["log", "--entires", "a.h5"], "--entries"),
        (["serve", "--listne", "a.h5"], "--listen"),
        (["recover", "--tiemout", "a.h5"], "--timeout"),
    ] {
        let wrong = hyperslab(&words);
        let said = text(&wrong.stdout) + &text(&wrong.stderr);
        assert!(
            !wrong.status.success() && said.contains(&format!("did you mean \"{meant}\"?")),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn a_mistyped_path_is_guessed() {
    let folder = Folder::new("help-path");
    let (path, copy) = (folder.at("a.h5"), folder.at("b.h5"));
    let file = File::create(&path).unwrap();
    file.new_dataset::<i32>().shape([2]).create("run/temperature").unwrap();
    file.close().unwrap();
    let object = format!("{path}/run/temprature");
    let commands: [&[&str]; 6] = [
        &["dump", "-d", "/run/temprature", &path],
        &["dump", "-g", "/rnu", &path],
        &["ls", &object],
        &["copy", "-s", "/run/temprature", &path, &copy],
        &["diff", &path, &path, "/run/temprature"],
        &["view", "--text", &path, "/run/temprature"],
    ];
    for words in commands {
        let wrong = hyperslab(words);
        let meant = if words.contains(&"/rnu") { "/run" } else { "/run/temperature" };
        let said = text(&wrong.stderr);
        assert!(
            !wrong.status.success() && said.contains(&format!("did you mean \"{meant}\"?")),
            "{words:?}: {said}"
        );
    }
}

#[test]
fn bash_completes_commands_and_options() {
    let script = text(&done(&["completions", "bash"]).stdout);
    let ask = |words: &str, at: u32| {
        let line =
            format!("{script}\nCOMP_WORDS=({words}); COMP_CWORD={at}; _hyperslab; echo ${{COMPREPLY[@]}}");
        text(&Command::new("bash").args(["-c", &line]).output().unwrap().stdout).trim().to_owned()
    };
    assert_eq!(ask("hyperslab rep", 1), "repack");
    assert_eq!(ask("hyperslab ls --rec", 2), "--recursive");
    assert_eq!(ask("hyperslab dump --prop", 2), "--properties");
    assert_eq!(ask("hyperslab stat --time", 2), "--timeout");
    assert_eq!(ask("hyperslab exec --sw", 2), "");
    for shell in ["zsh", "fish"] {
        assert!(text(&done(&["completions", shell]).stdout).contains("recursive"));
    }
}

#[test]
fn manual_pages_are_written_for_all_commands() {
    let folder = Folder::new("help-man");
    done(&["man", "--all", &folder.at("")]);
    let page = std::fs::read_to_string(folder.at("hyperslab-dump.1")).unwrap();
    assert!(
        page.starts_with(".TH HYPERSLAB-DUMP 1")
            && page.contains(".SH SYNOPSIS\nhyperslab dump [OPTIONS] FILE...")
    );
    assert!(page.contains(".B \\-H, \\-\\-header\ndeclarations without data\n"), "{page}");
    assert!(std::fs::read_to_string(folder.at("hyperslab.1")).unwrap().contains("hyperslab\\-dump(1)"));
}

#[test]
fn ls_and_check_print_json_for_other_programs() {
    let folder = Folder::new("help-json");
    let path = folder.at("a.h5");
    let file = File::create(&path).unwrap();
    let data = file.new_dataset::<f32>().shape([4, 6]).chunk([2, 3]).deflate(6).create("g/h/d").unwrap();
    data.set_attr("unit", "K").unwrap();
    file.link_soft("/g/h/d", "soft \"quoted\"").unwrap();
    file.close().unwrap();

    let listed: serde_json::Value =
        serde_json::from_slice(&done(&["ls", "-r", "--json", &path]).stdout).unwrap();
    let objects = listed["objects"].as_array().unwrap();
    let paths: Vec<&str> = objects.iter().map(|object| object["path"].as_str().unwrap()).collect();
    assert_eq!(paths, ["/", "/g", "/soft \"quoted\"", "/g/h", "/g/h/d"]);
    let dataset = &objects[4];
    assert_eq!((&dataset["kind"], &dataset["attributes"]), (&"dataset".into(), &1.into()));
    assert_eq!(
        (dataset["shape"].to_string(), dataset["chunks"].to_string()),
        ("[4,6]".into(), "[2,3]".into())
    );
    assert_eq!(dataset["filters"][0]["name"], "deflate");
    assert_eq!(objects[2]["target"], "/g/h/d");

    let checked: serde_json::Value =
        serde_json::from_slice(&done(&["check", "--json", &path]).stdout).unwrap();
    assert_eq!((&checked["objects"], &checked["findings"]), (&4.into(), &serde_json::json!([])));
    let missing = hyperslab(&["check", "--json", &folder.at("none.h5")]);
    assert!(!missing.status.success());
    let checked: serde_json::Value = serde_json::from_slice(&missing.stdout).unwrap();
    assert_eq!(checked["kind"], "NotFound");
}
