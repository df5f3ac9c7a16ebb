"""Options of `cleave partition --mode pytorch` beside the settings of torch._functorch.config that mean the same."""
BANS = {name: f"ban_recompute_{name}" for name in
        ("used_far_apart", "long_fusible_chains", "materialized_backward", "not_in_allowlist", "reductions")}
BUDGETS = [0.0, 0.1, 0.25, 0.4, 0.5, 0.6, 0.75, 0.9]


def drawn(rng):
    """Some options together: (their words, the settings)."""
    words, settings = [], {}
    def add(text, **more):
        words.append(text)
        settings.update(more)
    if rng.random() < 0.6:
        for name in rng.sample(list(BANS), rng.choice([1, 1, 2, 5])):
            add(f"--ban {name}=off", **{BANS[name]: False})
    if rng.random() < 0.15:
        add("--aggressive", aggressive_recomputation=True)
    if rng.random() < 0.25:
        add("--recompute-views", recompute_views=True)
    if rng.random() < 0.25:
        add("--pay-for-params", treat_parameters_as_free_to_save=False)
    if rng.random() < 0.2:
        distance = rng.choice([0, 1, 2, 5, 20])
        add(f"--max-distance {distance}", max_dist_from_bw=distance)
    if rng.random() < 0.7 or not words:
        budget = rng.choice(BUDGETS)
        add(f"--budget {budget}", activation_memory_budget=budget)
        solver, estimator = rng.choice(["dp", "dp", "greedy", "ilp"]), rng.choice(["flops", "flops", "testing"])
        if solver != "dp":
            add(f"--solver {solver}", activation_memory_budget_solver=solver)
        if estimator != "flops":
            add(f"--estimator {estimator}", activation_memory_budget_runtime_estimator=estimator)
    return words, settings
