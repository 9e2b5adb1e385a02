//! `hyperslab tour`: a newcomer's first command. It makes a small container, takes it through every kind of storage that
//! needs no server, and shows that it stays the same.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use system::clock::Instant;

use hyperslab::vol::algorithms::compare;
use hyperslab::vol::algorithms::copy::CopyContext;
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::vol::{Container, FileAccess};
use hyperslab::{Durability, File, H5Type, Limits, Result};
use ndarray::Array3;

use crate::scratch::Scratch;
use crate::settings::registry;

/// A weather station.
#[derive(H5Type)]
struct Station {
    id: i32,
    latitude: f64,
    longitude: f64,
    height: f32,
}

const NAMES: [&str; 6] =
    ["Sonnblick", "Zugspitze", "Jungfraujoch", "Pic du Midi", "Ben Nevis", "Galdhøpiggen"];

/// The info of a row of the table.
struct Row {
    storage: String,
    objects: u64,
    bytes: u64,
    seconds: f64,
    differences: Vec<compare::Difference>,
}

pub(crate) const USAGE: &str = "usage: hyperslab tour\n";

pub(crate) fn run(args: &[String]) -> ExitCode {
    if let Some(arg) = args.first() {
        print!("{USAGE}");
        return if arg == "-h" || arg == "--help" { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let done = Scratch::new("tour").and_then(|folder| tour(folder.path()));
    match done {
        Ok(rows) if rows.iter().all(|row| row.differences.is_empty()) => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("hyperslab tour: {error}");
            ExitCode::FAILURE
        }
    }
}

fn tour(folder: &Path) -> Result<Vec<Row>> {
    println!(
        "A weather container: a grid of temperatures (deflated chunks), a table of stations, their names, links between them, a map.\n"
    );
    let original = made("memory:tour")?;
    let at = |name: &str| folder.join(name).display().to_string();
    let mirror = format!("stats | async | mirror{{to=raw:{}}}", at("mirror"));
    let stops: [(String, Option<&str>); 5] = [
        (format!("native:{}", at("weather.h5")), None),
        (format!("raw:{}", at("weather")), None),
        (format!("json:{}", at("weather.json")), None),
        ("memory:weather".to_owned(), None),
        (format!("native:{}", at("mirrored.h5")), Some(&mirror)),
    ];
    let mut rows = Vec::new();
    let mut last = original.clone();
    for (location, stack) in &stops {
        // Each takes over from the one before.
        let (row, container) = stop(&*last, &*original, location, *stack)?;
        rows.push(row);
        last = container;
    }
    let copies = registry().open(&format!("raw:{}", at("mirror")), &FileAccess::read())?;
    rows.push(Row {
        storage: "the mirror of the row above, a folder".to_owned(),
        objects: count(&copies)?,
        bytes: bytes_of(&folder.join("mirror")),
        seconds: 0.0,
        differences: compare::contents(&*original, &*copies)?,
    });
    print(&rows);
    Ok(rows)
}

/// Copies to one storage, closes and opens it, and compares it with the original.
fn stop(
    source: &dyn Container,
    original: &dyn Container,
    location: &str,
    stack: Option<&str>,
) -> Result<(Row, Arc<dyn Container>)> {
    let begun = Instant::now();
    let access = FileAccess { stack: stack.map(str::to_owned), ..FileAccess::write() };
    let create = FileCreate { root: source.info()?.create.root.clone(), ..FileCreate::default() };
    let target = registry().create(location, &create, &access, true)?;
    hyperslab::vol::algorithms::copy::contents(source, &*target, CopyContext::new(&Limits::default()))?;
    target.close()?;
    let seconds = begun.elapsed().as_secs_f64();
    let opened = registry().open(location, &FileAccess::read())?;
    let (connector, path) = location.split_once(':').unwrap_or(("native", location));
    let storage = match (connector, stack) {
        (_, Some(_)) => "an HDF5 file under stats | async | mirror".to_owned(),
        ("native", _) => "native: an HDF5 file".to_owned(),
        ("raw", _) => "raw: a folder of plain files".to_owned(),
        ("json", _) => "json: one text that people can diff".to_owned(),
        (other, _) => format!("{other}: the memory of this process"),
    };
    let row = Row {
        storage,
        objects: count(&opened)?,
        bytes: bytes_of(&PathBuf::from(path)),
        seconds,
        differences: compare::contents(original, &*opened)?,
    };
    Ok((row, opened))
}

/// Returns the container that goes on tour.
fn made(location: &str) -> Result<Arc<dyn Container>> {
    let file = File::create_in(registry(), location, &FileCreate::default(), &FileAccess::write(), true)?;
    let grid = Array3::from_shape_fn((24, 60, 90), |(hour, y, x)| {
        let (day, height) = ((hour as f32 / 24.0 * std::f32::consts::TAU).sin(), (x as f32 / 9.0).cos());
        (10.0 * (285.0 + 6.0 * day - 0.3 * y as f32 + 2.0 * height)).round() / 10.0
    });
    let temperature = file
        .new_dataset::<f32>()
        .shape(grid.shape())
        .chunk((6, 30, 30))
        .shuffle()
        .deflate(4)
        .create("forecast/temperature")?;
    temperature.write(&grid)?;
    temperature.set_attr("unit", "K".to_owned())?;
    let stations: Vec<Station> = (0..NAMES.len())
        .map(|n| Station {
            id: n as i32 + 1,
            latitude: 47.0 + n as f64 / 3.0,
            longitude: 13.0 - n as f64,
            height: 3105.0 - 200.0 * n as f32,
        })
        .collect();
    file.new_dataset::<Station>().shape(NAMES.len()).create("stations/table")?.write_raw(&stations)?;
    let names: Vec<String> = NAMES.map(str::to_owned).to_vec();
    file.new_dataset::<String>().shape(NAMES.len()).create("stations/names")?.write_raw(&names)?;
    file.link_soft("/forecast/temperature", "latest")?;
    file.link_hard("/stations/table", "forecast/stations")?;
    file.set_attr("title", "Weather on the tour".to_owned())?;
    add_map(&file)?;
    file.commit(Durability::None)?;
    Ok(file.container().clone())
}

/// Heights by name.
fn add_map(file: &File) -> Result<()> {
    let heights = file.create_map::<String, f64>("heights")?;
    let pairs: Vec<(String, f64)> =
        NAMES.iter().enumerate().map(|(n, name)| ((*name).to_owned(), 3105.0 - 200.0 * n as f64)).collect();
    heights.put_all(pairs.iter().map(|(name, height)| (name, height)))
}

fn count(container: &Arc<dyn Container>) -> Result<u64> {
    let file = File::from_container(container.clone(), "", &FileAccess::read())?;
    let mut objects = 1;
    file.visit(|stop| {
        objects += u64::from(stop.object.is_some() && !stop.again);
        Ok(std::ops::ControlFlow::Continue(()))
    })?;
    Ok(objects)
}

/// Returns the number of bytes of a file, or of all files in a folder.
fn bytes_of(path: &Path) -> u64 {
    match std::fs::read_dir(path) {
        Ok(entries) => entries.flatten().map(|entry| bytes_of(&entry.path())).sum(),
        Err(_) => path.metadata().map_or(0, |m| m.len()),
    }
}

fn print(rows: &[Row]) {
    println!("{:<42} {:>7} {:>9} {:>9}  equal", "storage", "objects", "bytes", "seconds");
    for row in rows {
        let bytes = if row.bytes == 0 { "–".to_owned() } else { row.bytes.to_string() };
        let equal = if row.differences.is_empty() { "equal" } else { "DIFFERS" };
        println!("{:<42} {:>7} {:>9} {:>9.3}  {equal}", row.storage, row.objects, bytes, row.seconds);
        row.differences.iter().take(3).for_each(|difference| println!("    {difference}"));
    }
    println!(
        "\nWhat to try next:
  hyperslab ls -rv FILE.h5                             look into any HDF5 file
  hyperslab copy FILE.h5 raw:folder/                   the same as plain files, for numpy.fromfile
  hyperslab copy FILE.h5 json:file.json                the same as text
  hyperslab --vol stats copy FILE.h5 COPY.h5           what that took
  hyperslab diff FILE.h5 raw:folder/                   whether it is the same
  hyperslab vol list                                   what else there is"
    );
}
