//! A program that knows nothing of connectors: it creates a file, and reads it. Where the file is, others say.

use std::path::{Path, PathBuf};

use hyperslab::vol::Registry;
use hyperslab::vol::model::properties::FileCreate;
use hyperslab::{File, FileAccess, H5Type, Result, s};

/// The terminal connectors of this build.
pub(crate) const CONNECTORS: [&str; 4] = ["native", "memory", "raw", "json"];

/// A new folder for a test.
pub(crate) fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("requirements").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// A container of a connector in a folder.
pub(crate) fn location(connector: &str, folder: &Path, name: &str) -> String {
    format!("{connector}:{}", folder.join(name).display())
}

pub(crate) fn create(registry: &Registry, location: &str, stack: Option<&str>) -> Result<File> {
    let access = FileAccess { stack: stack.map(str::to_owned), ..FileAccess::write() };
    File::create_in(registry, location, &FileCreate::default(), &access, false)
}

#[derive(H5Type, Clone, Debug, PartialEq)]
#[repr(C)]
pub(crate) struct Station {
    id: u32,
    height: f64,
    name: String,
}

/// What the program finds in its file.
#[derive(Debug, PartialEq)]
pub(crate) struct Found {
    pub(crate) names: Vec<String>,
    mean: f64,
    column: Vec<f32>,
    unit: String,
    stations: Vec<Station>,
    length: Vec<usize>,
}

fn stations() -> Vec<Station> {
    let station = |(id, name): (u32, &str)| Station { id, height: f64::from(id) * 100.5, name: name.into() };
    [(1, "Säntis"), (2, "Zugspitze"), (3, "")].map(station).to_vec()
}

pub(crate) fn write(file: &File) -> Result<()> {
    let grid = file.new_dataset::<f32>().shape([6, 4]).chunk([4, 4]).shuffle().deflate(4);
    let grid = grid.max_shape([usize::MAX, 4]).create("weather/temperature")?;
    grid.write_raw(&(0..24).map(|n| n as f32 / 2.0).collect::<Vec<_>>())?;
    grid.resize([8, 4])?;
    grid.set_attr("unit", "°C".to_owned())?;
    file.new_dataset::<Station>().shape(3).create("weather/stations")?.write_raw(&stations())?;
    file.link_soft("/weather/temperature", "latest")?;
    file.link_hard("weather/stations", "stations")
}

pub(crate) fn read(file: &File) -> Result<Found> {
    let grid = file.dataset("latest")?;
    let all = grid.read_2d::<f64>()?;
    Ok(Found {
        names: file.member_names()?,
        mean: all.mean().unwrap_or_default(),
        column: grid.read_slice_1d::<f32, _>(s![1..7;2, 3])?.to_vec(),
        unit: grid.attr("unit")?.read_string()?,
        stations: file.dataset("stations")?.read_raw()?,
        length: grid.shape(),
    })
}

/// What the program wrote, so what it has to find.
pub(crate) fn expected() -> Found {
    Found {
        names: ["latest", "stations", "weather"].map(str::to_owned).to_vec(),
        mean: 4.3125,
        column: vec![3.5, 7.5, 11.5],
        unit: "°C".to_owned(),
        stations: stations(),
        length: vec![8, 4],
    }
}
