//! What errors do not tell clients: where on the server their containers are.

use std::path::Path;

use model::Error;

/// Paths of the server, as they may stand in a message.
#[derive(Debug, Default)]
pub struct HiddenPaths {
    /// The longest first: one may be the start of another.
    paths: Vec<String>,
}

impl HiddenPaths {
    /// Returns the root as it was configured, and without links.
    pub fn new(root: Option<&Path>, real: Option<&Path>) -> Self {
        let absolute = root.and_then(|root| std::path::absolute(root).ok());
        let shown = [absolute.as_deref(), real].into_iter().flatten();
        let mut paths: Vec<String> = shown.map(|path| path.to_string_lossy().into_owned()).collect();
        paths.retain(|path| path.len() > 1);
        paths.sort_by_key(|path| std::cmp::Reverse(path.len()));
        paths.dedup();
        HiddenPaths { paths }
    }

    /// Returns the text with paths from the root instead of absolute ones.
    fn text(&self, text: &str) -> String {
        let within = |text: String, path: &String| text.replace(&format!("{path}/"), "").replace(path, ".");
        self.paths.iter().fold(text.to_owned(), within)
    }

    /// Returns the error without the server's paths, in all of its causes.
    pub fn hide(&self, error: Error) -> Error {
        let (mut links, mut next) = (Vec::new(), Some(&error));
        while let Some(error) = next {
            links.push(self.link(error));
            next = error.cause();
        }
        links.into_iter().rev().reduce(|cause, error| error.because(cause)).unwrap_or(error)
    }

    fn link(&self, error: &Error) -> Error {
        let mut link = Error::new(error.kind(), self.text(error.operation()));
        if let Some(address) = error.address() {
            link = link.at(address);
        }
        error.facts().fold(link, |link, (key, value)| link.with_fact(key.to_owned(), self.text(value)))
    }
}

#[cfg(test)]
mod tests {
    use model::Kind;

    use super::*;

    #[test]
    fn paths_in_errors_begin_at_the_root() {
        let hidden = HiddenPaths::new(Some(Path::new("/srv/link")), Some(Path::new("/srv/real")));
        let cause = Error::new(Kind::Io, "open /srv/real").with("path", "/srv/real/runs/a.h5");
        let error = hidden.hide(cause.during("open /srv/link/runs/a.h5: failed"));
        let text = error.to_string();
        assert!(
            !text.contains("/srv") && text.contains("open runs/a.h5") && text.contains("open ."),
            "{text}"
        );
    }
}
