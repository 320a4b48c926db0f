import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from model.parameters import count_parameters, width_of
from pipeline.variant_names import split_key
from pipeline.variants import Variant, in_print_order, variant_with_key, variants_for

ROOT = Path(__file__).parents[2]
RELATIONS = ["CloseFriend", "BlogLivejournalTwitter"]


def test_every_row_of_the_results_table_has_its_own_key():
    keys = [variant.key for variant in variants_for(RELATIONS)]
    assert len(set(keys)) == len(keys)
    assert {
        "dyrep-concat",
        "dyrep_bloglivejournaltwitter-bilinear",
        "ldg_learned_sparse_freq-bilinear",
    } <= set(keys)


def test_a_variant_is_found_by_its_key_and_an_unknown_key_says_what_there_is():
    assert variant_with_key("gat-concat", variants_for(RELATIONS)) == Variant(
        "gat", "concat", attention="gat"
    )
    with pytest.raises(ValueError, match="ldg_learned_sparse-bilinear"):
        variant_with_key("ldg", variants_for(RELATIONS))


def test_naming_variants_does_not_import_torch():
    code = "import sys, pipeline.variants; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"interaction": "sum"}, "interaction"),
        ({"interaction": "concat", "attention": "learned"}, "prior"),
        ({"interaction": "concat", "edge_types": 2}, "edge_types"),
        ({"interaction": "bilinear", "wide": True}, "wide"),
    ],
)
def test_an_impossible_variant_is_refused_naming_the_argument(arguments, named):
    with pytest.raises(ValueError, match=named):
        Variant("odd", **arguments)


def test_the_wide_model_has_as_many_parameters_as_the_bilinear_one():
    wide = variant_with_key("dyrep_wide-concat", variants_for(RELATIONS))
    bilinear = count_parameters(variant_with_key("dyrep-bilinear", variants_for(RELATIONS)), 32)
    ours = count_parameters(wide, width_of(wide, 32))
    assert abs(ours - bilinear) / bilinear < 0.03


@pytest.mark.parametrize("edge_types", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("prior", ["uniform", "sparse"])
def test_priors_are_distributions_over_edge_types(edge_types, prior):
    variant = Variant("ldg", "concat", attention="learned", prior=prior, edge_types=edge_types)
    assert sum(variant.prior_probabilities) == pytest.approx(1)
    assert len(variant.prior_probabilities) == edge_types + (prior == "sparse")


def test_no_variant_is_retyped_where_results_are_made_and_shown():
    names = {variant.name for variant in variants_for(RELATIONS)}
    names |= {variant.key for variant in variants_for(RELATIONS)}
    for room in ("results", "show"):
        for path in (ROOT / "pipeline" / room).rglob("*.py"):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            typed = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
            assert not typed & names, path
        for path in (ROOT / "pipeline" / room).rglob("*.sql"):
            assert not set(re.findall(r"'(\w+)'", path.read_text(encoding="utf-8"))) & names, path


def test_print_order_is_that_of_the_papers_table_3():
    order = list(in_print_order(RELATIONS))
    assert order[:4] == ["dyrep", "dyrep_bloglivejournaltwitter", "ldg_random_uniform", "ldg_random_sparse"]
    assert order[order.index("rem") - 2 : order.index("rem")] == ["gcn", "gat"]
    assert all(name.startswith("rem") for name in order[order.index("rem") :])


@pytest.mark.parametrize("key", ["dyrep", "-concat", "copy of dyrep", "dyrep-sum"])
def test_a_folder_that_is_no_variant_is_refused(key):
    with pytest.raises(ValueError, match="<name>-<interaction>"):
        split_key(key)
