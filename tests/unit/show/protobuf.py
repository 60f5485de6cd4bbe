# SPDX-License-Identifier: Apache-2.0
"""Reads messages of Protobuf without their descriptions, for the tests of what is written in them."""


def fields(data):
    """A protobuf message as a list of (field number, int or bytes)."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                assert value < 1 << 64
                return value

    found = []
    while at < len(data):
        tag = varint()
        if tag & 7 == 0:
            found.append((tag >> 3, varint()))
        elif tag & 7 == 1:
            assert at + 8 <= len(data)
            found.append((tag >> 3, int.from_bytes(data[at:at + 8], "little")))
            at += 8
        else:
            assert tag & 7 == 2, tag
            size = varint()
            assert at + size <= len(data)
            found.append((tag >> 3, data[at:at + size]))
            at += size
    return found


def one(message, number, default=None):
    values = [value for field, value in fields(message) if field == number]
    assert len(values) <= 1
    return values[0] if values else default
