"""The paper's claims as comparisons of our own runs, each decided by statistical evidence."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import product

from pipeline.names import FINAL, FREQUENCY, HITS_AT, NEVER_SEEN, POPULARITY, RANDOM, SNAPSHOTS
from pipeline.show.labels import NONE
from pipeline.show.results_page.evidence import Difference, claim_verdict, paired, rows_against
from pipeline.show.results_page.markdown import folded, markdown_table
from pipeline.show.results_page.measured import Measured
from pipeline.variant_names import BILINEAR, CONCAT, ldg_name
from pipeline.variants import (
    DYREP,
    DYREP_RANDOM,
    DYREP_WIDE,
    LDG_FREQUENCY,
    PAPER_INTERACTIONS,
    PRIORS,
    Variant,
    in_print_order,
)

Rows = Iterable[Difference | None]


@dataclass(frozen=True)
class Claim:
    """A claim to decide: its sentence, the unit of its differences, and the rows it compares."""

    says: str
    unit: str
    rows: Callable[[Measured], Rows]

    def measured(self, data: Measured) -> list[Difference]:
        """Return the rows for which this dataset has results."""
        return [row for row in self.rows(data) if row is not None]


def claims_at_a_glance(datasets: list[Measured]) -> str:
    """Return the verdicts on all claims as one table."""
    return markdown_table(
        ["Claim", *(data.title for data in datasets)],
        [[claim.says, *(verdict_in_short(claim.measured(data)) for data in datasets)] for claim in CLAIMS],
        left=1 + len(datasets),
    )


def claims_section(datasets: list[Measured]) -> str:
    """Return every claim with its evidence."""
    return "\n".join(claim_text(claim, datasets) for claim in CLAIMS)


def verdict_in_short(rows: list[Difference]) -> str:
    """Format a verdict with the number of rows whose mean supports it."""
    return f"{claim_verdict(rows)} ({sum(row.mean > 0 for row in rows)} of {len(rows)})" if rows else NONE


def claim_text(claim: Claim, datasets: list[Measured]) -> str:
    """Return a claim, a summary per dataset, and all its differences."""
    parts = [f"### {claim.says}\n"]
    for data in datasets:
        rows = claim.measured(data)
        if rows:
            parts.append(claim_summary(data.title, claim.unit, rows))
            parts.append(folded(f"{data.title}: every row", list_of_differences(claim.unit, rows)))
    return "\n".join(parts) if len(parts) > 1 else f"{parts[0]}\nNot measured.\n"


def claim_summary(title: str, unit: str, rows: list[Difference]) -> str:
    """Summarize a claim on one dataset: verdict, numbers of rows for and against, range of differences."""
    mean_for, decided = sum(row.mean > 0 for row in rows), sum(row.speaks_for for row in rows)
    means = [row.mean for row in rows]
    span = " to ".join(dict.fromkeys(f"{mean:+.1f}" for mean in (min(means), max(means))))
    return (
        f"**{title}: {claim_verdict(rows)}.** True of the mean in {mean_for} of {len(rows)} rows; decided "
        f"for it in {decided}, against it in {len(rows_against(rows))}.\\\n"
        f"The difference in its favour is {span} {unit}.\n"
    )


def list_of_differences(unit: str, rows: list[Difference]) -> str:
    """Return a table of mean difference and 95 % interval per row."""
    return markdown_table(
        ["Row", f"Difference ({unit})", "95 % interval", "Seeds"],
        [
            [
                row.label,
                f"{row.mean:+.2f}",
                NONE if row.interval is None else "{:+.2f} … {:+.2f}".format(*row.interval),
                str(len(row.values)),
            ]
            for row in rows
        ],
    )


def bilinear_over_concat(data: Measured) -> Rows:
    """Yield bilinear against concat by MAR, per row of Table 3."""
    for row in data.printed_rows():
        name = row["variant"]
        yield paired(row["model"], data.score(name, BILINEAR), data.score(name, CONCAT))


def bilinear_over_concat_by_hits(data: Measured) -> Rows:
    """Yield bilinear against concat by HITS@10 (%), per row of Table 3."""
    for row in data.printed_rows():
        bilinear, concat = (
            {seed: 100 * value for seed, value in data.score(row["variant"], how, HITS_AT[10].name).items()}
            for how in (BILINEAR, CONCAT)
        )
        yield paired(row["model"], bilinear, concat, lower=False)


def bilinear_over_wide(data: Measured) -> Rows:
    """Yield bilinear DyRep against concat DyRep with as many parameters."""
    yield paired(data.model(DYREP_WIDE), data.score(DYREP, BILINEAR), data.score(DYREP_WIDE, CONCAT))


def learned_over_random(data: Measured) -> Rows:
    """Yield a learned graph against a random one, with the same prior and interaction."""
    for prior, how in product(PRIORS, PAPER_INTERACTIONS):
        learned, fixed = (data.score(ldg_name(graph, prior), how) for graph in ("learned", "random"))
        yield paired(f"{prior}, {how}", learned, fixed)


def sparse_over_uniform(data: Measured) -> Rows:
    """Yield a learned graph under the sparse prior against one under the uniform prior, by MAR."""
    for how in PAPER_INTERACTIONS:
        sparse, uniform = (data.score(ldg_name("learned", prior), how) for prior in ("sparse", "uniform"))
        yield paired(how, sparse, uniform)


def sparse_graph_nearer(data: Measured) -> Rows:
    """Yield sparse against uniform prior by AUC with the dataset's own relation, initial and final."""
    for snapshot, how in product(SNAPSHOTS, PAPER_INTERACTIONS):
        sparse, uniform = (
            data.agreement(ldg_name("learned", prior), how, data.own_relation, snapshot)
            for prior in ("sparse", "uniform")
        )
        yield paired(f"{data.own_relation}, {snapshot}, {how}", sparse, uniform, lower=False)


