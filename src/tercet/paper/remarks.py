"""What we saw of the claims in the full run: words beside the verdicts, written after it."""

__all__ = ["REMARKS"]

REMARKS = {
    "N4": "t-STE's likelihood grows with the size of the map without end, so its Bayesian chain "
    "starts at the shape of the maximum in the size that suits the prior. Started where the search "
    "ended (sizes from 1e3 to 1e54), 500 draws show little but the way back: an average "
    "uncertainty of .48 without any noise.",
    "T2": "The Bayesian uncertainty is .02 there, the bootstrap's .056. That .05 counts as close "
    "to 0 is our bound; at 10 % of all triplets, 1.5 times as many, the bootstrap has .035.",
    "P1": "Errors are ranked within each training size. A first rule pooled them, and fell with "
    "the threshold by what was left in the pool; it was changed before the full run.",
    "P3": "Bayesian STE abstains far less at every number of triplets. How much of the first "
    "abstention is left is nearly the same, so that it falls faster stays open. With 0.5 % of the "
    "triplets its error is the larger one wherever people would abstain (t = .65: .13 against .06; "
    "t = .8: .10 against .01), and the smaller one where hardly anybody does (t = .5: .17 against "
    ".26). The first rule for this pooled all thresholds; five trial repeats, in which that rule "
    "fails (-.02 to -.11), had been seen when it was changed to a mean over thresholds.",
    "D2": "By a hair: .0515 in three dimensions, .0516 in two. In two of the five repeats two "
    "dimensions have the smaller uncertainty.",
    "D4": "Two and four dimensions are found in every repeat. With five, the uncertainty is "
    "smallest at four, and five is one standard deviation above it.",
    "S2": "On average over the stimuli. At the two steepest, near ½, the points of l = 2 vary more "
    "than those of l = .88: with hardly a contradiction in a tenth of the answers, their gaps are "
    "hardly bounded.",
    "A2": "The differences are small and lean towards the active strategies, but five repeats of "
    "200 points leave standard errors of .02, as large as what we would call an effect.",
    "A3": "With STE on MNIST the Bayesian strategy errs 6 % more than random choice. On Breast "
    "Cancer the clusters of active maps agree less with the classes, towards what the original "
    "features come to (ARI .43): a truer map is not a better clustered one.",
    "A4": "It errs more than random choice in all six panels.",
    "V1": "Which way most embeddings vote is wrong about as often as π is. As a probability the "
    "vote is the better one up to σ = 1, and with every number of triplets: dividing by the sum of "
    "two standard deviations makes the paper's π of the bootstrap too cautious. At σ = 1.5 and "
    "more π is better, and so it is for the 500 Bayesian draws, which are too few and too sure.",
    "G1": "In the paper's 500 draws the chain has hardly left the maximum of the likelihood (as "
    "few as one effective draw), and its error is only .03 above that of the prior over "
    "embeddings. 9 800 draws later it is .13 above, and one triangle in four is broken.",
}
