"""The followed archive: chosen people, their events, the forecasts and their scores."""
