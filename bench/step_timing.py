"""What bench/step_torch.py, bench/step_jax.py and benches of short calls measure with."""
import statistics, time


def resident(key):
    """Bytes of VmRSS (now) or VmHWM (at its highest moment) of this process."""
    for line in open("/proc/self/status"):
        if line.startswith(key + ":"):
            return int(line.split()[1]) * 1024


def ms_of(f):
    begin = time.perf_counter()
    result = f()
    return 1e3 * (time.perf_counter() - begin), result


def timed(step, seconds):
    """Sorted times of so many steps that they take about `seconds`, after three that don't count; and the last loss."""
    step(), step()
    n = max(5, min(400, int(1e3 * seconds / ms_of(step)[0])))
    runs = [ms_of(step) for _ in range(n)]
    return sorted(ms for ms, _ in runs), runs[-1][1]


def median_ms(call, seconds):
    """Of the calls in so many seconds, five at least, after three that don't count."""
    for _ in range(3): call()
    times, until = [], time.perf_counter() + seconds
    while time.perf_counter() < until or len(times) < 5: times.append(ms_of(call)[0])
    return statistics.median(times)
