"""Predicts how many requests a cache saves and how much freshness that costs, without running anything."""

from stevec_predict.cell import CellPrediction, Draws, Expected, draws_of_cell, predict_cell
from stevec_predict.model import Prediction, Scenario, ScenarioError, predict

__all__ = [
    "CellPrediction",
    "Draws",
    "Expected",
    "Prediction",
    "Scenario",
    "ScenarioError",
    "draws_of_cell",
    "predict",
    "predict_cell",
]
