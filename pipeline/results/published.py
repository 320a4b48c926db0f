"""What the paper prints in its Tables 2, 3 and 4, as data to hold beside ours."""

import polars as pl

SOCIAL_EVOLUTION, GITHUB = "Social Evolution", "GitHub"

# Statistic, how the paper prints its name, Social Evolution, GitHub.
TABLE_2 = (
    ("nodes", "# nodes", 83, 284),
    ("initial_associations", "# initial associations", 575, 149),
    ("final_associations", "# final associations", 708, 710),
    ("train_communications", "# train comm events", 43_469, 10_604),
    ("train_associations", "# train assoc events", 365, 1_040),
    ("test_communications", "# test comm events", 10_462, 8_667),
    ("test_associations", "# test assoc events", 73, 415),
)

# Variant, how it is printed, in the paper's order; those after + Freq are in its figures or ours only.
# DyRep's variants are printed with the relation they stand on, which depends on the dataset.
MODELS = (
    ("ldg_random_uniform", "LDG (random, uniform)"),
    ("ldg_random_sparse", "LDG (random, sparse)"),
    ("ldg_learned_uniform", "LDG (learned, uniform)"),
    ("ldg_learned_sparse", "LDG (learned, sparse)"),
    ("ldg_learned_sparse_freq", "LDG (learned, sparse) + Freq"),
    ("ldg_learned_sparse_one_pass", "LDG (learned, sparse), one pass"),
    ("dyrep_random", "DyRep (random associations)"),
    ("dyrep_wide", "DyRep, wider"),
    ("gcn", "GCN"),
    ("gat", "GAT"),
)

# Data, variant (`dyrep` stands on CloseFriend and on Follow);
# MAR mean and std of concat, of bilinear; HITS@10 mean and std of concat, of bilinear.
TABLE_3 = (
    (SOCIAL_EVOLUTION, "dyrep", 16.0, 3.0, 11.0, 1.2, 0.47, 0.05, 0.59, 0.06),
    (SOCIAL_EVOLUTION, "dyrep_facebookalltaggedphotos", 20.7, 5.8, 15.0, 2.0, 0.29, 0.21, 0.38, 0.14),
    (SOCIAL_EVOLUTION, "ldg_random_uniform", 19.5, 4.9, 16.0, 3.3, 0.28, 0.19, 0.35, 0.17),
    (SOCIAL_EVOLUTION, "ldg_random_sparse", 21.2, 4.4, 17.1, 2.6, 0.26, 0.10, 0.37, 0.08),
    (SOCIAL_EVOLUTION, "ldg_learned_uniform", 22.6, 6.1, 16.9, 1.1, 0.18, 0.09, 0.37, 0.06),
    (SOCIAL_EVOLUTION, "ldg_learned_sparse", 17.0, 5.8, 12.7, 0.9, 0.37, 0.14, 0.50, 0.06),
    (GITHUB, "dyrep", 100.3, 10.0, 73.8, 5.0, 0.187, 0.011, 0.221, 0.02),
    (GITHUB, "ldg_random_uniform", 90.3, 17.1, 68.7, 3.3, 0.21, 0.02, 0.24, 0.02),
    (GITHUB, "ldg_random_sparse", 95.4, 14.9, 71.6, 3.9, 0.20, 0.01, 0.23, 0.01),
    (GITHUB, "ldg_learned_uniform", 92.1, 15.1, 66.6, 3.6, 0.20, 0.02, 0.27, 0.03),
    (GITHUB, "ldg_learned_sparse", 90.9, 16.8, 67.3, 3.5, 0.21, 0.03, 0.28, 0.03),
    (GITHUB, "ldg_learned_sparse_freq", 47.8, 5.7, 43.0, 2.8, 0.48, 0.03, 0.50, 0.02),
)

# Data, relation; AUC in % with initial associations (uniform, sparse), with final ones (uniform, sparse).
TABLE_4 = (
    (SOCIAL_EVOLUTION, "BlogLivejournalTwitter", 53, 57, 57, 69),
    (SOCIAL_EVOLUTION, "CloseFriend", 65, 69, 76, 84),
    (SOCIAL_EVOLUTION, "FacebookAllTaggedPhotos", 55, 57, 58, 62),
    (SOCIAL_EVOLUTION, "PoliticalDiscussant", 59, 63, 61, 68),
    (SOCIAL_EVOLUTION, "SocializeTwicePerWeek", 60, 66, 63, 70),
    (GITHUB, "Follow", 79, 80, 85, 86),
)


def table_2() -> pl.DataFrame:
    """Published statistics, one row a statistic of one of the paper's data sets."""
    return pl.DataFrame(
        [
            (paper, position, statistic, printed, value)
            for position, (statistic, printed, *values) in enumerate(TABLE_2)
            for paper, value in zip((SOCIAL_EVOLUTION, GITHUB), values, strict=True)
        ],
        schema={
            "paper": pl.String,
            "position": pl.Int32,
            "statistic": pl.String,
            "printed": pl.String,
            "value": pl.Int64,
        },
        orient="row",
    )


def models() -> pl.DataFrame:
    """Names and order of the variants that are not DyRep on a relation."""
    return pl.DataFrame(
        [(variant, printed, position) for position, (variant, printed) in enumerate(MODELS)],
        schema={"variant": pl.String, "model": pl.String, "position": pl.Int32},
        orient="row",
    )


def table_3() -> pl.DataFrame:
    """Published MAR and HITS@10, one row a variant on one of the paper's data sets."""
    cells = [
        f"{metric}_{interaction}_{part}"
        for metric in ("mar", "hits_at_10")
        for interaction in ("concat", "bilinear")
        for part in ("mean", "std")
    ]
    return pl.DataFrame(
        TABLE_3,
        schema={"paper": pl.String, "variant": pl.String, **dict.fromkeys(cells, pl.Float64)},
        orient="row",
    )


def table_4() -> pl.DataFrame:
    """Published AUC (%) of the learned graph, one row a relation."""
    cells = [f"{snapshot}_{prior}" for snapshot in ("initial", "final") for prior in ("uniform", "sparse")]
    return pl.DataFrame(
        TABLE_4,
        schema={"paper": pl.String, "relation": pl.String, **dict.fromkeys(cells, pl.Int32)},
        orient="row",
    )
