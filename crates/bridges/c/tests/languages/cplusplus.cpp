// A program in C++, through Debian's libhdf5_cpp: groups, datasets, attributes, compound datatypes, hyperslabs, strings, iteration,
// exceptions. It prints what it reads back, and must print the same on libhdf5 and on this library.
#include <H5Cpp.h>
#include <cstddef>
#include <iostream>
#include <string>
#include <vector>

using namespace H5;

struct Particle {
    int number;
    double mass;
    char name[8];
};

static CompType particle_type()
{
    CompType type(sizeof(Particle));
    type.insertMember("number", HOFFSET(Particle, number), PredType::NATIVE_INT);
    type.insertMember("mass", HOFFSET(Particle, mass), PredType::NATIVE_DOUBLE);
    type.insertMember("name", HOFFSET(Particle, name), StrType(PredType::C_S1, 8));
    return type;
}

static void matrices(H5File &file)
{
    hsize_t dims[2] = {4, 6}, most[2] = {H5S_UNLIMITED, 6}, chunk[2] = {2, 3};
    int values[4][6], fill = 9;
    for (int i = 0; i < 24; i++)
        values[i / 6][i % 6] = i * i;
    Group group = file.createGroup("/group");
    DSetCreatPropList list;
    list.setChunk(2, chunk);
    list.setShuffle();
    list.setDeflate(4);
    list.setFillValue(PredType::NATIVE_INT, &fill);
    DataSet dataset = group.createDataSet("matrix", PredType::STD_I64BE, DataSpace(2, dims, most), list);
    dataset.write(values, PredType::NATIVE_INT);
    hsize_t larger[2] = {5, 6};
    dataset.extend(larger);
    float found[5][6];
    dataset.read(found, PredType::NATIVE_FLOAT);
    for (auto &row : found) {
        for (float value : row)
            std::cout << value << ' ';
        std::cout << '\n';
    }
    std::cout << "storage " << (dataset.getStorageSize() > 0) << " filters " << dataset.getCreatePlist().getNfilters() << '\n';
}

static void hyperslabs(H5File &file)
{
    DataSet dataset = file.openDataSet("/group/matrix");
    DataSpace space = dataset.getSpace();
    hsize_t start[2] = {0, 1}, stride[2] = {2, 2}, count[2] = {2, 2}, block[2] = {1, 2}, all[1] = {8};
    space.selectHyperslab(H5S_SELECT_SET, count, start, stride, block);
    std::cout << "selected " << space.getSelectNpoints() << '\n';
    DataSpace memory(1, all);
    int part[8];
    dataset.read(part, PredType::NATIVE_INT, memory, space);
    for (int &value : part) {
        std::cout << value << ' ';
        value = -value;
    }
    std::cout << '\n';
    dataset.write(part, PredType::NATIVE_INT, memory, space);
    hsize_t points[6] = {0, 1, 4, 5, 2, 2}, three[1] = {3};
    space.selectElements(H5S_SELECT_SET, 3, points);
    int found[3];
    dataset.read(found, PredType::NATIVE_INT, DataSpace(1, three), space);
    std::cout << found[0] << ' ' << found[1] << ' ' << found[2] << '\n';
}

static void compounds(H5File &file)
{
    Particle particles[3] = {{1, 0.5, "one"}, {2, 1.5, "two"}, {3, 2.5, "three"}}, found[3] = {};
    hsize_t dims[1] = {3};
    CompType type = particle_type();
    type.commit(file, "particle");
    DataSet dataset = file.createDataSet("particles", type, DataSpace(1, dims));
    dataset.write(particles, type);
    dataset.read(found, particle_type());
    for (const Particle &one : found)
        std::cout << one.number << ' ' << one.mass << ' ' << one.name << '\n';
    CompType part(sizeof(double));
    part.insertMember("mass", 0, PredType::NATIVE_DOUBLE);
    double masses[3];
    dataset.read(masses, part);
    std::cout << masses[0] << ' ' << masses[1] << ' ' << masses[2] << '\n';
    CompType stored = dataset.getCompType();
    for (int i = 0; i < stored.getNmembers(); i++)
        std::cout << stored.getMemberName(i) << ' ' << stored.getMemberOffset(i) << ' ' << stored.getMemberClass(i) << '\n';
}

