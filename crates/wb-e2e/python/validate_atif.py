"""Validates trajectories by the models of the package `atif`."""

import json
import sys

from atif import Trajectory

for path in sys.argv[1:]:
    with open(path, encoding="utf-8") as file:
        Trajectory.model_validate(json.load(file))
