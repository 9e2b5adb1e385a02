//! Selections: a byte for the kind, then points, hyperslab or blocks in numbers of eight bytes.

use model::{Result, Selection};

use super::plain::put_count;
use super::{Reader, Wire};

const NONE: u8 = 0;
const ALL: u8 = 1;
const POINTS: u8 = 2;
const REGULAR: u8 = 3;
const BLOCKS: u8 = 4;

/// Spans that blocks in no order may become, for each number that describes them: the work grows with the bytes and
/// not faster. Our own blocks come in order and need none of it.
const SPANS_PER_NUMBER_MAX: u64 = 64;

impl Wire for Selection {
    fn put(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Selection::None => out.push(NONE),
            Selection::All => out.push(ALL),
            Selection::Points(points) => {
                out.push(POINTS);
                put_count(points.rank(), out)?;
                super::plain::put_list(points.coords(), out)?;
            }
            Selection::Regular(regular) => {
                out.push(REGULAR);
                put_count(regular.axes().len(), out)?;
                for axis in regular.axes() {
                    u64::put_all(&[axis.start(), axis.stride(), axis.count(), axis.block()], out)?;
                }
            }
            Selection::Irregular(tree) => put_blocks(self, tree.rank(), out)?,
        }
        Ok(())
    }

    fn get(from: &mut Reader<'_>) -> Result<Self> {
        match from.u8()? {
            NONE => Ok(Selection::None),
            ALL => Ok(Selection::All),
            POINTS => {
                let (rank, coords) = (u32::get(from)? as usize, Vec::get(from)?);
                Selection::points(rank, coords).map_err(|e| from.corrupt("points").because(e))
            }
            REGULAR => get_regular(from),
            BLOCKS => {
                let (rank, corners) = (u32::get(from)? as usize, Vec::<u64>::get(from)?);
                let spans_max = SPANS_PER_NUMBER_MAX * corners.len() as u64;
                let union = Selection::union_within(rank, &corners, spans_max);
                union.map_err(|e| e.during("decode message: blocks"))
            }
            tag => Err(from.unknown("Selection", tag)),
        }
    }
}

/// Rank, and one list of the first and last corners.
fn put_blocks(selection: &Selection, rank: usize, out: &mut Vec<u8>) -> Result<()> {
    out.push(BLOCKS);
    put_count(rank, out)?;
    let count_at = out.len();
    put_count(0, out)?;
    let mut count = 0;
    // Blocks of a bounded selection do not depend on the extent; only its rank is looked at.
    for (low, high) in selection.blocks(&vec![0; rank])? {
        u64::put_all(&low, out)?;
        u64::put_all(&high, out)?;
        count += 2 * rank;
    }
    let mut bytes = Vec::new();
    put_count(count, &mut bytes)?;
    out[count_at..count_at + bytes.len()].copy_from_slice(&bytes);
    Ok(())
}

fn get_regular(from: &mut Reader<'_>) -> Result<Selection> {
    let rank = from.count(32)?;
    let mut columns = [const { Vec::new() }; 4];
    for _ in 0..rank {
        for column in &mut columns {
            column.push(u64::get(from)?);
        }
    }
    let [start, stride, count, block] = &columns;
    Selection::hyperslab(start, stride, count, block).map_err(|e| from.corrupt("hyperslab").because(e))
}
