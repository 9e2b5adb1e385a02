! A program in Fortran, through Debian's libhdf5_fortran: groups, datasets, attributes, compound datatypes, hyperslabs, strings,
! references, iteration. It prints what it reads back, and must print the same on libhdf5 and on this library.
program main
  use hdf5
  use iso_c_binding
  implicit none

  type :: particle
     integer(c_int) :: number
     real(c_double) :: mass
     real(c_float) :: place(3)
  end type particle

  character(len=*), parameter :: name = "fortran.h5"
  integer(hid_t) :: file
  integer :: error

  call h5open_f(error)
  call h5eset_auto_f(0, error)
  call h5fcreate_f(name, H5F_ACC_TRUNC_F, file, error)
  call show("create", error)
  call matrices
  call attributes
  call hyperslabs
  call compounds
  call strings
  call links
  call h5fclose_f(file, error)
  call show("close", error)
  call again
  call failures
  call h5close_f(error)
  call show("end", error)

contains

  subroutine show(what, number)
    character(len=*), intent(in) :: what
    integer, intent(in) :: number
    print '(a, a, i0)', what, " = ", number
  end subroutine show

  subroutine matrices
    integer(hid_t) :: space, dataset, list, group
    integer(hsize_t) :: dims(2) = (/ 4, 6 /), chunk(2) = (/ 2, 3 /)
    integer :: i, j
    integer, target :: values(4, 6)
    real(kind=8) :: reals(4, 6)
    do j = 1, 6
       do i = 1, 4
          values(i, j) = 10 * i + j
       end do
    end do
    call h5gcreate_f(file, "group", group, error)
    call h5screate_simple_f(2, dims, space, error)
    call h5pcreate_f(H5P_DATASET_CREATE_F, list, error)
    call h5pset_chunk_f(list, 2, chunk, error)
    call h5pset_deflate_f(list, 6, error)
    call h5pset_fill_value_f(list, H5T_NATIVE_INTEGER, 7, error)
    call h5dcreate_f(group, "matrix", H5T_STD_I32BE, space, dataset, error, list)
    call show("h5dcreate_f", error)
    call h5dwrite_f(dataset, H5T_NATIVE_INTEGER, values, dims, error)
    call show("h5dwrite_f", error)
    call h5dread_f(dataset, H5T_NATIVE_DOUBLE, reals, dims, error)
    print '(6f8.2)', transpose(reals)
    call h5dclose_f(dataset, error)
    call h5pclose_f(list, error)
    call h5sclose_f(space, error)
    call h5gclose_f(group, error)
  end subroutine matrices

  subroutine attributes
    integer(hid_t) :: group, space, attribute, kind
    integer(hsize_t) :: dims(1) = (/ 3 /), one(1) = (/ 1 /)
    integer :: values(3) = (/ 5, 6, 7 /), found(3), count
    character(len=12) :: text = "some text", back
    character(len=80) :: attribute_name
    integer(hsize_t) :: name_size = 80
    integer(size_t) :: length = 12
    call h5gopen_f(file, "group", group, error)
    call h5screate_simple_f(1, dims, space, error)
    call h5acreate_f(group, "numbers", H5T_NATIVE_INTEGER, space, attribute, error)
    call h5awrite_f(attribute, H5T_NATIVE_INTEGER, values, dims, error)
    call h5aread_f(attribute, H5T_NATIVE_INTEGER, found, dims, error)
    print '(a, 3i4)', "numbers", found
    call h5aget_name_f(attribute, int(80, size_t), attribute_name, error)
    print '(a, i0)', trim(attribute_name), error
    call h5aclose_f(attribute, error)
    call h5sclose_f(space, error)
    call h5screate_f(H5S_SCALAR_F, space, error)
    call h5tcopy_f(H5T_FORTRAN_S1, kind, error)
    call h5tset_size_f(kind, length, error)
    call h5acreate_f(group, "text", kind, space, attribute, error)
    call h5awrite_f(attribute, kind, text, one, error)
    call h5aread_f(attribute, kind, back, one, error)
    print '(a)', "[" // back // "]"
    call h5aclose_f(attribute, error)
    call h5tclose_f(kind, error)
    call h5sclose_f(space, error)
    call h5aget_num_attrs_f(group, count, error)
    call show("attributes", count)
    call h5gclose_f(group, error)
  end subroutine attributes

  subroutine hyperslabs
    integer(hid_t) :: dataset, space, memory
    integer(hsize_t) :: start(2) = (/ 1, 2 /), count(2) = (/ 2, 2 /), stride(2) = (/ 1, 2 /), dims(2) = (/ 2, 2 /)
    integer(hsize_t) :: points(2, 3), whole(2) = (/ 4, 6 /), three(1) = (/ 3 /)
    integer :: part(2, 2), found(3), all_of(4, 6)
    integer(hssize_t) :: number
    call h5dopen_f(file, "/group/matrix", dataset, error)
    call h5dget_space_f(dataset, space, error)
    call h5sselect_hyperslab_f(space, H5S_SELECT_SET_F, start, count, error, stride)
    call h5sget_select_npoints_f(space, number, error)
    print '(a, i0)', "selected ", number
    call h5screate_simple_f(2, dims, memory, error)
    call h5dread_f(dataset, H5T_NATIVE_INTEGER, part, dims, error, memory, space)
    print '(4i5)', part
    part = -part
    call h5dwrite_f(dataset, H5T_NATIVE_INTEGER, part, dims, error, memory, space)
    call h5sclose_f(memory, error)
    points = reshape((/ 1, 1, 4, 6, 2, 3 /), (/ 2, 3 /))
    call h5sselect_elements_f(space, H5S_SELECT_SET_F, 2, int(3, size_t), points, error)
    call h5screate_simple_f(1, three, memory, error)
    call h5dread_f(dataset, H5T_NATIVE_INTEGER, found, three, error, memory, space)
    print '(3i5)', found
    call h5dread_f(dataset, H5T_NATIVE_INTEGER, all_of, whole, error)
    print '(4i5)', all_of
    call h5sclose_f(memory, error)
    call h5sclose_f(space, error)
    call h5dclose_f(dataset, error)
  end subroutine hyperslabs

  subroutine compounds
    type(particle), target :: particles(3), found(3)
    integer(hid_t) :: kind, space, dataset, floats, part
    integer(hsize_t) :: dims(1) = (/ 3 /), three(1) = (/ 3 /)
    integer(size_t) :: bytes
    integer :: i, members
    real(c_double), target :: masses(3)
    character(len=40) :: member
    integer :: length
    type(c_ptr) :: address
    do i = 1, 3
       particles(i) = particle(i, i * 0.5d0, (/ 1.0 * i, 2.0 * i, 3.0 * i /))
    end do
    bytes = h5offsetof(c_loc(particles(1)), c_loc(particles(2)))
    call h5tcreate_f(H5T_COMPOUND_F, bytes, kind, error)
    call h5tarray_create_f(h5kind_to_type(c_float, H5_REAL_KIND), 1, three, floats, error)
    call h5tinsert_f(kind, "number", h5offsetof(c_loc(particles(1)), c_loc(particles(1)%number)), &
         h5kind_to_type(c_int, H5_INTEGER_KIND), error)
    call h5tinsert_f(kind, "mass", h5offsetof(c_loc(particles(1)), c_loc(particles(1)%mass)), &
         h5kind_to_type(c_double, H5_REAL_KIND), error)
    call h5tinsert_f(kind, "place", h5offsetof(c_loc(particles(1)), c_loc(particles(1)%place)), floats, error)
    call h5tcommit_f(file, "particle", kind, error)
    call show("h5tcommit_f", error)
    call h5screate_simple_f(1, dims, space, error)
    call h5dcreate_f(file, "particles", kind, space, dataset, error)
    address = c_loc(particles(1))
    call h5dwrite_f(dataset, kind, address, error)
    address = c_loc(found(1))
    call h5dread_f(dataset, kind, address, error)
    do i = 1, 3
       print '(i3, f8.3, 3f8.3)', found(i)%number, found(i)%mass, found(i)%place
    end do
    call h5tcreate_f(H5T_COMPOUND_F, int(8, size_t), part, error)
    call h5tinsert_f(part, "mass", int(0, size_t), h5kind_to_type(c_double, H5_REAL_KIND), error)
    address = c_loc(masses(1))
    call h5dread_f(dataset, part, address, error)
    print '(3f8.3)', masses
    call h5tget_nmembers_f(kind, members, error)
    do i = 0, members - 1
       call h5tget_member_name_f(kind, i, member, length, error)
       print '(a, i0)', member(1:length), length
    end do
    call h5tclose_f(part, error)
    call h5tclose_f(floats, error)
    call h5tclose_f(kind, error)
    call h5sclose_f(space, error)
    call h5dclose_f(dataset, error)
  end subroutine compounds

  subroutine strings
    integer(hid_t) :: kind, space, dataset
    integer(hsize_t) :: dims(1) = (/ 3 /)
    integer(size_t) :: lengths(3) = (/ 3, 6, 1 /), back(3)
    integer(hsize_t) :: both(2) = (/ 10, 3 /)
    character(len=10) :: texts(3) = (/ "one       ", "second    ", "3         " /), found(3)
    integer :: i
    call h5screate_simple_f(1, dims, space, error)
    call h5tcopy_f(H5T_STRING, kind, error)
    call h5tset_strpad_f(kind, H5T_STR_NULLPAD_F, error)
    call h5dcreate_f(file, "strings", kind, space, dataset, error)
    call h5dwrite_vl_f(dataset, kind, texts, both, lengths, error, space)
    call show("h5dwrite_vl_f", error)
    call h5dread_vl_f(dataset, kind, found, both, back, error, space)
    do i = 1, 3
       print '(a, i0)', found(i)(1:back(i)), back(i)
    end do
    call h5dclose_f(dataset, error)
    call h5tclose_f(kind, error)
    call h5sclose_f(space, error)
  end subroutine strings

  subroutine links
    integer :: kind, count, number
    logical :: exists
    character(len=40) :: member
    call h5lcreate_soft_f("/group/matrix", file, "soft", error)
    call h5lcreate_external_f("other.h5", "/there", file, "external", error)
    call h5lexists_f(file, "soft", exists, error)
    print '(a, l2)', "soft", exists
    call h5lexists_f(file, "none", exists, error)
    print '(a, l2)', "none", exists
    call h5gn_members_f(file, "/", count, error)
    call show("members", count)
    do number = 1, count - 3
       call h5gget_obj_info_idx_f(file, "/", number, member, kind, error)
       print '(a, 2(1x, i0))', trim(member), kind, error
    end do
    call h5lmove_f(file, "soft", file, "group/moved", error)
    call h5ldelete_f(file, "external", error)
    call h5gn_members_f(file, "/", count, error)
    call show("members", count)
  end subroutine links

  subroutine again
    integer(hid_t) :: dataset, space, kind
    integer(hsize_t) :: dims(2), most(2)
    integer :: rank, class
    integer(size_t) :: bytes
    call h5fopen_f(name, H5F_ACC_RDONLY_F, file, error)
    call show("open", error)
    call h5dopen_f(file, "/group/moved", dataset, error)
    call h5dget_space_f(dataset, space, error)
    call h5sget_simple_extent_ndims_f(space, rank, error)
    call h5sget_simple_extent_dims_f(space, dims, most, error)
    print '(a, 4(1x, i0))', "dims", dims, most
    call h5dget_type_f(dataset, kind, error)
    call h5tget_class_f(kind, class, error)
    call h5tget_size_f(kind, bytes, error)
    print '(a, l2, 1x, i0)', "integer", class == H5T_INTEGER_F, bytes
    call h5tclose_f(kind, error)
    call h5sclose_f(space, error)
    call h5dclose_f(dataset, error)
    call h5fclose_f(file, error)
  end subroutine again

  subroutine failures
    integer(hid_t) :: id
    call h5fopen_f("there is none.h5", H5F_ACC_RDONLY_F, id, error)
    call show("open none", error)
    call h5fopen_f(name, H5F_ACC_RDONLY_F, file, error)
    call h5dopen_f(file, "none", id, error)
    call show("dataset none", error)
    call h5gcreate_f(file, "new", id, error)
    call show("create in read-only", error)
    call h5dclose_f(int(12345, hid_t), error)
    call show("close of a number", error)
    call h5fclose_f(file, error)
  end subroutine failures
end program main
