"""The statistics by which claims are judged, and the bounds they are held against.

The bounds stand here in the code, so that they are fixed before any number is known; see
`tercet.paper.verdicts` for how a check becomes a verdict. Bounds that the paper does not give are
ours: "tends to ½" is .45 or more at the largest noise, "close to 0" is .05 or less, "level" is
within a quarter of the drop, a "visible, not overwhelming" margin is 5 % to 50 % of random's error,
"no effect" is within .02 of the classification error and .05 of the adjusted Rand index, a curve
"rises" if its rank correlation with the axis is above ½, and matrices with more than 1 % of broken
triangles are not "satisfactory".
"""
