//! `hyperslab completions`: scripts for shells, made of the help texts.

use std::process::ExitCode;

use crate::commands::{COMMANDS, Command};
use crate::help;
use crate::usage::{Part, names, parts};

pub(crate) const USAGE: &str = "\
usage: hyperslab completions bash|zsh|fish
  bash: hyperslab completions bash > ~/.local/share/bash-completion/completions/hyperslab
  zsh:  hyperslab completions zsh > a folder of $fpath/_hyperslab
  fish: hyperslab completions fish > ~/.config/fish/completions/hyperslab.fish
";

/// Prints the script of a shell.
pub(crate) fn run(words: &[String]) -> ExitCode {
    let script = match words.first().map(String::as_str) {
        Some("bash") => bash(),
        Some("zsh") => zsh(),
        Some("fish") => fish(),
        Some("-h" | "--help") => USAGE.to_owned(),
        _ => return help::refuse("completions", words),
    };
    print!("{script}");
    ExitCode::SUCCESS
}

/// Returns the options of a command with what they do, and those that every command has. What `exec` runs gets all words.
fn options(command: &Command) -> Vec<(String, String)> {
    let common = if command.name == "exec" { "" } else { help::COMMON };
    let mut found = Vec::new();
    for part in parts(command.usage).into_iter().chain(parts(common)) {
        if let Part::Option { flags, about } = part {
            found.extend(names(flags).map(|name| (name.to_owned(), about.clone())));
        }
    }
    found
}

fn bash() -> String {
    let commands: Vec<&str> = COMMANDS.iter().map(|command| command.name).collect();
    let mut cases = String::new();
    for command in COMMANDS {
        let options: Vec<String> = options(command).into_iter().map(|(name, _)| name).collect();
        cases += &format!("        {}) options=\"{}\" ;;\n", command.name, options.join(" "));
    }
    format!(
        r#"_hyperslab() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" options=""
    if [ "$COMP_CWORD" -eq 1 ]; then
        COMPREPLY=($(compgen -W "{}" -- "$word"))
        return
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}    esac
    case "$word" in
        -*) COMPREPLY=($(compgen -W "$options" -- "$word")) ;;
        *) COMPREPLY=($(compgen -f -- "$word")) ;;
    esac
}}
complete -o filenames -F _hyperslab hyperslab
"#,
        commands.join(" ")
    )
}

/// Returns a text for single quotes of a shell.
fn quoted(text: &str) -> String {
    text.replace('\'', "'\\''")
}

fn zsh() -> String {
    // A colon ends the name in what `_describe` takes.
    let described = |name: &str, about: &str| format!("'{}:{}'", name.replace(':', "\\:"), quoted(about));
    let commands: Vec<String> =
        COMMANDS.iter().map(|command| described(command.name, command.about)).collect();
    let mut cases = String::new();
    for command in COMMANDS {
        let all: Vec<String> = options(command).iter().map(|(name, about)| described(name, about)).collect();
        cases += &format!("        {}) options=({}) ;;\n", command.name, all.join(" "));
    }
    format!(
        r#"#compdef hyperslab
_hyperslab() {{
    local -a commands options
    commands=({})
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    case "$words[2]" in
{cases}    esac
    if [[ "$words[CURRENT]" == -* ]]; then
        _describe option options
    else
        _files
    fi
}}
_hyperslab "$@"
"#,
        commands.join(" ")
    )
}

fn fish() -> String {
    let mut script = String::new();
    for command in COMMANDS {
        let (name, about) = (command.name, quoted(command.about));
        script += &format!("complete -c hyperslab -n __fish_use_subcommand -f -a {name} -d '{about}'\n");
        for (option, about) in options(command) {
            let flag = match option.strip_prefix("--") {
                Some(long) => format!("-l {long}"),
                None if option.len() == 2 => format!("-s {}", &option[1..]),
                None => format!("-o {}", &option[1..]),
            };
            let about = quoted(&about);
            let only = format!("'__fish_seen_subcommand_from {name}'");
            script += &format!("complete -c hyperslab -n {only} {flag} -d '{about}'\n");
        }
    }
    script
}
