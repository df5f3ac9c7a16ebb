"""What bench/step_torch.py and bench/step_jax.py measure with."""
import time


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
