//! The info of an object.

use std::io;

use hyperslab::vol::model::ObjectPath;
use hyperslab::vol::{ObjectInfo, OpList};
use hyperslab::{Error, ObjectKind, Result};

use super::attribute::{self, complain};
use super::escape::escape;
use super::source::ObjectAt;
use super::walk::Lister;
use super::{dataset, time, types, values};

impl Lister<'_> {
    /// Prints the line of an object, and more if the user wants it.
    pub(super) fn object(
        &mut self,
        place: &ObjectAt,
        info: &ObjectInfo,
        path: &ObjectPath,
        first: Option<&ObjectPath>,
        through_link: bool,
    ) -> io::Result<()> {
        let head = if through_link { "{".to_owned() } else { self.name(path, "") };
        write!(self.out, "{head}{}", kind_word(info.kind))?;
        match first {
            Some(first) => {
                write!(self.out, ", same as {}", escape(&self.text(first), true))?;
                if !through_link {
                    writeln!(self.out)?;
                }
            }
            None => self.opened(place, info, through_link)?,
        }
        if through_link {
            writeln!(self.out, "}}")?;
        }
        Ok(())
    }

    fn opened(&mut self, place: &ObjectAt, info: &ObjectInfo, through_link: bool) -> io::Result<()> {
        match info.kind {
            ObjectKind::Dataset => return self.dataset(place, info, through_link),
            ObjectKind::Datatype => match place.container().datatype_get(place.token) {
                Ok(datatype) => {
                    self.common(place, info, through_link)?;
                    if self.options.verbose {
                        let (datatype, at) = (types::in_memory(&datatype), place.token.to_u64());
                        let line = dataset::type_line(place, &datatype, Some(at), self.options.simple);
                        self.out.write_all(line.as_bytes())?;
                    }
                }
                Err(error) => self.unreadable(&error)?,
            },
            ObjectKind::Group => self.common(place, info, through_link)?,
            ObjectKind::Map => self.map(place, info, through_link)?,
        }
        Ok(())
    }

    /// A map tells how many pairs it has, and of what types.
    fn map(&mut self, place: &ObjectAt, info: &ObjectInfo, through_link: bool) -> io::Result<()> {
        let map = match place.container().map_info(place.token) {
            Ok(map) => map,
            Err(error) => return self.unreadable(&error),
        };
        write!(self.out, " {{{}}}", map.count)?;
        self.common(place, info, through_link)?;
        if self.options.verbose {
            for (word, datatype) in [("Key", &map.key), ("Value", &map.value)] {
                let datatype = types::in_memory(datatype);
                let line = dataset::type_line(place, &datatype, None, self.options.simple);
                write!(self.out, "    {word}:{}", line.trim_start().trim_start_matches("Type:"))?;
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, error: &Error) -> io::Result<()> {
        complain(error, self.options);
        writeln!(self.out, " *ERROR*")
    }

    fn dataset(&mut self, place: &ObjectAt, info: &ObjectInfo, through_link: bool) -> io::Result<()> {
        let dataset = match place.container().dataset_info(place.token) {
            Ok(dataset) => dataset,
            Err(error) => return self.unreadable(&error),
        };
        self.out.write_all(dataset::extent(&dataset.space, self.options.verbose).as_bytes())?;
        self.common(place, info, through_link)?;
        if self.options.verbose {
            self.part(dataset::details(place, &dataset, self.options.simple))?;
            if self.options.address {
                self.part(dataset::addresses(place, &dataset).map(String::into_bytes))?;
            }
        }
        if self.options.data {
            self.out.write_all(b"    Data:\n")?;
            values::dataset(self.out, place, &dataset, self.options)?;
        }
        Ok(())
    }

    /// Lines that may not be there because the file is broken.
    fn part(&mut self, lines: Result<Vec<u8>>) -> io::Result<()> {
        match lines {
            Ok(lines) => self.out.write_all(&lines),
            Err(error) => {
                complain(&error, self.options);
                Ok(())
            }
        }
    }

    /// The info of every object.
    fn common(&mut self, place: &ObjectAt, info: &ObjectInfo, through_link: bool) -> io::Result<()> {
        if !through_link || self.options.verbose {
            writeln!(self.out)?;
        }
        if !self.options.verbose {
            return Ok(());
        }
        self.attributes(place)?;
        writeln!(self.out, "    Location:  {}:{}", place.source.number, place.token.to_u64())?;
        writeln!(self.out, "    Links:     {}", info.references)?;
        let modified = info.times.map(|t| t.modification).filter(|&t| t > 0);
        if let Some(text) = modified.and_then(|seconds| time::text(seconds, self.options.simple)) {
            writeln!(self.out, "    Modified:  {text}")?;
        }
        if let Some(comment) = info.comment.as_deref().filter(|text| !text.is_empty()) {
            writeln!(self.out, "    Comment:   \"{}\"", escape(comment, false))?;
        }
        Ok(())
    }

    fn attributes(&mut self, place: &ObjectAt) -> io::Result<()> {
        let all = OpList { count_max: u64::MAX, ..OpList::default() };
        match place.container().attribute_list(place.token, &all) {
            Ok(page) => page
                .entries
                .iter()
                .try_for_each(|entry| attribute::list(self.out, place, entry, self.options)),
            Err(error) => {
                complain(&error, self.options);
                Ok(())
            }
        }
    }
}

fn kind_word(kind: ObjectKind) -> &'static str {
    match kind {
        ObjectKind::Group => "Group",
        ObjectKind::Dataset => "Dataset",
        ObjectKind::Datatype => "Type",
        ObjectKind::Map => "Map",
    }
}
