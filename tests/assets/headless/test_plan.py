"""What a headless run is to make."""

from assets.headless.plan import missing_before
from pipeline.settings import Settings
from pipeline.sources.registry import registry
from pipeline.variants import model_named
from tests.small_world import store_table, store_variant


def test_what_a_model_reads_is_trained_before_it_unless_it_is_there(office: Settings) -> None:
    (spec,) = (spec for spec in registry(office) if spec.name == "office")
    table = store_table(office.lake, "office")
    source = "ldg_learned_sparse-bilinear"
    alone, reader = (
        model_named(key, spec.relations) for key in ("rem-history", "ldg_learned_sparse_freq-bilinear")
    )
    assert missing_before(spec, alone, office) == []
    assert [one.key for one in missing_before(spec, reader, office)] == [source]
    store_variant(office.lake, table, source)
    assert missing_before(spec, reader, office) == []
