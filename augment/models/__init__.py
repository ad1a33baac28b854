"""Weights, the devices they run on, and masked language models."""
