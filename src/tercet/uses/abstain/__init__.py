"""Predict only where you are sure (paper, section 4.1), and promise an error rate."""

from tercet.uses.abstain.promise import Promise
from tercet.uses.abstain.risk import RiskCoverage, risk_coverage
from tercet.uses.abstain.threshold import choose_threshold, hold_out

__all__ = ["Promise", "RiskCoverage", "choose_threshold", "hold_out", "risk_coverage"]
