"""The same for asyncio: each method of Client and Campaign as a coroutine, with its signature.

A request runs in a thread. A task that is cancelled stops waiting at once, and so does its thread
before its next request; what was under way may have been recorded.

    >>> async def two() -> list[str]:
    ...     async with AsyncClient(client.url) as lab:
    ...         asked = await lab.campaign("bench").ask(2)
    ...         return [e.id for e in asked]
    >>> asyncio.run(two())
    ['e1', 'e2']
"""

from __future__ import annotations

import asyncio
import contextvars
import functools
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import TracebackType
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar, overload

from .campaign import Batch, Campaign, Experiment, Told, Value
from .client import Client
from .transport import JSON, GivenUp, given_up

if TYPE_CHECKING:
    from pandas import DataFrame
    from typing_extensions import Unpack

    from .definition import Source
    from .schema import Keys

P = ParamSpec("P")
R = TypeVar("R")

THREADS = 64
"""So many requests at once; asks wait in theirs."""


class _Waiting:
    """Who hands requests to threads."""

    _threads: ThreadPoolExecutor

    async def _in_thread(self, call: Callable[[], R]) -> R:
        event = threading.Event()
        context = contextvars.copy_context()

        def run() -> R:
            given_up.set(event)
            try:
                return call()
            except GivenUp:
                raise asyncio.CancelledError from None

        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._threads, functools.partial(context.run, run))
        except asyncio.CancelledError:
            event.set()
            raise

    async def _each(self, iterate: Callable[[], Any]) -> AsyncIterator[JSON]:
        iterator = iter(await self._in_thread(iterate))
        while (event := await self._in_thread(lambda: next(iterator, None))) is not None:
            yield event


A = TypeVar("A", bound=_Waiting)


def _of_client(
    method: Callable[Concatenate[Client, P], R],
) -> Callable[Concatenate[AsyncClient, P], Coroutine[Any, Any, R]]:
    """A method of Client as a coroutine."""

    async def wait(self: AsyncClient, /, *args: P.args, **keys: P.kwargs) -> R:
        return await self._in_thread(lambda: method(self.client, *args, **keys))

    functools.update_wrapper(wait, method)
    return wait


def _of_campaign(
    method: Callable[Concatenate[Campaign, P], R],
) -> Callable[Concatenate[AsyncCampaign, P], Coroutine[Any, Any, R]]:
    """A method of Campaign as a coroutine."""

    async def wait(self: AsyncCampaign, /, *args: P.args, **keys: P.kwargs) -> R:
        return await self._in_thread(lambda: method(self.campaign, *args, **keys))

    functools.update_wrapper(wait, method)
    return wait


class AsyncClient(_Waiting):
    """A server: see [campaignd.Client], whose arguments it takes, or which it is given."""

    def __init__(
        self,
        url: str | Client = "http://127.0.0.1:7070",
        token: str | None = None,
        *,
        patience: float = 60,
        timeout: float = 60,
    ) -> None:
        if isinstance(url, Client):
            self.client = url
        else:
            self.client = Client(url, token, patience=patience, timeout=timeout)
        self._threads = ThreadPoolExecutor(THREADS, "campaignd")

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let go of its threads; a server of one's own is closed by who started it."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def __repr__(self) -> str:
        return f"AsyncClient({self.client.url!r})"

    def campaign(self, name: str) -> AsyncCampaign:
        """The campaign of a name."""
        return AsyncCampaign(self, self.client.campaign(name))

    async def begin(
        self,
        source: Source | None = None,
        /,
        *,
        run: bool = True,
        seed: int | None = None,
        resume: bool = False,
        **keys: Unpack[Keys],
    ) -> AsyncCampaign:
        """Begin a campaign: see [campaignd.Client.begin]."""
        begun = await self._in_thread(
            lambda: self.client.begin(source, run=run, seed=seed, resume=resume, **keys)
        )
        return AsyncCampaign(self, begun)

    campaigns = _of_client(Client.campaigns)
    validate = _of_client(Client.validate)
    questions = _of_client(Client.questions)
    methods = _of_client(Client.methods)
    stocks = _of_client(Client.stocks)
    count = _of_client(Client.count)
    places = _of_client(Client.places)
    free = _of_client(Client.free)
    instruments = _of_client(Client.instruments)
    service = _of_client(Client.service)
    version = _of_client(Client.version)


