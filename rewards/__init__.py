"""Rewards that never lie: every score carries a status, named parts and a cause."""
