"""What all tests share: property tests are judged by their results, never by the clock."""

from hypothesis import HealthCheck, settings

settings.register_profile("rheostat", deadline=None, suppress_health_check=[HealthCheck.too_slow], print_blob=True)
settings.load_profile("rheostat")
