import pytest
from tests.cluster.cluster import connected, running_cluster


@pytest.fixture(scope="session")
def dask_cluster(tmp_path_factory):
    """A scheduler and two workers, processes of this machine."""
    with running_cluster(tmp_path_factory.mktemp("dask"), n_workers=2) as cluster:
        yield cluster


@pytest.fixture
def dask(dask_cluster):
    """A client of the cluster, whose dead workers were replaced."""
    dask_cluster.fill(2)
    with connected(dask_cluster, n_workers=2) as client:
        yield client
