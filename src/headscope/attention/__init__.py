"""What attention does: records, the two ways in, one input, edits, the check, statistics of rows. Needs torch."""
