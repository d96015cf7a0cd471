"""What people's answers are: the data that everything else takes."""
