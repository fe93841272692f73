"""Files that a command writes."""

import errno
import os
import stat
import subprocess
import threading
from pathlib import Path

import pytest
from command import run_process

from calibrant import report
from calibrant.checks import files
from calibrant.checks.files import as_path, check_writable, whole_file
from calibrant.loading.plain_files import one_sentence
from calibrant.recalibration import TemperatureMap

unix = pytest.mark.skipif(os.name == "nt", reason="Windows has other rights and devices")


def test_a_file_is_whole_or_not_there(tmp_path):
    path = tmp_path / "a.txt"

    def fail():
        with whole_file(path) as temporary:
            temporary.write_text("half")
            raise KeyError

    with pytest.raises(KeyError):
        fail()
    assert list(tmp_path.iterdir()) == []
    with whole_file(path) as temporary:
        temporary.write_text("whole")
    assert list(tmp_path.iterdir()) == [path]
    assert path.read_text() == "whole"
    assert path.stat().st_mode & 0o777 != 0o600  # the rights of other files, not of temporary ones


def test_a_report_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")
    with pytest.raises(ValueError, match=r"`title` must be text that UTF-8 can hold"):
        report([0.2, 0.9], [0, 1], path, title="\ud800", n_resamples=1)

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(OSError, match="No space left"):
        report([0.2, 0.9], [0, 1], path, n_resamples=1)
    assert [file.name for file in tmp_path.iterdir()] == ["r.html"]
    assert path.read_bytes() == b"old"


@unix
def test_a_device_is_not_replaced():
    written(Path("/dev/null"))
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@unix
def test_a_pipe_gets_the_whole_file_or_nothing(tmp_path):
    """What was written into a pipe cannot be read again to be compared."""
    data, pipe, saved = (tmp_path / name for name in ("in.csv", "pipe.csv", "map.json"))
    data.write_text("prob\n0.25\n0.75\n")
    TemperatureMap(("no", "yes"), 0.5).save(saved)
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE) as reader:
        assert run_process("apply", saved, data, "-o", pipe, timeout=60).returncode == 0
        found = reader.stdout.read()
    run_process("apply", saved, data, "-o", tmp_path / "out.csv")
    assert found == (tmp_path / "out.csv").read_bytes() != b""


def test_a_full_disk_is_named_by_the_file_that_is_written(tmp_path, monkeypatch):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_text", full)
    with pytest.raises(OSError, match=r"No space left on device: '.*r\.html'"):
        written(tmp_path / "r.html")
    with (
        pytest.raises(ValueError, match=r"in\.csv: there must be room; No"),
        one_sentence("in.csv"),
    ):
        full()


def written(path, text="new"):
    with whole_file(path) as temporary:
        temporary.write_text(text)


@unix
@pytest.mark.parametrize("rights", [0o600, 0o640, 0o664, 0o777])
def test_a_file_that_is_replaced_keeps_its_rights(tmp_path, rights):
    path = tmp_path / "r.html"
    path.write_text("old")
    path.chmod(rights)
    with whole_file(path) as temporary:
        assert stat.S_IMODE(temporary.stat().st_mode) == 0o600  # while it is written, the owner's
        temporary.write_text("new")
    assert stat.S_IMODE(path.stat().st_mode) == rights
    assert path.read_text() == "new"


