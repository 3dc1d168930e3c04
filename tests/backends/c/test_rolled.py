"""Loops over joints as C: what is written of loops that short robots have too, line by line."""

from __future__ import annotations

import re

import condyle
from condyle.backends.c.rolled import Body, rolled_body, used_constants, write_table
from condyle.backends.common.loops import Bank, layout
from condyle.functions import FUNCTIONS
from condyle.ir.loops import Mirror, Rolled
from condyle.ir.segments import Product
from condyle.model.tree import tree_of
from condyle.text import Emitter
from condyle.trace.loops import roll


def loops(joints: int, function: str) -> tuple[Rolled, Body, str]:
    """Loops over a chain, their body, and the text of the function that runs them."""
    rolled = roll(tree_of(condyle.chain(joints, 1)), FUNCTIONS[function])
    body = rolled_body(rolled, 64)
    return rolled, body, body.main[body.main.index(f"CD_STATIC void {function}_tile") :]


def test_the_last_loops_of_difd_are_its_products() -> None:
    """- Minv times each derivative of id, three by three: one block of three lines and three columns of three terms."""
    rolled, body, text = loops(3, "difd")
    place = layout(rolled)
    left = place.bases[Bank("input", "Minv")]
    assert body.products and len(rolled.results) == 2
    wanted, (first, second) = "", rolled.loops[-2:]
    tables = re.findall(r"static const cd_slot (difd_blocks\d+)\[", body.main)
    assert len(set(tables)) == 2
    for product, table in zip((first, second), tables, strict=True):
        assert numbers(body, table) == [3, 3, 3, *range(3), *range(3), *range(3)]
        assert isinstance(product, Product)
        right, result = (place.bases[Bank("matrix", name)] for name in (product.right.array, product.result))
        wanted += f"""\
    {{
        const cd_factors f = {{w + {left}, NULL, w + {right}, w + {result}, 3, 1, 3, 1, 3, 3}};
        cd_multiply(&f, {table}, 12, 1);
    }}
"""
    assert text.endswith(wanted + "}\n")
    starts = [place.bases[Bank("matrix", rolled.results[array.name])] for array in rolled.arrays]
    assert [list(part) for part in body.tables] == [list(range(start, start + 9)) for start in starts]


def numbers(body: Body, table: str) -> list[int]:
    (found,) = re.findall(rf"static const cd_slot {table}\[\d+\] = \{{([^}}]*)\}};", body.main)
    return [int(word) for word in found.replace(",", " ").split()]


def test_a_matrix_is_mirrored_from_below_its_diagonal() -> None:
    rolled, body, text = loops(3, "minv")
    assert isinstance(rolled.loops[-1], Mirror) and not body.products
    base = layout(rolled).bases[Bank("matrix", rolled.loops[-1].matrix)]
    assert text.endswith(f"""\
    for (i = 0; i < 9; i++) {{
        if (i % 3 < i / 3) {{
            w[{base} + i] = w[{base} + i % 3 * 3 + i / 3];
        }}
    }}
}}
""")


def test_joints_of_one_kind_need_no_switch() -> None:
    """And a loop whose steps write nothing is left out."""
    rolled, _, text = loops(1, "id")
    assert len(rolled.kinds) == 1 and len(rolled.loops) == 3
    assert (
        text
        == """\
CD_STATIC void id_tile(real_v *w)
{
    size_t i, c = 0;
    (void)c;
    for (i = 0; i < 1; i++) {
        id_step0(w, i, c);
    }
    for (i = 1; i-- > 0;) {
        id_step1(w, i, c);
    }
}
"""
    )


def test_a_sweep_over_columns_ends_where_it_is_needed() -> None:
    """Up to the column's own joint, or at the last one."""
    wanted = {"minv": ["0; i < j + 1; i++"], "dfd": ["3; i-- > 0;", "0; i < 3; i++", "0; i < j + 1; i++"], "m": []}
    for function, heads in wanted.items():
        assert re.findall(r"\n {16}for \(i = (.*)\) \{", loops(3, function)[2]) == heads


def test_a_table_has_sixteen_numbers_a_line() -> None:
    e = Emitter()
    write_table(e, "t", range(17))
    assert e.text() == "static const cd_slot t[17] = {\n    " + ", ".join(map(str, range(16))) + ",\n    16,\n};\n"


def test_columns_of_tables_that_steps_read_are_in_order() -> None:
    rolled, body, _ = loops(9, "id")
    used = used_constants(rolled)
    assert any(used)
    for kind, columns in enumerate(used):
        assert columns == sorted(set(columns))
        values = [joint.table[k] for joint in rolled.joints if joint.kind == kind for k in columns]
        found = re.findall(rf"static const real id_table{kind}\[\d+\] = \{{([^}}]*)\}};", body.main)
        words = [word for text in found for word in text.replace(",", " ").split()]
        assert len(found) == bool(columns) and [float.fromhex(word) for word in words] == values


def test_tables_of_joints() -> None:
    """Kind, parent, whether there is none, degrees of freedom, and the number among those of its kind."""
    rolled, body, _ = loops(9, "dfd")
    joints = rolled.joints
    wanted = {
        "kind": [joint.kind for joint in joints],
        "parent": [0, *range(8)],
        "root": [1] + [0] * 8,
        "nv": [1] * 9,
        "row": [sum(other.kind == joint.kind for other in joints[:k]) for k, joint in enumerate(joints)],
    }
    assert max(wanted["row"]) > 1
    for name, column in wanted.items():
        assert numbers(body, f"dfd_{name}") == column
