"""Store contract: a test suite that any storage backend can run.

To test your own, put this into a test module and define two fixtures: `store`, a new empty store,
and `again`, a function that opens one more store object on the same data (it may call
`pytest.skip`):

    from holdfast.testing import StoreContract

    class TestMyStore(StoreContract):
        pass

Nothing here sleeps or reads a clock: times are numbers that the tests pass in. After each test the
store's own check-up must find nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import pytest

from ..errors import StoreClosed
from ..storage.protocol import Store
from .days import TimelineContract
from .entities import EntitiesContract
from .erasing import ErasingContract
from .exporting import ExportContract
from .files import FilesContract
from .jobs import JobsContract
from .journal import GraphContract, JournalContract, TransactionContract
from .life import LifeContract
from .messages import MessagesContract
from .narrowing import FilterContract, ScopesContract
from .peers import PeersContract
from .profiles import ProfilesContract
from .progress import ProgressContract
from .reading import MemoriesContract
from .searching import VectorsContract, WordsContract
from .spend import SpendContract
from .undoing import UndoContract


class StoreContract(
    MemoriesContract,
    ScopesContract,
    FilterContract,
    WordsContract,
    VectorsContract,
    GraphContract,
    EntitiesContract,
    TimelineContract,
    MessagesContract,
    ProfilesContract,
    ProgressContract,
    FilesContract,
    TransactionContract,
    JournalContract,
    UndoContract,
    ErasingContract,
    PeersContract,
    JobsContract,
    SpendContract,
    ExportContract,
    LifeContract,
):
    """Every promise of a store. Subclass it in a test module that has the fixtures `store` and
    `again`.
    """

    @pytest.fixture(autouse=True)
    def all_is_well_afterwards(self, store: Store) -> Iterator[None]:
        """Whatever a test did to the store, its check-up finds nothing."""
        yield
        with suppress(StoreClosed):
            assert list(store.check()) == []
