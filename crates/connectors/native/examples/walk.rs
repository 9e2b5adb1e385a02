//! Reads everything in the files it is given and says what fails.
use std::collections::HashSet;
use vol::{Connector, Container, ContainerOpen, FileAccess, OpList, OpRead};

fn walk(c: &dyn Container, token: model::Token, path: &str, seen: &mut HashSet<model::Token>, errors: &mut Vec<String>) {
    if !seen.insert(token) { return; }
    let mut check = |what: &str, r: vol::Result<()>| if let Err(e) = r { errors.push(format!("{path} {what}: {e}")) };
    let info = match c.object_info(token) { Ok(i) => i, Err(e) => { check("info", Err(e)); return; } };
    match c.attribute_list(token, &OpList::default()) {
        Ok(page) => for a in page.entries {
            check(&a.name, c.attribute_read(token, &[&a.name]).map(|_| ()));
        },
        Err(e) => check("attributes", Err(e)),
    }
    match info.kind {
        model::ObjectKind::Dataset => {
            let r = c.dataset_info(token).and_then(|d| {
                c.dataset_storage(token)?;
                let n = d.space.element_count()? * u64::from(d.datatype.size());
                if n > 1 << 28 { return Err(model::Error::limit("too big")); }
                let mut buf = vec![0; n as usize];
                c.dataset_read(&mut [OpRead { dataset: token, selection: &model::Selection::All, into: &mut buf }])
            });
            check("data", r);
        }
        model::ObjectKind::Group => match c.link_list(token, &OpList { count_max: 1 << 20, ..OpList::default() }) {
            Ok(page) => for l in page.entries {
                if let model::LinkTarget::Hard(t) = l.target { walk(c, t, &format!("{path}/{}", l.name), seen, errors); }
            },
            Err(e) => check("links", Err(e)),
        },
        _ => {}
    }
}

fn main() {
    for path in std::env::args().skip(1) {
        match hyperslab_native::NativeConnector.open(&ContainerOpen { path: &path, access: &FileAccess::read() }) {
            Ok(c) => {
                let mut errors = Vec::new();
                walk(c.as_ref(), c.info().unwrap().root, "", &mut HashSet::new(), &mut errors);
                for e in errors { println!("{path}: {e}"); }
            }
            Err(e) => println!("{path}: OPEN {e}"),
        }
    }
}
