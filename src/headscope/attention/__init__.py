"""What attention does: records, the two ways in, one input, edits, the check, fused statistics. Needs torch."""
