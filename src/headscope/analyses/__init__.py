"""What can be asked about heads, a room for each analysis."""
