"""Learning-rate schedules as data: pure functions of the count of epochs (or steps) and the starting rate."""
