//! The help text.

pub(crate) const USAGE: &str = "\
usage: hyperslab dump [OPTIONS] FILE...

What h5dump prints, from any container. Options and files are those of h5dump.

What is printed:
  -n, --contents[=1]        names of all objects (1: and attributes)
  -B, --superblock          the file's own properties
  -H, --header              declarations without data
  -A, --onlyattr[=0]        declarations and attributes (0: no attributes)
  -p, --properties          layout, filters and fill value of datasets
  -a, --attribute=P         one attribute; write \\/ for a slash in its name
  -d, --dataset=P           one dataset; P may end in [START;STRIDE;COUNT;BLOCK]
  -g, --group=P             one group and what is in it
  -l, --soft-link=P         one link
  -t, --datatype=P          one committed datatype
  -N, --any_path=P          whatever has this path
  -R, --region              data that region references point to
  -s, -S, -c, -k LIST       start, stride, count and block of a part of the dataset before

How it is printed:
  -e, --escape              escape unprintable characters
  -i, --object-ids          numbers of objects
  -m, --format=F            C format of floating-point numbers
  -M, --packedbits=L        bits of integers: offset,length,...
  -q, --sort_by=Q           name or creation_order
  -r, --string              one-byte integers as text
  -w, --width=N             columns of output (0: no limit)
  -y, --noindex             no indices before data
  -z, --sort_order=Z        ascending or descending
      --no-compact-subset   allow [ in names of datasets

Where it goes:
  -o, --output[=F]          data into a file
  -O, --ddl[=F]             declarations into a file
  -b, --binary[=B]          data in binary: NATIVE, FILE, LE or BE

Other forms:
  -x, --xml                 XML with a schema
  -u, --use-dtd             XML with a DTD
  -D, --xml-dtd=U           the DTD or schema at U
  -X, --xml-ns=S            prefix of XML names (\":\": none)
      --json                JSON that the location json:FILE opens; whole objects only

  -f, --filedriver=D        how files are stored: sec2, family, split, multi, ...
      --enable-error-stack  accepted for scripts
  -V, --version             version
";
