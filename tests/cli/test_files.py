"""Files that a command writes."""

import pytest

from calibrant.cli.files import whole_file


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
