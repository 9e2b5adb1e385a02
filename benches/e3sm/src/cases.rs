//! The F, G and I cases of E3SM-IO: variables with their types, dimensions, attributes and records.
//!
//! Counts, types and dimensions are those of the history files that E3SM-IO lists: F `h0` with 414 variables, G with
//! 52, I `h0` with 560. Variables of F and I beyond those that are named here are numbered.

use crate::map::Decomposition;

/// The type of a variable, as netCDF names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Float,
    Double,
    Int,
    Char,
}

impl Kind {
    pub fn letter(self) -> char {
        match self {
            Kind::Float => 'f',
            Kind::Double => 'd',
            Kind::Int => 'i',
            Kind::Char => 'c',
        }
    }

    pub fn of(letter: &str) -> Option<Kind> {
        [Kind::Float, Kind::Double, Kind::Int, Kind::Char]
            .into_iter()
            .find(|kind| letter.starts_with(kind.letter()))
    }

    pub fn bytes(self) -> u64 {
        match self {
            Kind::Double => 8,
            Kind::Float | Kind::Int => 4,
            Kind::Char => 1,
        }
    }
}

/// One variable.
#[derive(Debug, Clone)]
pub struct Variable {
    pub name: String,
    pub kind: Kind,
    /// The first dimension is `time`, without a bound.
    pub is_record: bool,
    /// The dimensions but `time`.
    pub dims: Vec<u64>,
    /// The map that divides it among processes; without one, the first process writes it.
    pub map: Option<usize>,
    pub units: &'static str,
    /// It has a fill value and `missing_value`.
    pub has_fill: bool,
}

/// A case: its maps, its variables, and how many records a run writes.
pub struct Case {
    pub name: &'static str,
    pub maps: Vec<Decomposition>,
    pub variables: Vec<Variable>,
    pub records: u64,
}

/// Adds variables to a list.
struct List<'m> {
    maps: &'m [Decomposition],
    variables: Vec<Variable>,
}

impl List<'_> {
    fn add(&mut self, names: &str, kind: Kind, is_record: bool, dims: &[u64], map: Option<usize>) {
        for name in names.split_whitespace() {
            let dims = map.map_or(dims, |map| &self.maps[map].dims).to_vec();
            let has_fill = kind == Kind::Float && is_record;
            self.variables.push(Variable {
                name: name.into(),
                kind,
                is_record,
                dims,
                map,
                units: "m s-1",
                has_fill,
            });
        }
    }

    fn add_numbered(&mut self, count: usize, prefix: &str, kind: Kind, is_record: bool, map: usize) {
        let names: Vec<String> = (0..count).map(|n| format!("{prefix}_{n:03}")).collect();
        self.add(&names.join(" "), kind, is_record, &[], Some(map));
    }
}

/// The atmosphere: 414 variables, 387 of them divided.
fn f(maps: &[Decomposition]) -> Vec<Variable> {
    let mut list = List { maps, variables: Vec::new() };
    list.add("lat lon", Kind::Double, false, &[], Some(1));
    list.add("area", Kind::Double, false, &[], Some(0));
    list.add("lev hyam hybm", Kind::Double, false, &[72], None);
    list.add("P0", Kind::Double, false, &[], None);
    list.add("ilev hyai hybi", Kind::Double, false, &[73], None);
    list.add("time co2vmr ch4vmr n2ovmr f11vmr f12vmr sol_tsi", Kind::Double, true, &[], None);
    list.add("date datesec ndcur nscur nsteph", Kind::Int, true, &[], None);
    list.add("time_bnds", Kind::Double, true, &[2], None);
    list.add("date_written time_written", Kind::Char, true, &[8], None);
    list.add("ndbase nsbase nbdate nbsec mdt", Kind::Int, false, &[], None);
    list.add_numbered(321, "SURFACE", Kind::Float, true, 1);
    list.add_numbered(63, "COLUMN", Kind::Float, true, 2);
    list.variables
}

