//! Dimension scales, with h5py as the other program.

use hyperslab::vol::model::text::from_path;
use hyperslab::{File, Kind, Result};

fn path_in(folder: &testkit::Folder, name: &str) -> String {
    from_path(&std::path::PathBuf::from(folder.at(name)))
}

/// Runs a script of h5py in the folder; it ends with an error where it disagrees.
fn h5py(folder: &testkit::Folder, script: &str) {
    let output =
        std::process::Command::new("python3").args(["-c", script]).current_dir(folder.path()).output();
    let output = output.unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// A dataset of two dimensions, with two scales on the second.
fn with_scales(file: &File) -> Result<()> {
    let data = file.new_dataset::<f32>().shape([3, 4]).create("data")?;
    let lon = file.new_dataset_builder().with_data(&[10.0, 20.0, 30.0, 40.0]).create("lon")?;
    let index = file.new_dataset_builder().with_data(&[1, 2, 3, 4]).create("index")?;
    lon.make_scale(Some("longitude"))?;
    data.attach_scale(1, &lon)?;
    data.attach_scale(1, &index)?;
    // Once more changes nothing.
    data.attach_scale(1, &lon)?;
    data.set_label(1, "x")
}

fn names(file: &File, dimension: usize) -> Result<Vec<String>> {
    let scales = file.dataset("data")?.scales(dimension)?;
    Ok(scales.iter().map(|scale| scale.name().to_owned()).collect())
}

#[test]
fn scales_are_attached_listed_and_detached_in_every_storage() -> Result<()> {
    let folder = testkit::Folder::new("scales");
    for (prefix, name) in [("", "file.h5"), ("memory:", "scales"), ("object:", "store/"), ("raw:", "raw/")] {
        let file = File::create(format!("{prefix}{}", path_in(&folder, name)))?;
        with_scales(&file)?;
        let (data, lon) = (file.dataset("data")?, file.dataset("lon")?);
        assert_eq!(names(&file, 1)?, ["/lon", "/index"]);
        assert_eq!(names(&file, 0)?, [""; 0]);
        assert_eq!(lon.scale_name()?.as_deref(), Some("longitude"));
        assert!(file.dataset("index")?.is_scale()? && file.dataset("index")?.scale_name()?.is_none());
        assert_eq!((data.label(0)?, data.label(1)?.as_deref()), (None, Some("x")));
        assert!(data.is_attached(1, &lon)? && !data.is_attached(0, &lon)?);
        data.detach_scale(1, &lon)?;
        assert_eq!(names(&file, 1)?, ["/index"]);
        assert!(lon.is_scale()? && !data.is_attached(1, &lon)?);
        data.detach_scale(1, &file.dataset("index")?)?;
        // What lists nothing is gone, as libhdf5 leaves it.
        assert!(data.attr("DIMENSION_LIST").is_err() && lon.attr("REFERENCE_LIST").is_err());
    }
    Ok(())
}

#[test]
fn what_cannot_be_a_scale_is_refused() -> Result<()> {
    let file = File::create("memory:scales-refused")?;
    with_scales(&file)?;
    let (data, lon) = (file.dataset("data")?, file.dataset("lon")?);
    let other = File::create("memory:scales-other")?;
    let foreign = other.new_dataset::<f32>().shape([4]).create("foreign")?;
    for result in [
        data.attach_scale(2, &lon),
        data.attach_scale(0, &data),
        data.attach_scale(0, &foreign),
        lon.attach_scale(0, &file.dataset("index")?),
        data.make_scale(None),
        data.set_label(2, "none"),
        data.scales(2).map(drop),
    ] {
        assert_eq!(result.unwrap_err().kind(), Kind::Invalid);
    }
    assert_eq!(data.detach_scale(0, &lon).unwrap_err().kind(), Kind::NotFound);
    Ok(())
}

#[test]
fn h5py_and_this_library_read_and_change_scales_of_each_other() -> Result<()> {
    let folder = testkit::Folder::new("scales-h5py");
    let file = File::create(path_in(&folder, "ours.h5"))?;
    with_scales(&file)?;
    file.close()?;
    h5py(
        &folder,
        "
import h5py
with h5py.File('ours.h5', 'r+') as f:
    d = f['data']
    assert [s.name for s in d.dims[1].values()] == ['/lon', '/index'], list(d.dims[1].values())
    assert d.dims[1].label == 'x' and d.dims[0].label == '' and list(d.dims[1].keys()) == ['longitude', '']
    assert h5py.h5ds.is_scale(f['lon'].id) and h5py.h5ds.is_attached(d.id, f['lon'].id, 1)
    assert f['lon'].attrs['REFERENCE_LIST'].dtype.names == ('dataset', 'dimension')
    d.dims[1].detach_scale(f['lon'])
    d.dims[0].attach_scale(f.create_dataset('lat', data=[1.0, 2.0, 3.0]))
    d.dims[0].label = 'y'
",
    );
    let file = File::open_rw(path_in(&folder, "ours.h5"))?;
    assert_eq!((names(&file, 0)?, names(&file, 1)?), (vec!["/lat".into()], vec!["/index".into()]));
    let data = file.dataset("data")?;
    assert_eq!(data.label(0)?.as_deref(), Some("y"));
    data.detach_scale(0, &file.dataset("lat")?)?;
    data.attach_scale(0, &file.dataset("lon")?).unwrap();
    file.close()?;
    h5py(
        &folder,
        "
import h5py
with h5py.File('ours.h5') as f:
    assert [s.name for s in f['data'].dims[0].values()] == ['/lon']
    assert h5py.h5ds.get_num_scales(f['data'].id, 0) == 1
    assert 'REFERENCE_LIST' not in f['lat'].attrs
",
    );
    Ok(())
}
