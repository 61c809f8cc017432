"""What can be asked of a cache: the families of settings, from the simplest on."""

import math
from dataclasses import dataclass

DAY_S = 86_400
FAMILIES = ("none", "revalidate", "ttl", "swr", "purge", "bounded")
# What each cache can do with its own means.
CACHES = {
    "nginx": ("none", "ttl", "swr"),
    "varnish": ("none", "revalidate", "ttl", "swr", "purge"),
    "cloudflare": ("none", "revalidate", "ttl", "swr", "purge"),
    "stevec": FAMILIES,
}
# Of a lifetime: long enough for the next read of a page that is read often, and it adds a tenth to the oldest read.
WINDOW_SHARE = 0.1


@dataclass(frozen=True)
class Setting:
    """One setting. `lifetime_s` None: nothing is answered without the origin.

    `window_s` is that of stale-while-revalidate (RFC 5861), `purge_delay_s` from an edit to its purge, None without
    purges.
    """

    family: str
    lifetime_s: float | None = None
    window_s: float = 0.0
    purge_delay_s: float | None = None

    @property
    def revalidates(self) -> bool:
        """Whether each read asks whether the copy is still the page."""
        return self.family == "revalidate"

    @property
    def oldest_s(self) -> float:
        """How long a page can have been outdated when it is answered, while no purge is lost."""
        if self.lifetime_s is None:
            return 0.0
        age_s = self.lifetime_s + self.window_s
        return age_s if self.purge_delay_s is None else min(age_s, self.purge_delay_s)

    @property
    def words(self) -> str:
        """For a table: `ttl 60 s`."""
        if self.lifetime_s is None:
            return self.family
        if self.family == "swr":
            return f"swr {self.lifetime_s:g} + {self.window_s:g} s"
        if self.family == "bounded":
            return f"bounded {1000 * (self.purge_delay_s or 0):g} ms"
        return f"{self.family} {self.lifetime_s:g} s"


def window_of(lifetime_s: int) -> int:
    """The window of the family swr for a lifetime, in whole seconds."""
    return max(1, math.ceil(lifetime_s * WINDOW_SHARE))


def of_lifetime(family: str, lifetime_s: int) -> Setting:
    """The setting of the family ttl or swr with a lifetime in whole seconds."""
    return Setting(family, lifetime_s, window_of(lifetime_s) if family == "swr" else 0)


def purged(family: str, delay_s: float) -> Setting:
    """The setting of the family purge or bounded; the lifetime is for a purge that is lost."""
    return Setting(family, DAY_S, 0, delay_s)
