"""The report: from a file of answers to one page that says what they tell, and how surely."""

from tercet.report.analyse import analyse
from tercet.report.analysis import Analysis, Settings
from tercet.report.appearance import Appearance, read_appearance
from tercet.report.as_json import as_json
from tercet.report.page import page
from tercet.report.words import in_lines, summary
from tercet.report.write import check_target, write_report

__all__ = [
    "Analysis",
    "Appearance",
    "Settings",
    "analyse",
    "as_json",
    "check_target",
    "in_lines",
    "page",
    "read_appearance",
    "summary",
    "write_report",
]
