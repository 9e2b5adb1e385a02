//! Runs every program, in an order in which one reads what another wrote.

use std::process::Command;

fn run(folder: &std::path::Path, program: &str, argument: &str) -> String {
    let output =
        Command::new(program).arg(argument).current_dir(folder).output().expect("the program starts");
    let (out, err) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{program}: {out}{err}");
    out.into_owned()
}

#[test]
fn programs_print_what_they_stored() {
    let folder = tempfile::tempdir().expect("a folder");
    let here = folder.path();
    assert!(
        run(here, env!("CARGO_BIN_EXE_write_compressed"), "weather.h5")
            .starts_with("weather.h5: 60000 elements")
    );
    assert!(
        run(here, env!("CARGO_BIN_EXE_read_slice"), "weather.h5")
            .starts_with("[10, 6] of [200, 300]: mean 28")
    );
    assert_eq!(run(here, env!("CARGO_BIN_EXE_append_loop"), "samples.h5"), "samples.h5: [100, 3]\n");
    assert_eq!(run(here, env!("CARGO_BIN_EXE_structs"), "stations.h5"), "stations.h5: [12.5, 2962.0]\n");
    let maps = run(here, env!("CARGO_BIN_EXE_maps"), "people.h5");
    assert_eq!(maps, "people.h5: Alice has Some(25385486), Carol has None\n");
    assert_eq!(run(here, env!("CARGO_BIN_EXE_choose_storage"), "run").lines().count(), 5);
}
