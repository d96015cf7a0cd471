"""What an ensemble is for (paper, section 4): a file or folder for each use."""
