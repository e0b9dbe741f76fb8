import pytest

from rheostat.spark.act.actuators.resource_profiles import ResourceProfiles, executor_size
from rheostat.spark.state.executor_book import PoolSite

pytestmark = pytest.mark.spark


class Registry:
    """An allocation client that only remembers profiles."""

    def __init__(self):
        self.registered = []

    def register(self, java_profile):
        self.registered.append(java_profile.id())


def test_pools_have_profiles_of_their_own_and_a_site_that_comes_back_has_the_one_it_had(spark):
    registry = Registry()
    profiles = ResourceProfiles(spark, registry, executor_size(spark))
    one, other = PoolSite("one"), PoolSite("other")
    assert profiles.create(one).id != profiles.create(other).id
    assert profiles.create(one) is profiles[one]
    assert registry.registered == list(profiles.ids.values())


def test_a_profile_asks_for_the_node_of_its_site(spark):
    profiles = ResourceProfiles(spark, Registry(), executor_size(spark, 2))
    requests = profiles.create(PoolSite("pool", "big")).executorResources
    assert requests["cores"].amount == 2
    assert requests["node_big"].amount == 1
