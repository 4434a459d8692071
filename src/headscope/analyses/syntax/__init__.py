"""Dependency relations."""
