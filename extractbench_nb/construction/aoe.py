"""AOE's published figures: `published`, `compare` and `errata`, as `xb.paper` has them."""

from extractbench_nb.construction.aoe_errata import errata
from extractbench_nb.construction.aoe_figures import compare, figures, published

__all__ = ["compare", "errata", "figures", "published"]
