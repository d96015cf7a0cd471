"""The parts of the page, one file each, in the order of their reading."""
