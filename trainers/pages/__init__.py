"""Trainings and their scores as one HTML page: `train report`."""
