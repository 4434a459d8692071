"""How files begin: the marks of what is compressed, of codings of text, and of what is no text."""

from __future__ import annotations

from typing import Literal

Packing = Literal["gzip", "bz2", "xz", "zstd", "zip"]

HEAD = 1 << 14
"""How many bytes of a file are looked at."""

_PACKED: dict[bytes, Packing] = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bz2",
    b"\xfd7zXZ\0": "xz",
    b"]\0\0": "xz",  # the format before it
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
    b"PK\x05\x06": "zip",
}
_CODINGS = {
    b"\xff\xfe\0\0": "utf-32",
    b"\0\0\xfe\xff": "utf-32",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_OTHERS = {
    b"%PDF-": "a PDF",
    b"\x89PNG": "a picture of PNG",
    b"\xff\xd8\xff": "a picture of JPEG",
    b"GIF8": "a picture of GIF",
    b"RIFF": "a sound or a film",
    b"OggS": "a sound of Ogg",
    b"fLaC": "a sound of FLAC",
    b"ID3": "a sound of MP3",
    b"SQLite format 3\0": "a database of SQLite",
    b"\x89HDF\r\n": "a file of HDF5",
    b"CDF\x01": "a file of netCDF",
    b"CDF\x02": "a file of netCDF",
    b"\x93NUMPY": "an array of NumPy",
    b"PAR1": "a table of Parquet, which is read where its name ends in .parquet",
    b"ARROW1": "a table of Arrow, which is read where its name ends in .arrow",
    b"Obj\x01": "a table of Avro",
    b"GGUF": "a model of GGUF",
    b"\xd0\xcf\x11\xe0": "a document of Office",
    b"{\\rtf": "a document of RTF",
    b"Rar!": "an archive of RAR",
    b"\x1f\x9d": "a file of compress (.Z)",
    b"7z\xbc\xaf": "an archive of 7-Zip",
    b"\x7fELF": "a program",
    **{bytes([0x80, version]): "a pickle" for version in (2, 3, 4, 5)},
    b"version https://git-lfs.github.com/spec/": "a pointer of git-lfs in place of the file (git lfs pull)",
}
_MOST_NUL = 0.1  # of the first bytes of a text


def packing(head: bytes) -> Packing | None:
    """What a file is compressed by; None where it is not."""
    return next((kind for mark, kind in _PACKED.items() if head.startswith(mark)), None)


def coding(head: bytes) -> str | None:
    """The coding that a text's mark says; None for UTF-8."""
    return next((kind for mark, kind in _CODINGS.items() if head.startswith(mark)), None)


def table(head: bytes) -> Literal["parquet", "arrow"] | None:
    """Which kind of a file of rows begins so; None for none, and for a stream of Arrow, which has no mark."""
    return "parquet" if head.startswith(b"PAR1") else "arrow" if head.startswith(b"ARROW1") else None


def no_text(head: bytes) -> str | None:
    """What a file is that is no text, in words; None for a text."""
    description = next((kind for mark, kind in _OTHERS.items() if head.startswith(mark)), None)
    if description is None and head[257:262] == b"ustar":
        description = "an archive of tar; unpack it"
    if description is None and head[8:10] == b'{"':
        description = "a file of safetensors" if 0 in head[:8] else None
    if description is None and packing(head) is not None:
        description = "a compressed file inside of a compressed one"
    if description is None and coding(head) is None and head.count(0) > _MOST_NUL * len(head):
        share = head.count(0) / len(head)
        description = (
            f"NUL bytes ({share:.0%} of the first {len(head):,} bytes), as in UTF-16 without its mark"
        )
    return description
