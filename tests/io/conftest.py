import json

import pytest


@pytest.fixture
def save(tmp_path):
    """Write bytes, text, or anything else as JSON to a file, and return its path."""

    def write(content, name="answers.csv"):
        path = tmp_path / name
        if not isinstance(content, bytes | str):
            content = json.dumps(content)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
