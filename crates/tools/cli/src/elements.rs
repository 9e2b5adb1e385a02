//! Elements as short text, for lists and tables.

use hyperslab::vol::model::Heap;
use hyperslab::{Dataset, Datatype, Result, Selection};

use crate::h5::ls::types::describe;

/// Returns elements as text. Those that have no short text are their type in brackets.
///
/// # Errors
/// Returns the error of reading them.
pub(crate) fn texts(dataset: &Dataset, selection: &Selection) -> Result<Vec<String>> {
    let datatype = dataset.dtype()?;
    Ok(match &datatype {
        Datatype::Integer(t) if t.signed => numbers(&dataset.read_selection::<i64>(selection)?),
        Datatype::Integer(_) | Datatype::Bitfield(_) => numbers(&dataset.read_selection::<u64>(selection)?),
        Datatype::Enum(_) => numbers(&dataset.read_selection::<i64>(selection)?),
        Datatype::Float(t) if t.bits.size <= 4 => numbers(&dataset.read_selection::<f32>(selection)?),
        Datatype::Float(_) => numbers(&dataset.read_selection::<f64>(selection)?),
        other if other.is_string() => dataset.read_selection::<String>(selection)?,
        other => {
            let memory = other.memory_type();
            let bytes = dataset.read_bytes(selection, &memory, &mut Heap::new())?;
            let shown = format!("({})", describe(other, 0, true).lines().next().unwrap_or_default());
            vec![shown; bytes.len() / memory.size().max(1) as usize]
        }
    })
}

fn numbers<N: std::fmt::Display>(numbers: &[N]) -> Vec<String> {
    numbers.iter().map(N::to_string).collect()
}
