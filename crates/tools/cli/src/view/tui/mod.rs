//! `hyperslab view --tui`: the tree, values and a plot in the terminal, for machines without a browser.

mod draw;
mod state;

use std::io::IsTerminal;

use hyperslab::vol::FileAccess;
use hyperslab::{Error, File, Result};
use ratatui::crossterm::event::{self, Event, KeyCode, KeyEventKind, KeyModifiers};
use state::Viewer;

use crate::open::{OpenContainer, open};

/// Shows a container until the user ends it.
pub(super) fn show(location: &str) -> Result<()> {
    if !std::io::stdout().is_terminal() || !std::io::stdin().is_terminal() {
        let error = Error::unsupported("show container");
        return Err(error.with("problem", "standard input and output are not a terminal; --text needs none"));
    }
    let OpenContainer { container, location, .. } = open(location, None)?;
    let file = File::from_container(container, &location, &FileAccess::read())?;
    let mut viewer = Viewer::new(file)?;
    let failed = |error: std::io::Error| Error::io("use terminal", &error);
    let mut terminal = ratatui::try_init().map_err(failed)?;
    let shown = run(&mut terminal, &mut viewer);
    ratatui::restore();
    shown.map_err(failed)
}

fn run(terminal: &mut ratatui::DefaultTerminal, viewer: &mut Viewer) -> std::io::Result<()> {
    while !viewer.is_done {
        terminal.draw(|frame| draw::draw(frame, viewer))?;
        if let Event::Key(key) = event::read()?
            && key.kind == KeyEventKind::Press
        {
            let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
            press(viewer, key.code, is_control);
        }
    }
    Ok(())
}

/// Does what a key means.
fn press(viewer: &mut Viewer, key: KeyCode, is_control: bool) {
    match key {
        KeyCode::Char('q') | KeyCode::Esc => viewer.is_done = true,
        KeyCode::Char('c') if is_control => viewer.is_done = true,
        KeyCode::Up | KeyCode::Char('k') => viewer.move_by(-1),
        KeyCode::Down | KeyCode::Char('j') => viewer.move_by(1),
        KeyCode::PageUp => viewer.page_by(-1),
        KeyCode::PageDown => viewer.page_by(1),
        KeyCode::Home => viewer.move_by(isize::MIN),
        KeyCode::End => viewer.move_by(isize::MAX),
        KeyCode::Right | KeyCode::Enter | KeyCode::Char('l') => viewer.open(),
        KeyCode::Left | KeyCode::Char('h') => viewer.close(),
        KeyCode::Tab | KeyCode::Char('p') => viewer.turn(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    use super::*;

    fn screen(viewer: &mut Viewer) -> String {
        let mut terminal = Terminal::new(TestBackend::new(90, 24)).unwrap();
        terminal.draw(|frame| draw::draw(frame, viewer)).unwrap();
        terminal.backend().to_string()
    }

    fn viewer() -> Viewer {
        let file = File::from_image(image()).unwrap();
        Viewer::new(file).unwrap()
    }

    fn image() -> Vec<u8> {
        let folder = tempfile::TempDir::new().unwrap();
        let path = folder.path().join("a.h5");
        let file = File::create(&path).unwrap();
        let wave: Vec<f64> = (0..200).map(|n| (f64::from(n) / 10.0).sin()).collect();
        file.create_group("run").unwrap().set_attr("unit", "K".to_owned()).unwrap();
        file.new_dataset_builder().with_data(&wave).create("run/wave").unwrap();
        file.new_dataset::<i32>()
            .shape((3, 4))
            .create("grid")
            .unwrap()
            .write_raw(&(0..12).collect::<Vec<i32>>())
            .unwrap();
        let words: Vec<String> = ["one", "\x1b[31mtwo"].map(str::to_owned).to_vec();
        file.new_dataset_builder().with_data(&words).create("words").unwrap();
        file.close().unwrap();
        std::fs::read(path).unwrap()
    }

    #[test]
    fn the_tree_opens_and_closes() {
        let mut viewer = viewer();
        assert!(screen(&mut viewer).contains("run") && !screen(&mut viewer).contains("wave"));
        press(&mut viewer, KeyCode::Down, false);
        press(&mut viewer, KeyCode::Down, false);
        assert!(screen(&mut viewer).contains("unit: K"), "{}", screen(&mut viewer));
        press(&mut viewer, KeyCode::Right, false);
        assert!(screen(&mut viewer).contains("wave"));
        press(&mut viewer, KeyCode::Left, false);
        assert!(!screen(&mut viewer).contains("wave"));
    }

    #[test]
    fn a_dataset_is_values_or_a_plot() {
        let mut viewer = viewer();
        press(&mut viewer, KeyCode::Down, false);
        let values = screen(&mut viewer);
        assert!(values.contains("[3, 4]") && values.contains("11"), "{values}");
        press(&mut viewer, KeyCode::Tab, false);
        let plot = screen(&mut viewer);
        assert!(plot.contains("0 .. 11"), "{plot}");
    }

    #[test]
    fn values_are_paged_through_to_the_last_ones() {
        let mut viewer = viewer();
        for _ in 0..2 {
            press(&mut viewer, KeyCode::Down, false);
            press(&mut viewer, KeyCode::Right, false);
        }
        press(&mut viewer, KeyCode::Down, false);
        let first = screen(&mut viewer);
        assert!(first.contains("/run/wave") && first.contains("0.099"), "{first}");
        press(&mut viewer, KeyCode::PageDown, false);
        let second = screen(&mut viewer);
        assert!(!second.contains("0.099") && second.contains("values from [1"), "{second}");
        (0..100).for_each(|_| press(&mut viewer, KeyCode::PageDown, false));
        let last = screen(&mut viewer);
        assert!(last.contains("0.867") && last.contains("values from"), "{last}");
        (0..100).for_each(|_| press(&mut viewer, KeyCode::PageUp, false));
        assert_eq!(screen(&mut viewer), first);
    }

    #[test]
    fn text_of_a_file_does_not_act_upon_the_terminal() {
        let mut viewer = viewer();
        press(&mut viewer, KeyCode::End, false);
        let words = screen(&mut viewer);
        assert!(words.contains("one") && !words.contains('\x1b'), "{words}");
    }

    #[test]
    fn keys_end_it() {
        for (key, is_control) in
            [(KeyCode::Char('q'), false), (KeyCode::Esc, false), (KeyCode::Char('c'), true)]
        {
            let mut viewer = viewer();
            press(&mut viewer, key, is_control);
            assert!(viewer.is_done);
        }
    }
}
