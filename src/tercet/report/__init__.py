"""The report: an analysis as one page that can be sent around, or as a card in a notebook."""

from tercet.report.card import card
from tercet.report.page import page
from tercet.report.write import check_target, write_report

__all__ = ["card", "check_target", "page", "write_report"]