def own_relation_nearest(data: Measured, *, summed: bool) -> Rows:
    """Yield the own relation's AUC against that of every other relation, with final graphs."""
    for other, prior, how in product(data.relations, PRIORS, PAPER_INTERACTIONS):
        if other != data.own_relation:
            own, its = (
                data.agreement(ldg_name("learned", prior), how, relation, FINAL, summed=summed)
                for relation in (data.own_relation, other)
            )
            yield paired(f"over {other}, {prior}, {how}", own, its, lower=False)


def own_relation_best(data: Measured) -> Rows:
    """Yield DyRep on the own relation against DyRep on any other, and on a random graph."""
    for name, how in product(dyreps(data), PAPER_INTERACTIONS):
        if name != DYREP:
            yield paired(f"over {data.model(name)}, {how}", data.score(DYREP, how), data.score(name, how))


def learned_over_known(data: Measured) -> Rows:
    """Yield LDG on a learned sparse graph against DyRep on every known association graph."""
    for name, how in product(dyreps(data), PAPER_INTERACTIONS):
        if name != DYREP_RANDOM:
            learned = data.score(ldg_name("learned", "sparse"), how)
            yield paired(f"over {data.model(name)}, {how}", learned, data.score(name, how))


def random_over_own(data: Measured) -> Rows:
    """Yield LDG on a random graph against DyRep on the own relation."""
    for prior, how in product(PRIORS, PAPER_INTERACTIONS):
        yield paired(f"{prior}, {how}", data.score(ldg_name("random", prior), how), data.score(DYREP, how))


def frequency_helps(data: Measured) -> Rows:
    """Yield LDG averaged with training frequency against LDG alone."""
    for how in PAPER_INTERACTIONS:
        alone = data.score(ldg_name("learned", "sparse"), how)
        yield paired(how, data.score(LDG_FREQUENCY, how), alone)


def over_frequency(data: Measured) -> Rows:
    """Yield every row of Table 3 against the training frequency baseline."""
    counted = data.baseline(FREQUENCY)
    for row, how in product(data.printed_rows(), PAPER_INTERACTIONS):
        ours = data.score(row["variant"], how)
        if counted is not None:
            yield paired(f"{row['model']}, {how}", ours, dict.fromkeys(ours, counted))


def over_baseline_when_never_seen(data: Measured, baseline: str) -> Rows:
    """Yield every row of Table 3 against a baseline, on never-seen pairs."""
    theirs = data.baseline(baseline, "never_seen_mar")
    for row, how in product(data.printed_rows(), PAPER_INTERACTIONS):
        ours = data.pair_score(row["variant"], how, NEVER_SEEN)
        if theirs is not None:
            yield paired(f"{row['model']}, {how}", ours, dict.fromkeys(ours, theirs))


def dyreps(data: Measured) -> list[str]:
    """Return the DyRep variants by association graph, in the order of Table 3."""
    on_a_graph = {
        name
        for name, variant in in_print_order(data.relations).items()
        if isinstance(variant, Variant) and variant.attention == "association" and not variant.wide
    }
    return [row["variant"] for row in data.table_3 if row["variant"] in on_a_graph]


RANKS, POINTS = "ranks of MAR", "points of AUC (%)"
CLAIMS = (
    Claim("Bilinear beats concat in every row of Table 3", RANKS, bilinear_over_concat),
    Claim(
        "Bilinear beats concat in every row of Table 3 by HITS@10 too",
        "points of HITS@10 (%)",
        bilinear_over_concat_by_hits,
    ),
    Claim("Bilinear DyRep beats concat DyRep of as many parameters (Fig. 5)", RANKS, bilinear_over_wide),
    Claim("A learned graph beats a random one", RANKS, learned_over_random),
    Claim("The sparse prior ranks better than the uniform one", RANKS, sparse_over_uniform),
    Claim(
        "The sparse prior's graph is nearer to the known one than the uniform prior's",
        POINTS,
        sparse_graph_nearer,
    ),
    Claim(
        "The learned graph is nearest to the own relation (one edge type, picked by that relation)",
        POINTS,
        lambda data: own_relation_nearest(data, summed=False),
    ),
    Claim(
        "The learned graph is nearest to the own relation (all edge types summed: nothing is picked)",
        POINTS,
        lambda data: own_relation_nearest(data, summed=True),
    ),
    Claim("The own relation is DyRep's best association graph (Fig. 8)", RANKS, own_relation_best),
    Claim(
        "LDG on the learned sparse graph beats DyRep on every known association graph",
        RANKS,
        learned_over_known,
    ),
    Claim("LDG on a random graph beats DyRep on the own relation", RANKS, random_over_own),
    Claim("Averaging with training frequency (+ Freq) helps LDG", RANKS, frequency_helps),
    Claim("The models beat training frequency, which learns nothing", RANKS, over_frequency),
    Claim(
        "On pairs never seen before the models beat a random guess",
        RANKS,
        lambda data: over_baseline_when_never_seen(data, RANDOM),
    ),
    Claim(
        "On pairs never seen before the models beat popularity, which learns nothing",
        RANKS,
        lambda data: over_baseline_when_never_seen(data, POPULARITY),
    ),
)
