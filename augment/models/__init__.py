"""Weights and the devices they run on."""
