"""What the output owes to a head."""
