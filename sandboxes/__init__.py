"""Run untrusted programs inside limits."""
