"""Predicts what a cache is worth and what it costs in freshness, without running anything."""

from stevec_predict.cell import CellPrediction, Expected, predict_cell
from stevec_predict.model import Prediction, Scenario, ScenarioError, predict

__all__ = [
    "CellPrediction",
    "Expected",
    "Prediction",
    "Scenario",
    "ScenarioError",
    "predict",
    "predict_cell",
]
