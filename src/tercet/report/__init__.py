"""The report: an analysis as one page that can be sent around, or as a card in a notebook."""

from tercet.report.appearance import Appearance, read_appearance
from tercet.report.page import card, page
from tercet.report.write import check_target, write_report

__all__ = ["Appearance", "card", "check_target", "page", "read_appearance", "write_report"]
