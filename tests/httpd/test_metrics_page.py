"""The page of metrics."""

from attractor.httpd.pages.metrics import Metrics


def test_what_a_system_does_not_tell_is_left_out_and_the_rest_is_shown() -> None:
    """There is no /proc on a Mac; a scrape must not fail for that."""

    def unknown() -> float:
        raise FileNotFoundError("/proc/self/statm")

    metrics = Metrics()
    metrics.gauge("process_resident_memory_bytes", "Resident memory.", unknown)
    metrics.gauge("attractor_store_revision", "The store's newest revision.", lambda: 7.0)
    page = metrics.render().decode()
    assert "process_resident_memory_bytes" not in page
    assert "attractor_store_revision 7\n" in page
