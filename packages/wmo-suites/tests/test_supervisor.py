"""The pure parts of the program inside."""

from hypothesis import given
from hypothesis import strategies as st
from wmo_suites.supervisor import Kept, process_ids, strangers


def kept(chunks: list[bytes], cap: int) -> dict[str, object]:
    stream = Kept(cap)
    for chunk in chunks:
        stream.add(chunk)
    return stream.reply()


def test_a_stream_below_the_cap_is_whole() -> None:
    assert kept([b"ab", b"c\xc3", b"\xa9"], 10) == {"output": "abc\u00e9", "dropped": 0}


def test_a_stream_above_the_cap_has_a_marker_in_the_middle() -> None:
    assert kept([b"0123456789"], 4) == {"output": "01\n[... 6 bytes left out ...]\n89", "dropped": 6}


@given(st.lists(st.binary(max_size=40), max_size=12), st.integers(1, 60))
def test_how_a_stream_is_cut_into_chunks_does_not_matter(chunks: list[bytes], cap: int) -> None:
    assert kept(chunks, cap) == kept([b"".join(chunks)], cap)


@given(st.lists(st.integers(97, 122), max_size=200).map(bytes), st.integers(2, 60))
def test_head_and_tail_are_those_of_the_stream(data: bytes, cap: int) -> None:
    reply = kept([data], cap)
    half = cap // 2
    output, dropped = str(reply["output"]), reply["dropped"]
    assert dropped == max(len(data) - 2 * half, 0)
    assert output.startswith(data[:half].decode())
    assert output.endswith(data[-half:].decode())


def test_a_process_without_children_has_no_strangers() -> None:
    others = set(process_ids())  # helpers of other tests
    assert strangers(others) == set()
