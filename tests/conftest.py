"""What holds for all tests: how hypothesis draws its examples."""

import os

from hypothesis import HealthCheck, settings

# A slow machine is not a failure: no deadline, and no check of how fast examples are made.
settings.register_profile("local", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("local"), derandomize=True, database=None)
settings.load_profile("ci" if os.environ.get("CI") else "local")
