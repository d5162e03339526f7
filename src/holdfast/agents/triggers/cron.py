"""Cron triggers."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from croniter import croniter  # type: ignore[import-untyped]

from ...errors import InvalidInput
from ...types import Micros, from_datetime, iso, to_datetime
from ..role import Cron
from .base import Firing, TriggerThread, Wiring

# Seconds between two checks of the clock.
POLL = 0.2


class CronThread(TriggerThread):
    """Fire when due; once, even if several times passed while the machine slept."""

    def __init__(self, trigger: Cron, wiring: Wiring) -> None:
        super().__init__(wiring, "cron")
        self._trigger = trigger
        self._zone = _zone(trigger.timezone)
        self._due = self._after(wiring.clock())
        self.about = f"cron {trigger.schedule!r} ({trigger.timezone}), next at {iso(self._due)}"

    def attend(self) -> None:
        """Check the clock until stopped."""
        looked = self._wiring.clock()
        while not self._wiring.stop.wait(POLL):
            now = self._wiring.clock()
            if now >= self._due:
                self._fire(Firing("cron", self._trigger.prompt))
            if (
                now >= self._due or now < looked
                # A clock that was set back must not silence the trigger until it catches up.
            ):
                self._due = self._after(now)
            looked = now

    def _after(self, now: Micros) -> Micros:
        schedule = self._trigger.schedule
        if len(schedule.split()) != 5 or not croniter.is_valid(schedule):
            raise InvalidInput(
                f"{schedule!r} is not a cron schedule. Write five fields: minute, hour, "
                "day, month, weekday; e.g. '0 9 * * 1-5' is nine o'clock from Monday to "
                "Friday."
            )
        try:
            coming = croniter(schedule, to_datetime(now).astimezone(self._zone)).get_next(datetime)
        except ValueError as error:  # the 31st of February
            raise InvalidInput(
                f"The cron schedule {schedule!r} names a time that never comes."
            ) from error
        return from_datetime(coming)


def _zone(name: str) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (
        KeyError,
        ValueError,
        OSError,
    ) as error:  # not found, invalid name, or a folder of zones
        raise InvalidInput(
            f"Unknown timezone {name!r}. Use a name such as 'Europe/Berlin' or 'UTC'."
        ) from error
