"""The warehouse: one DuckDB file, built anew from Parquet and put in place whole, as a window for queries."""

import glob
import json
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl

from pipeline.event_table import dataset_names, read_event_table
from pipeline.lake import Lake, replacing, write_parquet
from pipeline.results import published

MODEL = {"dataset": "VARCHAR", "variant": "VARCHAR", "interaction": "VARCHAR", "seed": "BIGINT"}
METRICS = {
    "events": "BIGINT",
    "mar": "DOUBLE",
    "hits_at_10": "DOUBLE",
    "mrr": "DOUBLE",
    "hits_at_1": "DOUBLE",
    "hits_at_3": "DOUBLE",
}
ARCHIVE_TABLES = {
    "gharchive_files": {
        "file": "VARCHAR",
        "day": "DATE",
        "hour": "INTEGER",
        "status": "VARCHAR",
        "bytes": "BIGINT",
        "etag": "VARCHAR",
        "events": "BIGINT",
        "kept": "BIGINT",
        "ignored": "BIGINT",
        "duplicates": "BIGINT",
        "quarantined": "BIGINT",
        "fetched_at": "TIMESTAMP",
    },
    "github_events": {
        "event_id": "VARCHAR",
        "type": "VARCHAR",
        "kind": "VARCHAR",
        "actor": "VARCHAR",
        "actor_id": "BIGINT",
        "counterpart": "VARCHAR",
        "repo": "VARCHAR",
        "created_at": "TIMESTAMP",
        "file": "VARCHAR",
    },
}
DATASET_TABLES = {
    "dataset_events": {
        "dataset": "VARCHAR",
        "idx": "BIGINT",
        "u": "INTEGER",
        "v": "INTEGER",
        "type": "VARCHAR",
        "kind": "VARCHAR",
        "created_at": "TIMESTAMP",
        "split": "VARCHAR",
    },
    "dataset_nodes": {"dataset": "VARCHAR", "node": "INTEGER", "name": "VARCHAR"},
    "dataset_associations": {
        "dataset": "VARCHAR",
        "relation": "VARCHAR",
        "snapshot": "VARCHAR",
        "u": "INTEGER",
        "v": "INTEGER",
    },
    "dataset_stats": {
        "dataset": "VARCHAR",
        "nodes": "BIGINT",
        "initial_associations": "BIGINT",
        "final_associations": "BIGINT",
        "train_communications": "BIGINT",
        "train_associations": "BIGINT",
        "test_communications": "BIGINT",
        "test_associations": "BIGINT",
        "title": "VARCHAR",
        "relations": "VARCHAR[]",
        "own_relations": "VARCHAR[]",
        "clock": "VARCHAR",
        "time_zone": "VARCHAR",
        "validation_start": "TIMESTAMP",
        "test_start": "TIMESTAMP",
        "fingerprint": "VARCHAR",
    },
}
RESULT_TABLES = {
    "link_prediction": {**MODEL, "split": "VARCHAR", **METRICS},
    "link_prediction_by_slot": {
        **MODEL,
        "split": "VARCHAR",
        **METRICS,
        "slot_start": "TIMESTAMP",
        "slot_end": "TIMESTAMP",
    },
    "link_prediction_by_group": {
        **MODEL,
        "split": "VARCHAR",
        "grouping": "VARCHAR",
        "value": "VARCHAR",
        **METRICS,
    },
    "baselines": {
        "dataset": "VARCHAR",
        "baseline": "VARCHAR",
        "relation": "VARCHAR",
        **METRICS,
        "never_seen_events": "BIGINT",
        "never_seen_mar": "DOUBLE",
        "never_seen_hits_at_10": "DOUBLE",
        "by_role": "BOOLEAN",
    },
    "attention_auc": {
        **MODEL,
        "edge_type": "INTEGER",
        "relation": "VARCHAR",
        "snapshot": "VARCHAR",
        "auc": "DOUBLE",
        "average_precision": "DOUBLE",
        "attention": "VARCHAR",
        "picked": "BOOLEAN",
        "pairs": "BIGINT",
    },
    "training_curves": {
        **MODEL,
        "step": "BIGINT",
        "epoch": "BIGINT",
        "loss_events": "DOUBLE",
        "loss_nonevents": "DOUBLE",
        "loss_kl": "DOUBLE",
        "mar": "DOUBLE",
        "test_mar": "DOUBLE",
    },
}
LEFT_OUT = {"table_name": "VARCHAR", "dataset": "VARCHAR", "rows": "BIGINT", "reason": "VARCHAR"}


