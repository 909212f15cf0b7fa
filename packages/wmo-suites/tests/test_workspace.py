"""Copies of a task's workspace."""

import os
import shutil
from pathlib import Path

import pytest
from wmo_kit.errors import BadDocument
from wmo_suites.task import Task, load_task
from wmo_suites.workspace import copy_workspace, remove_workspace

TASKS = Path(__file__).parent / "tasks"


@pytest.fixture
def task(tmp_path: Path) -> Task:
    return load_task(Path(shutil.copytree(TASKS / "hello", tmp_path / "hello")))


def test_a_copy_has_bytes_bits_and_links(task: Task, tmp_path: Path) -> None:
    source = task.workspace
    (source / "deep" / "empty").mkdir(parents=True)
    (source / "deep" / "data").write_bytes(b"\r\n\0\xff")
    (source / "run").write_text("#!/bin/sh\n")
    (source / "run").chmod(0o700)
    (source / "deep" / "up").symlink_to("../run")
    (source / "folder-link").symlink_to("deep")
    (source / "dangling").symlink_to("not/there")
    copy_workspace(task, tmp_path / "app")
    app = tmp_path / "app"
    assert (app / "deep" / "data").read_bytes() == b"\r\n\0\xff"
    assert (app / "deep" / "up").readlink() == Path("../run")
    assert (app / "folder-link").readlink() == Path("deep")
    assert (app / "dangling").readlink() == Path("not/there")
    assert (app / "deep" / "empty").is_dir()
    assert [oct((app / name).stat().st_mode)[-3:] for name in ("run", "README", "deep")] == ["755", "644", "755"]
    assert {os.lstat(path).st_mtime for path in [app, *app.rglob("*")]} == {946_684_800}


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside", "deep/../../x", ".."])
def test_links_out_of_the_workspace_are_refused(task: Task, tmp_path: Path, target: str) -> None:
    (task.workspace / "link").symlink_to(target)
    with pytest.raises(BadDocument, match="must stay inside"):
        copy_workspace(task, tmp_path / "app")


def test_special_files_are_refused(task: Task, tmp_path: Path) -> None:
    os.mkfifo(task.workspace / "fifo")
    with pytest.raises(BadDocument, match="neither a file"):
        copy_workspace(task, tmp_path / "app")


def test_an_existing_folder_is_not_overwritten(task: Task, tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    with pytest.raises(FileExistsError):
        copy_workspace(task, tmp_path / "app")


def test_folders_without_permissions_can_be_removed(tmp_path: Path) -> None:
    app, outside = tmp_path / "app", tmp_path / "outside"
    outside.mkdir(mode=0o500)
    (app / "locked" / "deep").mkdir(parents=True)
    (app / "out").symlink_to(outside)
    (app / "locked" / "deep").chmod(0)
    (app / "locked").chmod(0)
    remove_workspace(app)
    assert not app.exists()
    assert oct(outside.stat().st_mode)[-3:] == "500"
    remove_workspace(app)