class AsyncCampaign(_Waiting):
    """A campaign: see [campaignd.Campaign]."""

    def __init__(self, client: AsyncClient, campaign: Campaign) -> None:
        self.client = client
        self.campaign = campaign
        self.name = campaign.name
        self._threads = client._threads

    def __repr__(self) -> str:
        return f"AsyncCampaign({self.campaign.client.url!r}, {self.name!r})"

    def _repr_html_(self) -> str:
        return self.campaign._repr_html_()

    # Those with several signatures are written out: a type cannot say otherwise.

    @overload
    async def ask(self, *, wait: float | None = None) -> Experiment | None: ...

    @overload
    async def ask(self, n: int, *, wait: float | None = None) -> Batch: ...

    async def ask(
        self, n: int | None = None, *, wait: float | None = None
    ) -> Experiment | Batch | None:
        if n is None:
            return await self._in_thread(lambda: self.campaign.ask(wait=wait))
        return await self._in_thread(lambda: self.campaign.ask(n, wait=wait))

    @overload
    async def tell(self, experiment: DataFrame, /) -> Told: ...

    @overload
    async def tell(
        self,
        experiment: Experiment | str | None = None,
        value: float | str | None = None,
        **how: Any,
    ) -> list[JSON]: ...

    async def tell(
        self, experiment: Any = None, value: float | str | None = None, **how: Any
    ) -> Any:
        if value is None and not how:
            return await self._in_thread(lambda: self.campaign.tell(experiment))
        return await self._in_thread(lambda: self.campaign.tell(experiment, value, **how))

    @overload
    async def predict(self, points: DataFrame) -> DataFrame: ...

    @overload
    async def predict(self, points: Sequence[Mapping[str, Value]]) -> list[JSON]: ...

    async def predict(self, points: Any) -> Any:
        return await self._in_thread(lambda: self.campaign.predict(points))

    def events(self, follow: bool = False, after: int = 0) -> AsyncIterator[JSON]:
        """The events as they happen: see [campaignd.Campaign.events]."""
        return self._each(lambda: self.campaign.events(follow, after))

    ask_all = _of_campaign(Campaign.ask_all)
    suggest = _of_campaign(Campaign.suggest)
    answer = _of_campaign(Campaign.answer)
    status = _of_campaign(Campaign.status)
    defined = _of_campaign(Campaign.defined)
    definition = _of_campaign(Campaign.definition)
    experiments = _of_campaign(Campaign.experiments)
    acts = _of_campaign(Campaign.acts)
    course = _of_campaign(Campaign.course)
    frame = _of_campaign(Campaign.frame)
    best = _of_campaign(Campaign.best)
    front_rows = _of_campaign(Campaign.front_rows)
    front = _of_campaign(Campaign.front)
    questions = _of_campaign(Campaign.questions)
    explain = _of_campaign(Campaign.explain)
    what_if = _of_campaign(Campaign.what_if)
    audit = _of_campaign(Campaign.audit)
    diagnose = _of_campaign(Campaign.diagnose)
    diagnosis = _of_campaign(Campaign.diagnosis)
    export = _of_campaign(Campaign.export)
    report = _of_campaign(Campaign.report)
    pause = _of_campaign(Campaign.pause)
    resume = _of_campaign(Campaign.resume)
    stop = _of_campaign(Campaign.stop)
    abort = _of_campaign(Campaign.abort)
    cancel = _of_campaign(Campaign.cancel)
    note = _of_campaign(Campaign.note)
    exclude = _of_campaign(Campaign.exclude)
    allow = _of_campaign(Campaign.allow)
    amend = _of_campaign(Campaign.amend)
    resolve = _of_campaign(Campaign.resolve)
    correct = _of_campaign(Campaign.correct)
    run = _of_campaign(Campaign.run)
    halt = _of_campaign(Campaign.halt)
    import_csv = _of_campaign(Campaign.import_csv)
    attach = _of_campaign(Campaign.attach)
    files = _of_campaign(Campaign.files)
    read_file = _of_campaign(Campaign.read_file)
    withdraw = _of_campaign(Campaign.withdraw)
    count = _of_campaign(Campaign.count)
