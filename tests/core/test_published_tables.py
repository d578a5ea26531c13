"""The paper's numbers as data."""

from __future__ import annotations

import pytest

from tnet_core.errors import TNetError
from tnet_core.published import TABLES, attention_rows, list_selectors, paper_rows, read_table


def test_rows_are_found_by_looks_per_grid() -> None:
    rows = paper_rows("cub:TNet-B0")
    assert sorted(rows) == [(k,) for k in range(6)]
    assert (rows[(3,)].top1, rows[(3,)].top5, rows[(3,)].gflops, rows[(3,)].params_m) == (87.66, 97.26, 1.55, 5.56)
    assert paper_rows("cub:EfficientNet-B0")[()].top1 == 86.49


def test_functional_map_rows_are_told_apart_by_input_side_and_boxes() -> None:
    assert {budget: row.top1 for budget, row in paper_rows("fmow:TNet:896").items()} == {(2, 1): 72.16, (2, 2): 71.92}
    assert sorted(paper_rows("fmow:TNet:448")) == [(0,), (1,), (2,), (3,)]
    assert paper_rows("fmow:EfficientNet-B0:224")[()].top1 == 62.8
    assert paper_rows("fmow:EfficientNet-B0:224:boxes")[()].top1 == 69.7


def test_precision_recall_and_coverage_belong_to_the_two_data_sets_that_have_boxes() -> None:
    row = attention_rows("imagenet:TNet")[3]
    assert (row.precision, row.recall, row.coverage) == (70.22, 47.49, 26.35)
    assert sorted(attention_rows("fmow:TNet:448")) == [1, 2]
    assert attention_rows("cub:TNet-B0") == attention_rows("") == {}


def test_every_model_of_a_table_has_a_name_that_finds_its_rows() -> None:
    assert list_selectors("imagenet") == ("imagenet:Saccader", "imagenet:DRAM", "imagenet:BagNet-77", "imagenet:TNet")
    assert {"fmow:TNet:448", "fmow:TNet:896", "fmow:EfficientNet-B0:224:boxes"} < set(list_selectors("fmow"))
    for table in TABLES:
        found = sum(len(paper_rows(name)) for name in list_selectors(table))
        assert found == len(read_table(table)), table


def test_time_and_memory_are_read_where_they_are_stated() -> None:
    row = paper_rows("imagenet:TNet")[(3,)]
    assert (row.ms_per_image, row.memory_gb) == (2.74, 0.95)
    assert paper_rows("cub:TNet-B0")[(3,)].ms_per_image is None


def test_every_line_of_every_table_has_an_accuracy() -> None:
    for name in TABLES:
        assert all(0 < float(row["top1"]) < 100 for row in read_table(name))


@pytest.mark.parametrize("selector", ["", "cub", "cub:", "mnist:TNet", "cub:TNet-B9"])
def test_rows_that_do_not_exist_are_named(selector: str) -> None:
    with pytest.raises(TNetError, match="paper"):
        paper_rows(selector)
