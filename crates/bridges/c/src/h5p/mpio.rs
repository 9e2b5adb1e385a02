//! Communicators of file access lists: the driver of files that the processes of an MPI job have open together.

use std::sync::Arc;

use super::class::Kind;
use super::drivers;
use super::file_access::{change, read};
use super::list;
use crate::api;
use crate::arguments::Out;
use crate::codes::{Major, Minor};
use crate::failure::{Failure, Fallible};
use crate::ffi::{herr_t, hid_t};
use crate::h5fd::BuiltIn;
use crate::mpi::{self, MPI_Comm, MPI_Info, Parameters};

/// Duplicates communicator and hints for a list that can be changed.
fn parameters(id: hid_t, comm: MPI_Comm, info: MPI_Info) -> Fallible<Arc<Parameters>> {
    list::list_of(id, Kind::FileAccess)
        .map_err(|_| Failure::wrong_type("not a file access list").as_major(Major::PLIST))?
        .check_writable()?;
    let cannot = |failure: Failure| failure.as_major(Major::PLIST);
    Parameters::duplicate(comm, info).map_err(cannot)
}

/// Gives duplicates of a list's communicator and hints.
fn give(id: hid_t, comm: Out<MPI_Comm>, info: Out<MPI_Info>) -> Fallible<()> {
    let parameters = read(id, |access| access.mpi.clone())?;
    let (own_comm, own_info) =
        parameters.map_or_else(|| Ok(mpi::nothing()), |parameters| parameters.give())?;
    comm.put(own_comm);
    info.put(own_info);
    Ok(())
}

fn set_parameters(id: hid_t, parameters: Arc<Parameters>) -> Fallible<()> {
    change(id, &["vfd_info"], |access| access.mpi = Some(parameters))
}

api! { PLIST:
    /// Sets the driver of files that the processes of a communicator have open together (feature `mpi`). All of them call this.
    fn H5Pset_fapl_mpio(fapl_id: hid_t, comm: MPI_Comm, info: MPI_Info) -> herr_t {
        let parameters = parameters(fapl_id, comm, info)?;
        drivers::choose(fapl_id, BuiltIn::Mpio, "", None)?;
        set_parameters(fapl_id, parameters)
    }

    /// Returns duplicates of the communicator and the hints, which the program frees (feature `mpi`). All processes call this.
    fn H5Pget_fapl_mpio(fapl_id: hid_t, comm: Out<MPI_Comm>, info: Out<MPI_Info>) -> herr_t {
        let other = |_| Failure::new(Major::PLIST, Minor::BADVALUE, "VFL driver is not MPI-I/O");
        drivers::check_driver(fapl_id, BuiltIn::Mpio).map_err(other)?;
        give(fapl_id, comm, info)
    }

    /// Sets the communicator and the hints, whatever the driver is (feature `mpi`). All processes call this.
    fn H5Pset_mpi_params(fapl_id: hid_t, comm: MPI_Comm, info: MPI_Info) -> herr_t {
        set_parameters(fapl_id, parameters(fapl_id, comm, info)?)
    }

    /// Returns duplicates of the communicator and the hints, which the program frees (feature `mpi`). All processes call this.
    fn H5Pget_mpi_params(fapl_id: hid_t, comm: Out<MPI_Comm>, info: Out<MPI_Info>) -> herr_t {
        give(fapl_id, comm, info)
    }
}
