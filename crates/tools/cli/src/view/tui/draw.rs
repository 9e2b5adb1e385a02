//! Drawing of the screen: the tree on the left, the selected object on the right, keys below.

use hyperslab::vol::model::text::{push_printable, to_bytes};
use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::style::{Modifier, Style};
use ratatui::text::Line;
use ratatui::widgets::{Block, List, ListState, Paragraph};

use super::state::{Row, Viewer};

const KEYS: &str = " ↑↓ move  → open  ← close  PgUp PgDn values  Tab values or plot  q end";

/// Draws everything.
pub(super) fn draw(frame: &mut Frame<'_>, viewer: &Viewer) {
    let [main, keys] = Layout::vertical([Constraint::Min(1), Constraint::Length(1)]).areas(frame.area());
    let [tree, object] =
        Layout::horizontal([Constraint::Percentage(35), Constraint::Percentage(65)]).areas(main);
    draw_tree(frame, viewer, tree);
    draw_object(frame, viewer, object);
    frame.render_widget(Paragraph::new(KEYS).style(Style::new().add_modifier(Modifier::DIM)), keys);
}

fn draw_tree(frame: &mut Frame<'_>, viewer: &Viewer, area: Rect) {
    let rows = viewer.rows.iter().map(|row| Line::raw(label(row)));
    let selected = Style::new().add_modifier(Modifier::REVERSED);
    let list = List::new(rows).highlight_style(selected).block(Block::bordered());
    let mut state = ListState::default().with_selected(Some(viewer.at));
    frame.render_stateful_widget(list, area, &mut state);
}

fn label(row: &Row) -> String {
    let mark = match (row.is_group, row.is_open) {
        (true, true) => "▾ ",
        (true, false) => "▸ ",
        (false, _) => "  ",
    };
    format!("{}{mark}{}", "  ".repeat(row.depth), printable(&row.name))
}

fn draw_object(frame: &mut Frame<'_>, viewer: &Viewer, area: Rect) {
    let about = viewer.about();
    let height = u16::try_from(about.len() + 2).unwrap_or(u16::MAX).min(area.height / 2);
    let [top, bottom] = Layout::vertical([Constraint::Length(height), Constraint::Min(1)]).areas(area);
    frame.render_widget(Paragraph::new(lines(&about)).block(Block::bordered()), top);
    let inner = Block::bordered().inner(bottom);
    let content = viewer.content(usize::from(inner.width), usize::from(inner.height));
    let block = Block::bordered().title(viewer.title());
    frame.render_widget(Paragraph::new(lines(&content)).block(block), bottom);
}

fn lines(texts: &[String]) -> Vec<Line<'static>> {
    texts.iter().map(|text| Line::raw(printable(text))).collect()
}

/// Returns text that a terminal does not act upon.
fn printable(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    push_printable(&to_bytes(text), |_| false, &mut bytes);
    String::from_utf8_lossy(&bytes).into_owned()
}
