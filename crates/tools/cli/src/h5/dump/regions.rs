//! Output of region references: the coordinates, and with `-R` the data.

use std::sync::Arc;

use hyperslab::vol::DatasetInfo;
use hyperslab::{Result, Selection, Token};

use super::Dumper;
use super::attributes::space_text;
use super::data::Run;
use super::source::{Block, read_block};
use super::streams::Stream;
use crate::h5::render::line::{BREAK, LineState};

impl Dumper<'_> {
    /// Prints the block behind `DATASET "…"`.
    pub(crate) fn region(
        &mut self,
        state: &mut LineState,
        dataset: Token,
        selection: &Selection,
        number: u64,
    ) -> Result<()> {
        // h5dump shows regions of points and of blocks only.
        if matches!(selection, Selection::All | Selection::None) {
            return Ok(());
        }
        let info = self.container().dataset_info(dataset)?;
        let dims = info.space.dims().to_vec();
        let (word, open, coordinates): (_, &[u8], _) = match selection {
            Selection::Points(points) => ("POINT", b"{", points.iter().map(point_text).collect::<Vec<_>>()),
            _ => {
                let blocks = selection.blocks(&dims)?;
                let text =
                    blocks.map(|(first, last)| format!("{}-{}", point_text(&first), point_text(&last)));
                ("BLOCK", b" {", text.collect())
            }
        };
        self.reference_piece(state, open, number)?;
        state.indent += 1;
        let list = coordinates.join(&format!(",{} ", char::from(BREAK)));
        self.region_line(state, format!("REGION_TYPE {word}  {list}").as_bytes(), number)?;
        self.region_type(state, &info, number)?;
        self.region_line(state, format!("DATASPACE  {}", space_text(&info.space)).as_bytes(), number)?;
        if self.options.regions {
            self.region_line(state, b"DATA {", number)?;
            self.region_data(state, dataset, &info, selection)?;
            self.region_line(state, b"}", number)?;
        }
        state.indent -= 1;
        self.region_line(state, b"}", number)
    }

    fn region_line(&mut self, state: &mut LineState, text: &[u8], number: u64) -> Result<()> {
        state.need_prefix = true;
        self.reference_piece(state, text, number)
    }

    fn region_type(&mut self, state: &mut LineState, info: &DatasetInfo, number: u64) -> Result<()> {
        state.need_prefix = true;
        let mut buffer = b"DATATYPE  ".to_vec();
        state.indent += 1;
        self.print_type(state, &mut buffer, &info.datatype, info.committed)?;
        state.indent -= 1;
        self.reference_piece(state, &buffer, number)
    }

    fn region_data(
        &mut self,
        state: &LineState,
        dataset: Token,
        info: &Arc<DatasetInfo>,
        selection: &Selection,
    ) -> Result<()> {
        let dims = info.space.dims();
        let memory = info.datatype.memory_type();
        let container = self.container();
        let mut state = LineState { indent: state.indent + 1, column: state.column, ..LineState::default() };
        if let Selection::Points(_) = selection {
            let block = read_block(&*container, dataset, info, selection, &memory, &self.failed)?;
            return self.region_points(&mut state, &block);
        }
        let blocks: Vec<_> = selection.blocks(dims)?.collect();
        let count = blocks.len();
        // h5dump takes the shape of the first block for all of them.
        let Some((first, last)) = blocks.first() else { return Ok(()) };
        let shape: Vec<u64> = first.iter().zip(last).map(|(a, b)| b - a + 1).collect();
        for (i, (first, _)) in blocks.iter().enumerate() {
            let part = Selection::block(first, &shape)?;
            let block = read_block(&*container, dataset, info, &part, &memory, &self.failed)?;
            state.set_extent(&shape);
            state.need_prefix = true;
            state.on_line = 0;
            self.region_run(&mut state, &block, i + 1 == count)?;
        }
        Ok(())
    }

    fn region_run(&mut self, state: &mut LineState, block: &Block, last: bool) -> Result<()> {
        let (layout, style) = (self.reference_layout(), self.style(None));
        let run = Run { stream: Stream::Data, layout: &layout, style: &style, last };
        self.print_run(state, &run, block, &mut 0)
    }

    /// Prints every point on a line of its own.
    fn region_points(&mut self, state: &mut LineState, block: &Block) -> Result<()> {
        let size = block.datatype.size().max(1) as usize;
        let count = block.bytes.len() / size;
        for (i, element) in block.bytes.chunks_exact(size).enumerate() {
            let one =
                Block { datatype: block.datatype.clone(), bytes: element.to_vec(), heap: block.heap.clone() };
            state.need_prefix = true;
            state.on_line = 0;
            self.region_run(state, &one, i + 1 == count)?;
        }
        Ok(())
    }
}

fn point_text(point: impl AsRef<[u64]>) -> String {
    let coordinates: Vec<String> = point.as_ref().iter().map(u64::to_string).collect();
    format!("({})", coordinates.join(","))
}