@unix
def test_a_new_file_has_the_rights_that_the_mask_leaves(tmp_path):
    """And nobody changes the mask, which belongs to all threads, to find out what it is."""
    before = os.umask(0o027)
    try:
        written(tmp_path / "a.txt")
        assert os.umask(0o027) == 0o027
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_no_other_thread_sees_another_mask(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "umask", lambda _: pytest.fail("the mask belongs to all threads"))
    threads = [threading.Thread(target=written, args=(tmp_path / f"{k}.txt",)) for k in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(list(tmp_path.iterdir())) == 8


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root may chown")
def test_a_file_that_is_replaced_keeps_its_owner(tmp_path):
    path = tmp_path / "r.html"
    path.write_text("old")
    os.chown(path, 1234, 2345)
    written(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 2345)


@unix
def test_what_may_not_be_given_away_is_written_all_the_same(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def refuse(*_):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "chown", refuse)
    written(path)
    assert path.read_text() == "new"


def test_links_stay_and_lead_to_the_new_file(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "r.html").write_text("old")
    (tmp_path / "here.html").symlink_to("real/r.html")
    (tmp_path / "again.html").symlink_to("here.html")
    written(tmp_path / "again.html")
    assert (tmp_path / "again.html").is_symlink()
    assert (tmp_path / "here.html").is_symlink()
    assert (tmp_path / "real" / "r.html").read_text() == "new"
    assert len(list((tmp_path / "real").iterdir())) == 1
    (tmp_path / "to nothing").symlink_to("real/later.html")
    written(tmp_path / "to nothing")
    assert (tmp_path / "real" / "later.html").read_text() == "new"


@unix
def test_a_loop_of_links_is_a_sentence(tmp_path):
    (tmp_path / "a.csv").symlink_to("b.csv")
    (tmp_path / "b.csv").symlink_to("a.csv")
    with pytest.raises(ValueError, match=r"a\.csv: cannot be written: Too many levels"):
        written(tmp_path / "a.csv")
    with pytest.raises(FileNotFoundError, match=r"cannot be one \(Too many levels"):
        as_path(tmp_path / "a.csv")


def test_a_name_with_a_zero_byte_is_a_sentence(tmp_path):
    with pytest.raises(ValueError, match=r"cannot be written: .*embedded null"):
        check_writable(tmp_path / "a\0b")
    with pytest.raises(FileNotFoundError, match=r"cannot be one \(.*embedded null"):
        as_path(f"{tmp_path}/a\0b")


@unix
def test_contents_are_on_the_disk_before_the_name_changes(tmp_path, monkeypatch):
    """First the file, then its name, then the folder that has the name."""
    happened = []
    sync, replace = os.fsync, Path.replace

    def fsync(descriptor):
        is_folder = stat.S_ISDIR(os.fstat(descriptor).st_mode)
        happened.append("folder" if is_folder else "file")
        sync(descriptor)

    def rename(*names):
        happened.append("name")
        return replace(*names)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    written(tmp_path / "a.txt")
    assert happened == ["file", "name", "folder"]


def test_a_disk_that_fails_leaves_the_old_file_and_names_it(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")

    def fail(*_, **__):
        raise OSError(errno.EIO, "Input/output error", next(iter(files._unfinished)))

    for name in ("fsync", "chmod"):
        with monkeypatch.context() as patched:
            patched.setattr(os, name, fail)
            with pytest.raises(OSError, match="Input/output error") as caught:
                written(path)
        assert caught.value.filename == str(path)
        assert [file.name for file in tmp_path.iterdir()] == ["r.html"]
        assert path.read_text() == "old"


def test_a_file_that_may_only_be_read_is_not_replaced(tmp_path, monkeypatch):
    path = tmp_path / "r.html"
    path.write_text("old")
    monkeypatch.setattr(os, "access", lambda where, _: where != path)
    with pytest.raises(ValueError, match=r"must not be replaced; it is there, and may only be"):
        check_writable(path)


def test_nothing_of_it_is_known_to_unix_alone(tmp_path, monkeypatch):
    for name in ("chown", "listxattr"):
        monkeypatch.delattr(os, name, raising=False)
    (tmp_path / "a.txt").write_text("old")
    written(tmp_path / "a.txt")
    assert (tmp_path / "a.txt").read_text() == "new"


def test_what_a_second_signal_leaves_is_removed_at_the_end(tmp_path, monkeypatch):
    """The first signal ends the work; the second comes while the file is being removed."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "unlink", interrupted)
        with pytest.raises(KeyboardInterrupt):
            written(tmp_path / "a.txt")
    files.remove_unfinished()
    assert [file.name for file in tmp_path.iterdir()] == ["a.txt"]
