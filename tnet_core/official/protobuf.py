"""Just enough of the protocol-buffer wire format to read the entries of a checkpoint index."""

from __future__ import annotations

Message = dict[int, list[int | bytes]]  # field number -> its values in order

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class MalformedError(Exception):
    """Bytes that are not what they should be; callers turn it into a sentence that names the file."""


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """The unsigned 64-bit number at a position, and the position after it."""
    value = 0
    for i, byte in enumerate(data[at : at + 10]):
        value |= (byte & 0x7F) << (7 * i)
        if byte < 0x80:
            if value >> 64:
                break
            return value, at + i + 1
    raise MalformedError("a number is cut off or too long")


def parse(data: bytes) -> Message:
    message: Message = {}
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        number, wire_type = tag >> 3, tag & 7
        value: int | bytes
        if wire_type == _VARINT:
            value, at = read_varint(data, at)
        elif wire_type == _BYTES:
            size, at = read_varint(data, at)
            value, at = _slice(data, at, size), at + size
        elif wire_type in (_FIXED32, _FIXED64):
            size = 4 if wire_type == _FIXED32 else 8
            value, at = int.from_bytes(_slice(data, at, size), "little"), at + size
        else:
            raise MalformedError("an entry has a field of unknown kind")
        message.setdefault(number, []).append(value)
    return message


def integer(message: Message, number: int) -> int:
    """A singular int64 (or fixed32) field; absent means 0."""
    value = message.get(number, [0])[-1]
    if isinstance(value, bytes):
        raise MalformedError("an entry holds text where a number belongs")
    return value - (1 << 64) if value >> 63 else value


def messages(message: Message, number: int) -> list[Message]:
    """All values of a field that holds messages."""
    found = []
    for value in message.get(number, []):
        if isinstance(value, int):
            raise MalformedError("an entry holds a number where a structure belongs")
        found.append(parse(value))
    return found


def _slice(data: bytes, at: int, size: int) -> bytes:
    if size > len(data) - at:
        raise MalformedError("an entry is cut off")
    return data[at : at + size]
