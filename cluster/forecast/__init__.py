"""What a run will take, said before it starts from what past runs took, and afterwards how wrong that was."""

from cluster.forecast.error import forecast_error
from cluster.forecast.estimate import Capacity, forecast
from cluster.forecast.here import Here, look
from cluster.forecast.history import History, read_history
from cluster.forecast.model import Estimate, Forecast
from cluster.forecast.stored import complete_forecast, forecast_of_summary, read_forecast, write_forecast

__all__ = [
    "Capacity",
    "Estimate",
    "Forecast",
    "Here",
    "History",
    "complete_forecast",
    "forecast",
    "forecast_error",
    "forecast_of_summary",
    "look",
    "read_forecast",
    "read_history",
    "write_forecast",
]
