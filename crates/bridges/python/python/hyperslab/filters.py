"""Filters by name and number."""

from ._creation import FilterRefBase, Gzip, guess_chunk

decode = encode = ("gzip", "shuffle", "fletcher32", "lzf", "scaleoffset", "szip")

__all__ = ["FilterRefBase", "Gzip", "decode", "encode", "guess_chunk"]