static void strings(H5File &file)
{
    StrType type(PredType::C_S1, H5T_VARIABLE);
    hsize_t dims[1] = {3};
    const char *texts[3] = {"one", "a longer text", ""};
    char *found[3];
    DataSet dataset = file.createDataSet("strings", type, DataSpace(1, dims));
    dataset.write(texts, type);
    dataset.read(found, type);
    for (char *text : found)
        std::cout << '[' << text << "]\n";
    DataSet::vlenReclaim(found, type, dataset.getSpace());
    std::string one;
    Attribute attribute = dataset.createAttribute("unit", type, DataSpace());
    attribute.write(type, std::string("metre"));
    attribute.read(type, one);
    std::cout << attribute.getName() << ' ' << one << ' ' << dataset.getNumAttrs() << ' ' << dataset.attrExists("none") << '\n';
    EnumType states(PredType::NATIVE_INT);
    int on = 1, off = 0;
    states.insert("off", &off);
    states.insert("on", &on);
    Attribute state = file.openGroup("group").createAttribute("state", states, DataSpace());
    state.write(states, &on);
    std::cout << states.nameOf(&on, 10) << ' ' << states.getNmembers() << '\n';
    int numbers[2][2] = {{1, 2}, {3, 4}}, back[2][2];
    hsize_t square[2] = {2, 2};
    ArrayType array(PredType::NATIVE_INT, 2, square);
    Attribute of_array = file.createAttribute("array", array, DataSpace());
    of_array.write(array, numbers);
    of_array.read(array, back);
    std::cout << back[0][0] << back[0][1] << back[1][0] << back[1][1] << '\n';
}

static herr_t visited(hid_t, const char *name, const H5L_info_t *info, void *data)
{
    std::cout << name << ' ' << info->type << '\n';
    ++*static_cast<int *>(data);
    return 0;
}

static void attribute_visited(H5Object &object, const H5std_string name, void *)
{
    std::cout << "attribute " << name << ' ' << object.openAttribute(name).getSpace().getSimpleExtentNpoints() << '\n';
}

static void links(H5File &file)
{
    file.link(H5L_TYPE_SOFT, "/group/matrix", "soft");
    file.link(H5L_TYPE_HARD, "/group/matrix", "hard");
    file.move("hard", "group/renamed");
    int count = 0;
    H5Literate(file.getId(), H5_INDEX_NAME, H5_ITER_INC, nullptr, visited, &count);
    std::cout << count << ' ' << file.getNumObjs() << ' ' << file.getObjnameByIdx(0) << ' ' << file.nameExists("soft") << '\n';
    file.openGroup("/").iterateAttrs(attribute_visited);
    file.openDataSet("strings").iterateAttrs(attribute_visited);
    file.unlink("soft");
    std::cout << file.getNumObjs() << ' ' << file.getObjTypeByIdx(0) << ' ' << file.childObjType("strings") << '\n';
}

static void failures(H5File &file)
{
    Exception::dontPrint();
    try {
        file.openDataSet("none");
    } catch (const Exception &error) {
        std::cout << error.getFuncName() << ": " << error.getDetailMsg() << '\n';
    }
    try {
        H5File("there is none.h5", H5F_ACC_RDONLY);
    } catch (const FileIException &error) {
        std::cout << error.getFuncName() << ": " << error.getDetailMsg() << '\n';
    }
    try {
        file.createGroup("group");
    } catch (const Exception &error) {
        std::cout << error.getFuncName() << '\n';
    }
}

int main()
{
    {
        H5File file("cplusplus.h5", H5F_ACC_TRUNC);
        matrices(file);
        hyperslabs(file);
        compounds(file);
        strings(file);
        links(file);
        failures(file);
        std::cout << file.getFileName() << ' ' << file.getObjCount(H5F_OBJ_ALL) << ' ' << H5File::isHdf5("cplusplus.h5") << '\n';
    }
    H5File file("cplusplus.h5", H5F_ACC_RDONLY);
    DataSet dataset = file.openDataSet("group/renamed");
    hsize_t dims[2], most[2];
    dataset.getSpace().getSimpleExtentDims(dims, most);
    std::cout << dims[0] << ' ' << dims[1] << ' ' << (most[0] == H5S_UNLIMITED) << ' ' << dataset.getIntType().getSize() << '\n';
    return 0;
}
