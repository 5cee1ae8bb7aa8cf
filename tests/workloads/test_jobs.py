"""Jobs: completions, failures, indexes, suspension, deadlines, and what is left behind."""

from typing import Any

from attractor import Key, NotFound
from attractor.k8s import Job, Pod
from attractor.testing import ClusterUnderTest, eventually
from attractor.workloads.jobs import INDEX, TRACKING
from tests.workloads.scenes import NAMESPACE, reasons

KEY = Key(NAMESPACE, "work")


def job(*command: str, restart: str = "Never", **spec: Any) -> Job:
    container = {"name": "main", "image": "worker:1", "command": list(command)}
    template = {"spec": {"restartPolicy": restart, "containers": [container]}}
    return Job.from_dict(
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": KEY.name, "namespace": NAMESPACE},
            "spec": {"template": template, **spec},
        }
    )


async def ended(cluster: ClusterUnderTest, type_: str, within_s: float = 600) -> Job:
    async def look() -> Job | None:
        found = await cluster.client.get(Job, KEY)
        return found if any(one.type == type_ and one.status == "True" for one in found.status.conditions) else None

    found = await eventually(look, within_s=within_s, interval_s=within_s / 1000)
    assert found is not None
    return found


def reason(found: Job, type_: str) -> str:
    return next(one.reason for one in found.status.conditions if one.type == type_)


async def test_a_job_runs_as_often_as_it_should_and_counts_each_pod_once(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(job("sleep", "1", completions=5, parallelism=2))
    done = await ended(cluster, "Complete")
    assert (done.status.succeeded, done.status.failed, done.status.active) == (5, 0, 0)
    assert done.status.completion_time is not None
    pods = await cluster.client.list(Pod, NAMESPACE)
    assert len(pods) == 5
    assert not any(TRACKING in pod.metadata.finalizers for pod in pods)
    assert reason(done, "Complete") == "CompletionsReached"
    assert "Completed" in await reasons(cluster.client, "Job")


async def test_a_job_fails_beyond_its_backoff_limit(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(job("false", backoffLimit=2))
    done = await ended(cluster, "Failed")
    assert (done.status.succeeded, done.status.failed) == (0, 3)
    assert reason(done, "Failed") == "BackoffLimitExceeded"


async def test_each_index_completes_once(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(job("true", completions=4, parallelism=3, completionMode="Indexed"))
    done = await ended(cluster, "Complete")
    assert (done.status.completed_indexes, done.status.succeeded) == ("0-3", 4)
    pods = await cluster.client.list(Pod, NAMESPACE)
    assert sorted(pod.metadata.annotations[INDEX] for pod in pods) == ["0", "1", "2", "3"]
    assert {pod.spec.hostname for pod in pods} == {f"work-{number}" for number in range(4)}


async def test_a_suspended_job_has_no_pods_until_it_is_resumed(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(job("sleep", "60", suspend=True))
    suspended = await ended(cluster, "Suspended", within_s=10)
    assert suspended.status.start_time is None
    assert await client.list(Pod, NAMESPACE) == []
    await client.patch(Job, KEY, {"spec": {"suspend": False}})

    async def is_active() -> bool:
        return (await client.get(Job, KEY)).status.active == 1

    await eventually(is_active)
    await client.patch(Job, KEY, {"spec": {"suspend": True}})

    async def is_empty() -> bool:
        return not await client.list(Pod, NAMESPACE) and (await client.get(Job, KEY)).status.active == 0

    await eventually(is_empty)
    assert (await client.get(Job, KEY)).status.failed == 0


async def test_a_job_that_is_active_for_too_long_fails_and_its_pods_go(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(job("sleep", "3600", activeDeadlineSeconds=30))
    done = await ended(cluster, "Failed", within_s=120)
    assert reason(done, "Failed") == "DeadlineExceeded"
    assert not [pod for pod in await cluster.client.list(Pod, NAMESPACE) if pod.status.phase == "Running"]


async def test_a_finished_job_is_deleted_after_its_time(cluster: ClusterUnderTest) -> None:
    await cluster.client.create(job("true", ttlSecondsAfterFinished=60))
    await ended(cluster, "Complete")

    async def is_gone() -> bool:
        try:
            await cluster.client.get(Job, KEY)
        except NotFound:
            return not await cluster.client.list(Pod, NAMESPACE)
        return False

    await eventually(is_gone, within_s=120, interval_s=1)


async def test_a_deleted_job_takes_its_pods_with_it(cluster: ClusterUnderTest) -> None:
    client = cluster.client
    await client.create(job("sleep", "3600", parallelism=2))

    async def is_active() -> bool:
        return (await client.get(Job, KEY)).status.ready == 2

    await eventually(is_active)
    await client.delete(Job, KEY, propagation="Background")

    async def is_empty() -> bool:
        return not await client.list(Pod, NAMESPACE)

    await eventually(is_empty)
