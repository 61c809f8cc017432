"""Predicts how many requests a cache saves and how much freshness that costs, without running anything."""

from stevec_predict.cell import CellPrediction, Draws, Expected, draws_of_cell, predict_cell
from stevec_predict.model import predict
from stevec_predict.prediction import Prediction
from stevec_predict.scenario import Scenario, ScenarioError

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
