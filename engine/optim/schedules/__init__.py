"""Learning-rate schedules as data: pure functions of the count of epochs (or steps) and the starting rate."""

from engine.optim.schedules.plateau import Plateau
from engine.optim.schedules.schedule import SCHEDULES, Schedule, make_schedule, read_schedule, schedule_catalogue

__all__ = ["SCHEDULES", "Plateau", "Schedule", "make_schedule", "read_schedule", "schedule_catalogue"]
