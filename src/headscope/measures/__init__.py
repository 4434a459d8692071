"""What is measured of every head. Needs no torch."""
