"""What blocks of replicates have in common."""

from calibrant.engine.tuples import Replicates


class Replicated:
    """Consecutive replicates, whose rows stay unless a block says otherwise."""

    __slots__ = ()

    replicates: Replicates

    @property
    def size(self) -> int:
        """Number of replicates."""
        return self.replicates.size

    @property
    def rows_change(self) -> bool:
        """Whether rows are drawn again: no."""
        return False

    @property
    def refit(self) -> bool:
        """Whether partitions are fitted again: no, predictions stay."""
        return False
