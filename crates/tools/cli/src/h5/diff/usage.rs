//! The help text.

pub(crate) const USAGE: &str = "\
usage: hyperslab diff [OPTIONS] FILE1 FILE2 [OBJECT1 [OBJECT2]]

Compares two files, or two objects in them. Takes h5diff's options and prints what h5diff prints.
Without objects the root groups are compared, with all that is in them. A dataset's name may end in
[START;STRIDE;COUNT;BLOCK] to compare a part of it.

What is printed:
  -r, --report              the differences
  -v, --verbose[=N]         the differences, all objects, and warnings; N: more about attributes (1, 2) and
                            file names (3)
  -q, --quiet               nothing
      --json                objects that differ, as JSON for programs
  -c, --compare             objects that cannot be compared
  -n, --count=C             at most C differences of a dataset or attribute

What counts as a difference:
  -d, --delta=D             |a - b| > D
  -p, --relative=R          |(b - a) / a| > R
      --use-system-epsilon  |a - b| > the smallest step from 1 of the type
  -N, --nan                 no detection of NaN

Which objects:
      --follow-symlinks     compare what soft and external links lead to, not the links
      --no-dangling-links   with --follow-symlinks: a link that leads nowhere is an error
      --exclude-path=P      leave out the object P, and what is in it; may be repeated
      --exclude-attribute=P leave out the attributes of the object P; may be repeated
      --no-compact-subset   allow [ in names of datasets

      --enable-error-stack  say why something could not be read
      --page-buffer-size=N  accepted for scripts
  -h, --help                this text
  -V, --version             version

Exit code: 0 no differences, 1 differences, 2 an error.
";
