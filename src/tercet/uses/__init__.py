"""What an ensemble is for (paper, section 4): one file for each use."""
