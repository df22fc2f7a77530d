"""A server and its campaigns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .campaign import Campaign
from .definition import Source, as_written, defined, text_of
from .steering import counted
from .transport import JSON, Connection, Problem

if TYPE_CHECKING:
    from collections.abc import Sequence

    from typing_extensions import Unpack

    from .schema import Keys


class Client(Connection):
    """A server.

    `token` says who you are where it has accounts; without one, the environment's CAMPAIGND_TOKEN
    does. `patience` is for how many seconds a server that does not answer is tried again: it may be
    restarting. `timeout` is how long one answer may take.
    """

    def __init__(
        self,
        url: str = "http://127.0.0.1:7070",
        token: str | None = None,
        *,
        patience: float = 60,
        timeout: float = 60,
    ) -> None:
        super().__init__(url, token, patience, timeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.url!r})"

    def campaigns(self) -> list[JSON]:
        """The campaigns of the server, in the order of their names."""
        return list(self._pages("/campaigns", "campaigns"))

    def campaign(self, name: str) -> Campaign:
        """The campaign of a name; NAME@STORE where several stores have one.

        This is how to go on after a restart of the kernel: all that was told is on the server.
        """
        return Campaign(self, name)

    def begin(
        self,
        source: Source | None = None,
        /,
        *,
        run: bool = True,
        seed: int | None = None,
        resume: bool = False,
        **keys: Unpack[Keys],
    ) -> Campaign:
        """Begin the campaign of a file, a text, a mapping, a [Definition], or of keywords.

        With run=False it waits to be run: earlier measurements can be imported before. With
        resume=True a campaign that was begun from the very same is gone on with, so that a notebook
        can be run again from its first cell.

        >>> client.begin(
        ...     name="salts",
        ...     parameters=[Number("x", 0, 1), Categorical("salt", ["LiPF6", "LiFSI"])],
        ...     objective=Maximize("flow", unit="mL/s"),
        ...     budget={"experiments": 12},
        ...     instrument="manual",
        ... )
        Campaign('http://...', 'salts')
        """
        given = defined(source, keys)
        text = text_of(given)
        query: JSON = {"run": str(run).lower()}
        if seed is not None:
            query["seed"] = seed
        try:
            answer = self._json("POST", "/campaigns", query, text.encode(), "application/yaml")
        except Problem as problem:
            name = problem.subject
            if not resume or problem.code != "conflict":
                raise as_written(problem, given) from None
            there = self.campaign(name)
            if there.definition() != text:
                raise Problem(
                    problem.status,
                    {
                        "code": "conflict",
                        "subject": name,
                        "detail": f"the campaign {name} is there, and was not begun from this",
                        "remedies": [
                            {
                                "text": f'go on with it: client.campaign("{name}"), and amend it '
                                "where it is to change, or begin this one under another name"
                            }
                        ],
                    },
                ) from None
            return there
        return Campaign(self, str(answer["campaign"]))

    def validate(self, source: Source | None = None, /, **keys: Unpack[Keys]) -> JSON:
        """What a campaign file means, or keywords do. A Problem has its faults."""
        given = defined(source, keys)
        try:
            text = text_of(given).encode()
            return self._json("POST", "/validate", None, text, "application/yaml")
        except Problem as problem:
            raise as_written(problem, given) from None

    def questions(self, *, campaign: str | None = None, expert: str | None = None) -> list[JSON]:
        """The open questions of all campaigns, or of one, or to one expert."""
        given = (("campaign", campaign), ("expert", expert))
        query = {k: v for k, v in given if v is not None}
        return list(self._json("GET", "/questions", query)["questions"])

    def methods(self) -> list[JSON]:
        """The policies that have a name."""
        return list(self._json("GET", "/methods")["methods"])

    def stocks(self) -> list[JSON]:
        """The stocks of the lab, which its campaigns share."""
        return list(self._json("GET", "/stocks")["stocks"])

    def count(
        self, stock: str, what: str | float, *, lot: str = "", reason: str = ""
    ) -> list[JSON]:
        """Say what there is of a stock of the lab: the labels that are there ("A1-H12", or
        "none"), or the amount with its unit ("18 L"; a number alone is in the stock's unit)."""
        units = {s["name"]: s.get("unit", "") for s in self.stocks()}
        said = {"stock": stock, **counted(what, units.get(stock, ""), lot, reason)}
        return list(self._json("POST", "/stocks", None, said)["stocks"])

    def places(self) -> list[JSON]:
        """The places of the lab, which its campaigns share, with the batches that are in them."""
        return list(self._json("GET", "/stocks").get("places", []))

    def free(self, place: str, campaign: str, batch: str, *, reason: str = "") -> list[JSON]:
        """Say that the batch of a campaign that goes on no more is not in a place of the lab."""
        said = {"place": place, "campaign": campaign, "batch": batch, "reason": reason}
        return list(self._json("POST", "/places", None, said).get("places", []))
    def instruments(self) -> list[JSON]:
        """The instruments of the lab: which are out of service, until when they are calibrated."""
        return list(self._json("GET", "/instruments")["instruments"])

    def service(
        self,
        instrument: str,
        *,
        out: bool,
        reason: str = "",
        calibrated_until: str = "",
        files: Sequence[str] = (),
    ) -> list[JSON]:
        """Say that an instrument of the lab is out of service, or back (out=False), and until when
        it is calibrated ("2027-03-01", or "none"). files are addresses, of certificates say."""
        said: JSON = {"resource": instrument, "out": out}
        given = (("reason", reason), ("calibrated_until", calibrated_until), ("files", list(files)))
        said.update({k: v for k, v in given if v})
        return list(self._json("POST", "/instruments", None, said)["instruments"])

    def version(self) -> str:
        """The version of the program that serves."""
        return str(self._json("GET", "/version")["version"])