def build_warehouse(lake: Lake) -> Path:
    """Build `warehouse.duckdb` from the lake's Parquet and put it in the old one's place; return its path.

    Readers of the old file keep it until they reconnect. An event table that is half replaced is refused, and
    then the old warehouse stays. Result rows of datasets that are gone, or made from an earlier event table,
    are left out and counted in the table `left_out`.
    """
    with replacing(lake.warehouse) as temporary:
        # A killed process of the same number may have left one half built.
        temporary.unlink(missing_ok=True)
        write_ahead(temporary).unlink(missing_ok=True)
        with duckdb.connect(str(temporary)) as warehouse:
            warehouse.begin()
            add_archive(warehouse, lake)
            add_datasets(warehouse, lake)
            add_results(warehouse, lake)
            add_printed_tables(warehouse)
            warehouse.commit()
        # What someone's interrupted session wrote into the old file does not fit the new one, and DuckDB
        # would refuse to open it.
        write_ahead(lake.warehouse).unlink(missing_ok=True)
    return lake.warehouse


def write_ahead(database: Path) -> Path:
    """The log DuckDB keeps beside a database while it is written to."""
    return database.with_name(f"{database.name}.wal")


def create(warehouse: duckdb.DuckDBPyConnection, table: str, columns: dict[str, str]) -> None:
    """An empty table."""
    listed = ", ".join(f'"{column}" {kind}' for column, kind in columns.items())
    warehouse.execute(f'create table "{table}" ({listed})')


def insert(warehouse: duckdb.DuckDBPyConnection, table: str, rows: pl.DataFrame) -> None:
    """Add the rows of a frame, column by name."""
    warehouse.register("rows_to_insert", rows.to_arrow())
    listed = ", ".join(f'"{column}"' for column in rows.columns)
    warehouse.execute(f'insert into "{table}" ({listed}) select {listed} from rows_to_insert')  # noqa: S608 - own names
    warehouse.unregister("rows_to_insert")


def literal(text: str) -> str:
    """`text` as an SQL string."""
    return "'" + text.replace("'", "''") + "'"


def dataset_stats(lake: Lake) -> pl.DataFrame:
    """The table `dataset_stats`: one row a dataset of the lake."""
    types = {"VARCHAR": pl.String, "BIGINT": pl.Int64, "TIMESTAMP": pl.Datetime("us")}
    types["VARCHAR[]"] = pl.List(pl.String)
    rows = []
    for dataset in dataset_names(lake):
        known = json.loads((lake.dataset(dataset) / "dataset.json").read_text(encoding="utf-8"))
        everything = {**known, **known["split"], **known["stats"], "dataset": dataset}
        rows.append({column: everything[column] for column in DATASET_TABLES["dataset_stats"]})
    times = ("validation_start", "test_start")
    schema = {column: types[kind] for column, kind in DATASET_TABLES["dataset_stats"].items()}
    frame = pl.DataFrame(rows, schema={**schema, **dict.fromkeys(times, pl.String)})
    return frame.with_columns(pl.col(*times).str.to_datetime(time_unit="us"))


def write_dataset_stats(lake: Lake) -> dict[str, int]:
    """Write `results/dataset_stats.parquet` and return its row count by its name."""
    stats = dataset_stats(lake)
    write_parquet(stats, lake.results / "dataset_stats.parquet")
    return {"dataset_stats": stats.height}


