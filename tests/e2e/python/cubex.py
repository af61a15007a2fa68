"""A profile of Cube's as JSON: by metric and region, a value of each location.

Usage: cubex.py PROFILE.cubex

A profile is a tar archive: `anchor.xml` defines metrics, regions, call paths and locations; of each
metric `ID.index` has the call paths with values, by their place in the tree (parents before their
children), and `ID.data` a row of values for each of them. Given are the sums over all call paths that
end in a region, of metrics that count what is a call path's own.
"""

import json
import struct
import sys
import tarfile
import xml.etree.ElementTree as ElementTree
import zlib

TYPES = {"FLOAT": "d", "DOUBLE": "d", "INTEGER": "q", "INT64": "q", "UINT64": "Q"}


def numbers(index):
    """The places of call paths in the tree that an index names."""
    head = len(b"CUBEX.INDEX") + 4 + 2 + 1
    assert index.startswith(b"CUBEX.INDEX\x01\0\0\0"), index[:head]
    (count,) = struct.unpack_from("<I", index, head)
    return struct.unpack_from(f"<{count}I", index, head + 4)


def bytes_of(data):
    """The values of a data file."""
    if data.startswith(b"CUBEX.DATA"):
        return data[len(b"CUBEX.DATA") :]
    head = b"ZCUBEX.DATA"
    assert data.startswith(head), data[:16]
    (parts,) = struct.unpack_from("<Q", data, len(head))
    rest, values = data[len(head) + 8 + parts * 24 :], b""
    while rest:
        stream = zlib.decompressobj()
        values += stream.decompress(rest)
        rest = stream.unused_data
    return values


def main(path):
    with tarfile.open(path) as archive:
        members = {member.name: member for member in archive.getmembers()}

        def read(name):
            return archive.extractfile(members[name]).read()

        anchor = ElementTree.fromstring(read("anchor.xml"))
        regions = {of.get("id"): of.findtext("name") for of in anchor.iter("region")}
        # In the order of the document: parents before their children.
        paths = [regions[of.get("calleeId")] for of in anchor.iter("cnode")]
        told = {}
        for metric in anchor.iter("metric"):
            name, index = metric.findtext("uniq_name"), f"{metric.get('id')}.index"
            if metric.get("type") != "EXCLUSIVE" or index not in members:
                continue
            kind = TYPES.get(metric.findtext("dtype"))
            if kind is None:
                continue
            rows = numbers(read(index))
            data = bytes_of(read(f"{metric.get('id')}.data"))
            values = [value for (value,) in struct.iter_unpack("<" + kind, data)]
            locations = len(values) // max(len(rows), 1)
            of_metric = told.setdefault(name, {})
            for nth, at in enumerate(rows):
                row = values[nth * locations : (nth + 1) * locations]
                before = of_metric.get(paths[at], [0] * locations)
                of_metric[paths[at]] = [a + b for a, b in zip(before, row)]
        json.dump(told, sys.stdout)


main(sys.argv[1])