/// The ocean: 52 variables, 41 of them divided.
fn g(maps: &[Decomposition]) -> Vec<Variable> {
    let mut list = List { maps, variables: Vec::new() };
    let surface = "salinitySurfaceRestoringTendency tendSSH ssh columnIntegratedSpeed";
    list.add(surface, Kind::Double, true, &[], Some(0));
    list.add("bottomDepth", Kind::Double, false, &[], Some(0));
    list.add("maxLevelCell", Kind::Int, false, &[], Some(0));
    list.add("maxLevelEdgeTop maxLevelEdgeBot", Kind::Int, false, &[], Some(1));
    let cells = "layerThickness kineticEnergyCell relativeVorticityCell divergence BruntVaisalaFreqTop velocityZonal \
        velocityMeridional displacedDensity potentialDensity pressure zMid temperatureHorizontalAdvectionTendency \
        salinityHorizontalAdvectionTendency temperatureVerticalAdvectionTendency salinityVerticalAdvectionTendency \
        temperatureVertMixTendency salinityVertMixTendency temperatureSurfaceFluxTendency salinitySurfaceFluxTendency \
        temperatureShortWaveTendency temperatureNonLocalTendency salinityNonLocalTendency temperature salinity";
    list.add(cells, Kind::Double, true, &[], Some(2));
    list.add("cellMask", Kind::Int, false, &[], Some(2));
    list.add("normalVelocity", Kind::Double, true, &[], Some(3));
    list.add("edgeMask", Kind::Int, false, &[], Some(3));
    list.add("relativeVorticity", Kind::Double, true, &[], Some(4));
    list.add("vertexMask", Kind::Int, false, &[], Some(4));
    let tops = "vertTransportVelocityTop vertGMBolusVelocityTop vertAleTransportTop vertVelocityTop";
    list.add(tops, Kind::Double, true, &[], Some(5));
    let levels = "refZMid refLayerThickness vertCoordMovementWeights refBottomDepth";
    list.add(levels, Kind::Double, false, &[100], None);
    list.add("xtime", Kind::Char, true, &[64], None);
    let global =
        "areaCellGlobal areaEdgeGlobal areaTriangleGlobal volumeCellGlobal volumeEdgeGlobal CFLNumberGlobal";
    list.add(global, Kind::Double, true, &[], None);
    list.variables
}

/// The land: 560 variables, 546 of them divided.
fn i(maps: &[Decomposition]) -> Vec<Variable> {
    let mut list = List { maps, variables: Vec::new() };
    list.add("levgrnd levdcmp", Kind::Float, false, &[15], None);
    list.add("levlak", Kind::Float, false, &[10], None);
    list.add("lon", Kind::Float, false, &[144], None);
    list.add("lat", Kind::Float, false, &[96], None);
    list.add("time", Kind::Float, true, &[], None);
    list.add("mcdate mcsec mdcur mscur nstep", Kind::Int, true, &[], None);
    list.add("time_bounds", Kind::Double, true, &[2], None);
    list.add("date_written time_written", Kind::Char, true, &[16], None);
    list.add("area topo landfrac", Kind::Float, false, &[], Some(0));
    list.add("landmask pftmask", Kind::Int, false, &[], Some(0));
    list.add("ZSOI DZSOI WATSAT SUCSAT BSW HKSAT", Kind::Float, false, &[], Some(1));
    list.add("ZLAKE DZLAKE", Kind::Float, false, &[], Some(2));
    list.add_numbered(460, "LAND", Kind::Float, true, 0);
    list.add_numbered(69, "SOIL", Kind::Float, true, 1);
    list.add_numbered(2, "LAKE", Kind::Float, true, 2);
    list.add_numbered(1, "LANDUNIT", Kind::Float, true, 3);
    list.add_numbered(1, "PFT", Kind::Float, true, 4);
    list.variables
}

/// Returns a case with the maps of a file, or with made ones.
pub fn of(name: &'static str, maps: Vec<Decomposition>) -> Case {
    // G has 20 records, so that all have some tens of megabytes.
    let (variables, records) = match name {
        "f" => (f(&maps), 1),
        "g" => (g(&maps), 20),
        _ => (i(&maps), 1),
    };
    Case { name, maps, variables, records }
}