def add_archive(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """`gharchive_files`, and `github_events` as a view over Parquet: too large to copy."""
    create(warehouse, "gharchive_files", ARCHIVE_TABLES["gharchive_files"])
    accounts = [
        pl.read_parquet(path, glob=False, hive_partitioning=False).select(
            list(ARCHIVE_TABLES["gharchive_files"])
        )
        for path in sorted(lake.github_accounts.glob("*.parquet"))
    ]
    if accounts:
        insert(warehouse, "gharchive_files", pl.concat(accounts, how="vertical_relaxed"))
    columns = ARCHIVE_TABLES["github_events"]
    if next(lake.github_events.glob("*/*.parquet"), None) is None:
        create(warehouse, "github_events", columns)
        return
    # A view keeps the path as text, so it must not depend on where a reader stands.
    files = glob.escape(str(lake.github_events.resolve())) + "/*/*.parquet"
    listed = ", ".join(f'"{column}"::{kind} as "{column}"' for column, kind in columns.items())
    warehouse.execute(f"create view github_events as select {listed} from read_parquet({literal(files)})")  # noqa: S608 - own names


def add_datasets(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """The event tables of all datasets."""
    for table, columns in DATASET_TABLES.items():
        create(warehouse, table, columns)
    insert(warehouse, "dataset_stats", dataset_stats(lake))
    for dataset in dataset_names(lake):
        table = read_event_table(lake.dataset(dataset))
        for name, rows in (
            ("dataset_events", table.events),
            ("dataset_nodes", table.nodes),
            ("dataset_associations", table.associations),
        ):
            named = rows.with_columns(dataset=pl.lit(dataset))
            insert(warehouse, name, named.select(list(DATASET_TABLES[name])))


def result_rows(lake: Lake, table: str) -> Iterator[pl.DataFrame]:
    """What is kept of a result table: one file, or for the baselines one beside each event table."""
    if table == "baselines":
        for dataset in dataset_names(lake):
            path = lake.dataset(dataset) / "baselines.parquet"
            if path.exists():
                yield pl.read_parquet(path).with_columns(dataset=pl.lit(dataset))
    elif (path := lake.results / f"{table}.parquet").exists():
        yield pl.read_parquet(path)


def add_results(warehouse: duckdb.DuckDBPyConnection, lake: Lake) -> None:
    """The result tables of present event tables; rows of others are counted in `left_out`."""
    create(warehouse, "left_out", LEFT_OUT)
    present = dataset_stats(lake).select("dataset", present="fingerprint")
    for table, columns in RESULT_TABLES.items():
        create(warehouse, table, columns)
        for kept in result_rows(lake, table):
            rows = kept.join(present, on="dataset", how="left", maintain_order="left").with_columns(
                reason=why_left_out(set(columns) - set(kept.columns))
            )
            shown, ghosts = (
                rows.filter(pl.col("reason").is_null()),
                rows.filter(pl.col("reason").is_not_null()),
            )
            if shown.height:
                insert(warehouse, table, shown.select(list(columns)))
            counts = ghosts.group_by("dataset", "reason", maintain_order=True).len("rows")
            insert(warehouse, "left_out", counts.with_columns(table_name=pl.lit(table)))


def why_left_out(missing: set[str]) -> pl.Expr:
    """Why a row does not belong in the warehouse, or null; `missing` are columns its file should have."""
    if missing:
        return pl.lit(
            f"made by an earlier version, without {', '.join(sorted(missing))}: materialize it again"
        )
    return (
        pl.when(pl.col("present").is_null())
        .then(pl.lit("the dataset is gone"))
        .when(pl.col("present") != pl.col("fingerprint"))
        .then(pl.lit("made from an earlier event table: materialize it again"))
    )


def add_printed_tables(warehouse: duckdb.DuckDBPyConnection) -> None:
    """The paper's Tables 2, 3 and 4 as views, with what the paper prints beside ours."""
    for name, frame in (
        ("published_table_2", published.table_2()),
        ("published_table_3", published.table_3()),
        ("published_table_4", published.table_4()),
        ("published_models", published.models()),
    ):
        warehouse.register("frame", frame.to_arrow())
        warehouse.execute(f"create table {name} as select * from frame")  # noqa: S608 - own names
        warehouse.unregister("frame")
    for view in (PUBLISHED_DATASETS, TABLE_2, table_3(), table_4()):
        warehouse.execute(view)


# The paper's data are recognized by their four event counts, whatever the dataset is called: the sample
# world has a `github` too, and no published figure belongs beside it.
PUBLISHED_DATASETS = """
create view published_datasets as
with counts as (
    select dataset, statistic, value
    from (unpivot dataset_stats on
          train_communications, train_associations, test_communications, test_associations
          into name statistic value value)
)
select counts.dataset, published.paper
from counts join published_table_2 published using (statistic)
group by all
having bool_and(counts.value = published.value)
"""

TABLE_2 = """
create view table_2 as
with ours as (
    select dataset, statistic, value
    from (unpivot dataset_stats on
          nodes, initial_associations, final_associations, train_communications, train_associations,
          test_communications, test_associations
          into name statistic value value)
),
labels as (select distinct statistic, printed, position from published_table_2)
select ours.dataset, labels.printed as statistic, ours.value, published.value as published,
       ours.value = published.value as agrees
from ours
join labels using (statistic)
left join published_datasets using (dataset)
left join published_table_2 published on published.paper = published_datasets.paper
    and published.statistic = ours.statistic
order by ours.dataset, labels.position
"""


def with_std(mean: str, std: str, decimals: int) -> str:
    """SQL for `mean ± std` as text; without the second half when there is one seed only."""
    number = f"{{:.{decimals}f}}"
    return (
        f"case when {mean} is null then null when {std} is null then format('{number}', {mean}) "
        f"else format('{number} ± {number}', {mean}, {std}) end"
    )


def table_3() -> str:
    """SQL of the view `table_3`: a row a dataset and variant, MAR and HITS@10 for both interactions."""
    cells = [
        (metric, interaction) for metric in ("mar", "hits_at_10") for interaction in ("concat", "bilinear")
    ]
    ours = ",\n".join(
        f"avg({metric}) filter (interaction = '{interaction}') as {metric}_{interaction}_mean,\n"
        f"stddev_samp({metric}) filter (interaction = '{interaction}') as {metric}_{interaction}_std"
        for metric, interaction in cells
    )
    printed, theirs, numbers = [], [], []
    for metric, interaction in cells:
        cell = f"{metric}_{interaction}"
        decimals = 1 if metric == "mar" else 2
        mean, std = f"published.{cell}_mean", f"published.{cell}_std"
        reached = (
            f"ours.{cell}_mean <= {mean} + {std}"
            if metric == "mar"
            else f"ours.{cell}_mean >= {mean} - {std}"
        )
        printed.append(f"{with_std(f'ours.{cell}_mean', f'ours.{cell}_std', decimals)} as {cell}")
        theirs.append(f"{with_std(mean, std, decimals)} as {cell}_published")
        numbers += [
            f"ours.{cell}_mean, ours.{cell}_std",
            f"{mean} as {cell}_published_mean, {std} as {cell}_published_std",
            f"{reached} as {cell}_reached",
        ]
    return f"""
create view table_3 as
with ours as (
    select dataset, variant,
           count(distinct seed) filter (interaction = 'concat') as seeds_concat,
           count(distinct seed) filter (interaction = 'bilinear') as seeds_bilinear,
           {ours}
    from link_prediction where split = 'test' group by all
),
relations as (select dataset, unnest(relations) as relation, own_relations from dataset_stats),
models as (
    select null as dataset, variant, model, position + 2 as position from published_models
    union all
    select dataset, case when relation = own_relations[1] then 'dyrep'
                    else 'dyrep_' || trim(regexp_replace(lower(relation), '[^a-z0-9]+', '_', 'g'), '_') end,
           'DyRep (' || relation || ')', if(relation = own_relations[1], 0, 1)
    from relations
)
select ours.dataset, coalesce(models.model, ours.variant) as model, ours.variant,
       contains(ours.variant, 'learned') as learned_attention,
       {", ".join(printed)},
       {", ".join(theirs)},
       {", ".join(numbers)},
       ours.seeds_concat, ours.seeds_bilinear
from ours
left join models on models.variant = ours.variant and coalesce(models.dataset, ours.dataset) = ours.dataset
left join published_datasets on published_datasets.dataset = ours.dataset
left join published_table_3 published on published.paper = published_datasets.paper
    and published.variant = ours.variant
order by ours.dataset, models.position nulls last, ours.variant
"""  # noqa: S608 - own names


def table_4() -> str:
    """SQL of the view `table_4`: a row a relation, AUC (%) with its initial and final graph, both priors."""
    cells = [(snapshot, prior) for snapshot in ("initial", "final") for prior in ("uniform", "sparse")]
    ours, printed, theirs, numbers = [], [], [], []
    for snapshot, prior in cells:
        cell = f"{snapshot}_{prior}"
        chosen = f"filter (snapshot = '{snapshot}' and prior = '{prior}')"
        ours.append(f"avg(100 * auc) {chosen} as {cell}_mean, stddev_samp(100 * auc) {chosen} as {cell}_std")
        printed.append(f"{with_std(f'ours.{cell}_mean', f'ours.{cell}_std', 0)} as {cell}")
        theirs.append(f"published.{cell} as {cell}_published")
        numbers += [
            f"ours.{cell}_mean, ours.{cell}_std",
            f"round(ours.{cell}_mean) >= published.{cell} as {cell}_reached",
        ]
    frequencies = [
        f"max(100 * auc) filter (snapshot = '{snapshot}' and variant = '{variant}') as {snapshot}_{variant}"
        for snapshot in ("initial", "final")
        for variant in ("frequency", "communication_frequency")
    ]
    return f"""
create view table_4 as
with learned as (
    select *, regexp_extract(variant, '(uniform|sparse)$') as prior
    from attention_auc
    where variant in ('ldg_learned_uniform', 'ldg_learned_sparse') and picked and attention = 'final'
),
ours as (
    select dataset, interaction, relation, count(distinct seed) as seeds, {", ".join(ours)}
    from learned group by all
),
frequency as (
    select dataset, relation,
           {", ".join(frequencies)}
    from attention_auc group by all
)
select ours.dataset, ours.relation, ours.interaction,
       {", ".join(printed)},
       {", ".join(theirs)},
       {", ".join(numbers)},
       frequency.* exclude (dataset, relation), ours.seeds
from ours
left join frequency using (dataset, relation)
left join published_datasets using (dataset)
left join published_table_4 published on published.paper = published_datasets.paper
    and published.relation = ours.relation
order by ours.dataset, ours.interaction, ours.relation
"""  # noqa: S608 - own names
