"""A search whose disk fills up, is read-only, is interrupted or goes away: an OSError that says where, nothing lost."""

import errno
import os
import shutil
import signal
from collections import Counter

import pytest
from small_disk import PAGE, on_small_disk
from wmo_kit.io_errors import describe
from wmo_population import optimize
from wmo_population.view import best_of, view_run


def search(run_dir, player):
    return optimize(player.seed, player, player, 4, run_dir=run_dir)


def when_asked(player, wanted, act):
    """Have `act()` done before the player first answers the call `wanted`: "score candidate-0001", "propose 2"."""
    note = player._note

    def noted(call):
        if call == wanted and call not in player.calls:
            act()
        note(call)

    player._note = noted
    return player


def test_a_disk_that_fills_anywhere_loses_nothing(tmp_path, replay, complete, run_files):
    """The disk has so many pages left, from none to enough, whenever something was paid for and is to be kept."""
    wanted, named = run_files(complete), Counter()

    def sweep(disk):
        for asked in ("score candidate-0000", "propose 1", "score candidate-0001", "propose 2", "score candidate-0004"):
            for pages in range(20):
                run_dir, player = disk.place / "run", replay()
                try:
                    search(run_dir, when_asked(player, asked, lambda: disk.leave(pages * PAGE)))  # noqa: B023
                except OSError as error:
                    assert error.errno == errno.ENOSPC
                    named[os.path.relpath(error.filename, run_dir)] += 1
                disk.clear()
                assert search(run_dir, player).completed
                moment = f"{pages} pages left at '{asked}'"
                assert run_files(run_dir) == wanted, moment
                twice = {call for call, times in Counter(player.calls).items() if times > 1}
                assert len(twice) <= 1, f"{moment}: {twice}"
                shutil.rmtree(run_dir)
        files = {"state.json", "candidates/candidate-0001/pending.json", "candidates/candidate-0004/report.json",
                 "candidates/candidate-0001/source", "candidates/candidate-0002/error.json"}  # fmt: skip
        assert files <= named.keys()
        assert not [name for name in named if ".tmp" in name or ".new" in name]

    on_small_disk(tmp_path / "disk", sweep)


def test_a_full_disk_at_the_start_is_told_by_file(tmp_path, replay):
    def start(disk):
        disk.leave(0)
        with pytest.raises(OSError, match="No space left") as caught:
            search(disk.place / "run", replay())
        assert f"'{disk.place / 'run'}" in describe(caught.value)
        disk.clear()
        assert search(disk.place / "run", replay()).completed

    on_small_disk(tmp_path / "disk", start)


def test_a_disk_that_is_read_only_can_be_read_and_goes_on_later(tmp_path, replay, complete, run_files):
    def protect(disk):
        run_dir, player = disk.place / "run", replay()
        optimize(player.seed, player, player, 4, run_dir=run_dir, max_new_boundaries=3)
        disk.protect(True)
        with pytest.raises(OSError, match="Read-only") as caught:
            search(run_dir, player)
        assert f"'{run_dir}/.lock': read-only file system: make it writable" in describe(caught.value)
        assert best_of(run_dir).candidate_id == "candidate-0000"
        assert len(view_run(run_dir).outcomes) == 3
        disk.protect(False)
        assert search(run_dir, player).completed
        assert run_files(run_dir) == run_files(complete)
        assert len(player.calls) == len(set(player.calls))

    on_small_disk(tmp_path / "disk", protect)


def test_a_file_on_the_way_is_no_directory(tmp_path, replay):
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError) as caught:
        search(tmp_path / "file/run", replay())
    assert caught.value.filename == str(tmp_path / "file")


@pytest.mark.parametrize("asked", ["score candidate-0000", "propose 1", "score candidate-0001", "propose 2"])
def test_a_run_that_is_removed_meanwhile_is_not_made_again(tmp_path, replay, asked):
    run_dir = tmp_path / "run"
    player = when_asked(replay(), asked, lambda: shutil.rmtree(run_dir))
    with pytest.raises(FileNotFoundError) as caught:
        search(run_dir, player)
    assert caught.value.filename == str(run_dir)
    assert not run_dir.exists()


def test_a_rain_of_signals_changes_nothing(tmp_path, replay, complete, run_files):
    """EINTR: every system call that waits is interrupted, again and again."""
    rain = []
    before = signal.signal(signal.SIGALRM, lambda *_: rain.append(1))
    signal.setitimer(signal.ITIMER_REAL, 0.0002, 0.0002)
    try:
        assert search(tmp_path / "run", replay()).completed
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(rain) > 10
    assert run_files(tmp_path / "run") == run_files(complete)
