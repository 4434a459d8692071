"""Roles of heads, tested."""
