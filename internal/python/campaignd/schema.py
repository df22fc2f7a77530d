"""The campaign file as dataclasses: every key of schemas/campaign.json has a field.

Written by go generate ./schemas; not to be edited. What is None is left out of the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from .parts import Part, part

if TYPE_CHECKING:
    from .definition import Sought


@part(kw_only=True)
class Aim(Part):
    """Aim is one of the objectives of a trade-off."""

    name: str | None = None
    """Name of a declared quantity."""

    goal: Literal["maximize", "minimize"] | None = None
    """Goal is "maximize" or "minimize"."""

    worst: float | None = None
    """Worst is the worst value that is still of interest, in the quantity's unit: compositions
    that are worse are no part of the front. Absent: inferred from what was measured.
    """

    maximize: str | None = None
    """A declared quantity."""

    minimize: str | None = None
    """A declared quantity."""


@part(kw_only=True)
class AnpeiDuel(Part):
    """ANPEI is expected improvement less a multiple of the noise (Sinaga et al. 2026, Eq. 9)."""

    gamma: float | None = None
    """Gamma is the weight γ of the noise. Default 1."""


@part(kw_only=True)
class AnswersTrust(Part):
    """Answers makes measurements of experts' answers: how strongly they depend on the
    objective, and in which direction, is learned for each expert (package
    internal/num/channel).
    """

    guess: float | None = None
    """Guess is the probability, before an expert has answered anything, that their answers say
    nothing of the objective. Default 0.5.
    """

    against: float | None = None
    """Against is the probability that they go against it. Default 0.1."""

    own: int | None = None
    """Own makes every so many-th experiment the model's own, whatever experts say, so that no
    expert can keep a campaign from what it would find alone. Default 5; 1 never follows the
    answers, 0 always.
    """

    quantities: bool | None = None
    """Quantities lets answers about a formula or a desirability move what the models of its
    quantities say of it, where it is sought by those: an approximation. Absent: a model of
    its values decides once something was answered. Where experts estimate single quantities
    it is so without being said.
    """

    options: int | None = None
    """Options is how many compositions an expert puts in order in each comparison of
    initial.comparisons. Default 2.
    """


@part(kw_only=True)
class Batch(Part):
    """Batch says which experiments go through the procedure together."""

    of: int | None = None
    """Of is how many they are. Default 1."""

    at_least: int | None = None
    """AtLeast is how many suffice once Within has passed since the last of them was requested.
    Absent: all of them.
    """

    within: str | None = None
    """Within is how long the others are waited for."""


@part(kw_only=True)
class Budget(Part):
    """Budget limits the campaign. All counts include the initial ones."""

    experiments: int | None = None
    """Experiments is the number of experiments after which the campaign completes. Required
    where there is an instrument.
    """

    comparisons: int | None = None
    """Comparisons is the number of comparisons after which a campaign without an instrument
    completes. Required there.
    """

    cost: float | None = None
    """Cost is the most that all experiments may cost together, in the unit of the campaign's
    cost. No experiment is chosen whose expected cost exceeds the remaining budget, and the
    campaign completes once none can be chosen any more. Absent: no limit.
    """

    labels: int | None = None
    """Labels is the number of questions after which no one is asked any more. Absent: no
    limit.
    """

    time: str | None = None
    """Time after which no new experiment is started, for example "36h". Absent: no limit."""


@part(kw_only=True)
class Category(Part):
    """CategoryDef is one value of a categorical parameter. In a campaign file a bare name
    stands for a category without descriptors.
    """

    name: str

    descriptors: Mapping[str, float] | None = None
    """Descriptors place the category among the others: numbers, the same names for every
    category of the parameter. Without descriptors categories are equally far from each
    other (one-hot).
    """


@part(kw_only=True)
class ChooseHandover(Part):
    """Choose puts two candidates to the expert, who picks the one that is measured (Adachi et
    al. 2024, Alg. 1). Without a rule of trust the second candidate is the next best of the
    same acquisition (batch UCB, batch Thompson).
    """

    explain: bool | None = None
    """Explain shows the expert what the models base their view on: Shapley values and the
    plane of the two strongest parameters. Default true.
    """

    gate: bool | None = None
    """Gate asks only while the expert's choices agree with what is measured. Default true."""


@part(kw_only=True)
class CobohlTrust(Part):
    """COBOHL searches only where the expert may accept, and trusts that the expert helps: no
    test of harm is made (Xu et al. 2024, Alg. 2).
    """

    confidence: float | None = None
    """Confidence is c in α₁ = c√(n+1): how far a belief may be from the likeliest one. Default
    0.1, with which beliefs stay wide enough for questions to arise (docs/results.md); with
    paper: 0.01, doubled with the norm bound.
    """

    max_norm: float | None = None
    """MaxNorm is the largest norm bound B_g of the belief. Default 4; with paper: no limit."""

    window: int | None = None
    """Window keeps only the most recent labels or comparisons, so many of them, for an expert
    who learns (Xu et al. 2024, App. I.1). Default: all.
    """

    feedback: str | None = None
    """Feedback is the form of the expert's answers: "label" (default), "comparison",
    "ranking", "pinpoint" or "gaussian" (Xu et al. 2024, App. H). With gaussian each expert
    states a belief and no questions are asked.
    """

    options: int | None = None
    """Options is how many compositions a ranking holds. Default 4."""


@part(kw_only=True)
class CobolTrust(Part):
    """COBOL adds the dual-weighted lower belief bound to the acquisition and accepts the
    result only if it cannot do harm (Xu et al. 2024, Alg. 1).
    """

    paper: bool | None = None
    """Paper applies the rules as printed: the norm bound of the belief doubles without limit
    and its confidence with it, and every wide belief is asked about. Default false: our
    variant, see docs/results.md.
    """

    lambda0: float | None = None
    """Lambda0 is the dual variable λ at first. Default 1."""

    zeta: float | None = None
    """Zeta is the step ζ of the dual variable. Default 0.02."""

    eta: float | None = None
    """Eta is η: the aided candidate is turned down where the model is more than η times as
    sure of it as of the unaided one. Default 3.
    """

    confidence: float | None = None
    """Confidence is c in α₁ = c√(n+1): how far a belief may be from the likeliest one. Default
    0.1, with which beliefs stay wide enough for questions to arise (docs/results.md); with
    paper: 0.01, doubled with the norm bound.
    """

    max_norm: float | None = None
    """MaxNorm is the largest norm bound B_g of the belief. Default 4; with paper: no limit."""

    window: int | None = None
    """Window keeps only the most recent labels or comparisons, so many of them, for an expert
    who learns (Xu et al. 2024, App. I.1). Default: all.
    """

    feedback: str | None = None
    """Feedback is the form of the expert's answers: "label" (default), "comparison",
    "ranking", "pinpoint" or "gaussian" (Xu et al. 2024, App. H). With gaussian each expert
    states a belief and no questions are asked.
    """

    options: int | None = None
    """Options is how many compositions a ranking holds. Default 4."""


@part(kw_only=True)
class CoexboTrust(Part):
    """CoExBO offers the expert the optimum of the confidence bound and that of its product
    with the expert's prior, whose weight decays with what is known of the objective (Adachi
    et al. 2024, Eq. 3–8).
    """

    gamma: float | None = None
    """Gamma is γ of the decay γt²σ². Default 0.01."""

    spread: Literal["expected", "epistemic"] | None = None
    """Spread is what the variance of the expert's score counts: "expected", the expected
    variance of one choice (Adachi et al. 2024, Eq. 91; default), or "epistemic", what more
    comparisons could still tell, with which the prior weighs more.
    """

    fantasy: bool | None = None
    """Fantasize searches for the expert's candidate as if the unaided one had been measured as
    predicted, so that the two differ. Default false.
    """


@part(kw_only=True)
class Constraint(Part):
    """Constraint is linear in numeric parameters: Σ coefficient × parameter compared with a
    number.
    """

    name: str | None = None
    """Name as it appears in messages. Optional."""

    terms: Mapping[str, float]
    """Terms maps parameter names to coefficients."""

    equals: float | None = None
    """Exactly one of the following: the sum equals, is at most, or is at least."""

    at_most: float | None = None

    at_least: float | None = None


@part(kw_only=True)
class ControlLimits(Part):
    """ControlLimits are the values that a quantity may have: the target, give or take the
    tolerance.
    """

    target: float
    """Target is the known value, in the unit of the quantity."""

    tolerance: float
    """Tolerance on both sides of the target, in the same unit."""


@part(kw_only=True)
class Cost(Part):
    """Cost is the cost of an experiment: hours, or money, or anything that it takes. Where it
    counts, cheap experiments come first. The price of the product is a quantity, and may be
    optimized or bounded. In a campaign file a bare text stands for Of.
    """

    of: str
    """Of is a formula of numeric parameters, "2 + 0.5*temperature/100", or the name of a
    declared quantity that is the cost.
    """

    unit: str | None = None
    """Unit of the cost, "h". That of a declared quantity is the quantity's."""


@part(kw_only=True)
class DescribeRequest(Part):
    """DescribeRequest is the request for the device's description of itself."""

    url: str

    identity: str | None = None
    """Identity is the place of the device's identity."""

    parameters: str | None = None
    """Parameters is the place of the parameters that it takes, each with name, unit, min and
    max.
    """


@part(kw_only=True)
class Desire(Part):
    """Desire is the worth of one quantity, as a part of a desirability: 0 at From and beyond,
    1 at To and beyond, growing evenly in between. Either may be the greater. Where there is
    a Best, the quantity is worth 1 within it, and nothing at From and To, which lie on both
    sides.
    """

    quantity: str
    """Quantity is a declared quantity."""

    from_: float = field(metadata={"key": "from"})
    """From and To are in the quantity's unit."""

    to: float

    best: Sequence[float] | None = None
    """Best are the two ends of the best range."""

    weight: float | None = None
    """Weight of this quantity among the others. Default 1."""


@part(kw_only=True)
class DeviceSettings(Part):
    """Device settings say what a device is, where it does not say so itself."""

    name: str
    """Name of the instrument in the log."""

    identity: str | None = None
    """Identity of the device: model, serial number. A device is locked by it, and it must stay
    what it is when the device is switched off and on.
    """

    capacity: int | None = None
    """Capacity is how many commands it works on at once. Default 1."""

    simulated: bool | None = None
    """Simulated says that nothing physical takes place. Default false."""

    parameters: Sequence[ParameterSpec | Mapping[str, Any]] | None = None
    """Parameters that it takes, with their limits: a composition outside is never sent.
    Default: those of the campaign.
    """


@part(kw_only=True)
class Duel(Part):
    """Duel chooses what an expert compares where nothing is measured: the expert's preferences
    are the objective. The rules on candidates work on a finite set: a list, the grid of
    discrete parameters, or Sobol points of the space. The others model the expert's utility
    (see Utility).
    """

    mr_lpf: (
        MrLpfDuel
        | Mapping[str, Any]
        | None
    ) = field(default=None, metadata={"key": "mr-lpf"})

    maxmin_lcb: (
        MaxminLcbDuel
        | Mapping[str, Any]
        | None
    ) = field(default=None, metadata={"key": "maxmin-lcb"})

    eubo: Mapping[str, Any] | None = None

    raeubo: RaeuboDuel | Mapping[str, Any] | None = None

    ei: Mapping[str, Any] | None = None

    ucb: UcbDuel | Mapping[str, Any] | None = None

    anpei: AnpeiDuel | Mapping[str, Any] | None = None

    rahbo: RahboDuel | Mapping[str, Any] | None = None

    random: Mapping[str, Any] | None = None


@part(kw_only=True)
class Edge(Part):
    """Edge is the order of two stages: a stage comes after another, so long after its end."""

    stage: str
    """Stage that comes before."""

    from_: str | None = field(default=None, metadata={"key": "from"})
    """From is the time that has to pass since its end."""

    until: str | None = None
    """Until is the time after which it is too late. Absent: it never is."""


@part(kw_only=True)
class Expert(Part):
    """Expert is a person, or a simulated one, who answers questions. Its JSON has the channel
    as one key among the others: {"name": "ada", "terminal": {}}.
    """

    name: str
    """Name of the expert, for example "ada"."""

    anchors: Sequence[Mapping[str, float | str]] | None = None
    """Anchors are compositions at which the expert trusts their own judgment (Sinaga et al.
    2026, §4).
    """

    belief: StatedBelief | Mapping[str, Any] | None = None
    """Belief is where the expert expects the best composition, for feedback: gaussian."""

    quantities: Sequence[str] | None = None
    """Quantities are the declared quantities that the expert estimates for compositions: a
    table with a column for each, in which a number is data about its quantity alone. Not
    for marks. Absent: the expert estimates the objective.
    """

    answer_within: str | None = None
    """AnswerWithin is how long a question waits before the campaign goes on without it.
    Default "2m" for people. No limit by default where people answer when they come by
    (web), where nothing is measured, and where experiments are run by hand, one suggestion
    at a time; where several compositions are estimated at once the default is for each.
    Simulated experts answer at once.
    """

    meanwhile: int | None = None
    """Meanwhile is how many experiments the campaign may choose by itself while a question to
    the expert is open: what it would measure if they were not there. The answer counts
    whenever it comes. Default: 3 for people who are not at a terminal, otherwise the
    campaign waits for the answer, or for the end of AnswerWithin.
    """

    time: str | None = None
    """Time is how much of the expert's time the campaign may ask for, for example "30m": once
    it is spent they are asked no more. It is not measured, since a question may wait while
    its expert sleeps on it, but counted: of each question they were asked and have
    answered, can't tell included, or are being asked, the compositions to judge,
    AnswerTakes each; of a table with several columns half of that for each number. Absent:
    no limit.
    """

    answer_takes: str | None = None
    """AnswerTakes is how long judging one composition takes. Default "20s" where there is a
    Time.
    """

    person: bool | None = None
    """Person says that a person answers, not a simulation. It follows from the channel."""

    program: bool | None = None
    """Program says that a program of the user's answers, neither a person nor a simulation of
    campaignd's own. It follows from the channel.
    """

    simulated: SimulatedExpert | Mapping[str, Any] | None = None

    terminal: Mapping[str, Any] | None = None

    web: Mapping[str, Any] | None = None

    process: ProcessExpert | Mapping[str, Any] | None = None

    lab: Mapping[str, Any] | str | None = None
    """The expert is the one of this name in lab.yaml. Further keys here hold in place of those
    there.
    """


@part(kw_only=True)
class Fidelity(Part):
    """Fidelity names the parameter by which an experiment becomes cheaper and tells less about
    the objective. The objective is the value at the target: only values there are compared,
    and cheaper experiments serve to find where it is worth measuring.
    """

    parameter: str | None = None
    """Parameter is a numeric parameter whose target is its least or its greatest value. Where
    there are sources it is the choice between them, which need not be declared. Default of
    that "source".
    """

    target: float | str | None = None
    """Target is the value that matters: a number, or the name of a source. Default: the last
    source.
    """

    sources: Sequence[Source | Mapping[str, Any]] | None = None
    """Sources are ways to measure the same quantity, such as a simulation, a quick test and
    the real one.
    """

    unit: str | None = None
    """Unit of what sources cost, "h"."""


@part(kw_only=True)
class FindRequest(Part):
    """FindRequest is the request for a run of a command. An answer 404, or one without the
    handle, says that it does not exist.
    """

    url: str

    handle: str
    """Handle is the place of the run's handle."""


@part(kw_only=True)
class FolderInstrument(Part):
    """Settings of a device that reads requests from a folder, and writes results into another
    (docs/bridges.md). Both have the command's identifier in their names: campaign/7XKQ2/e1
    is campaign.7XKQ2.e1.
    """

    device: DeviceSettings | Mapping[str, Any]
    """Device says what it is."""

    folder: str
    """Folder that both sides see, on a network drive for example. Relative to the campaign
    file.
    """

    requests: str | None = None
    """Requests is the folder in it for requests. Default "requests"."""

    results: str | None = None
    """Results is the folder in it for results. Default "results"."""

    takes_away: bool | None = None
    """TakesAway says that the device takes a request out of its folder before it acts on it:
    what still lies there has not begun, and is withdrawn where it is called off. Otherwise
    the device leaves it there until the result is written, and cannot be called off.
    Default false.
    """

    request: RequestFile | Mapping[str, Any] | None = None
    """Request says what a request holds."""

    result: ResultFile | Mapping[str, Any]
    """Result says where a result holds what."""

    every: str | None = None
    """Every is how often the folders are looked at. Default "1s"."""

    ledger: str | None = None
    """Ledger is the folder that remembers which commands were handed over. Default: ledger, in
    the folder of both sides.
    """

    durable: bool | None = None
    """Durable declares that the ledger is durable and complete (docs/process-instrument.md):
    what a crash leaves between a command and its request is asked for again, and no person
    has to look.
    """


@part(kw_only=True)
class Growth(Part):
    """Growth is a rule by which a trade-off completes: the last Window experiments have
    increased the hypervolume of its front by less than Improvement, a share of what it was
    without them. Both are by the posterior means of today, and beyond today's worst values
    of interest.
    """

    window: int
    """Window is a number of experiments."""

    improvement: float | str | None = None
    """Improvement is a share: 0.01, in a campaign file also 1%. Default 0.01."""


@part(kw_only=True)
class Handover(Part):
    """Handover decides whether the expert is asked first. Default width where trust is cobol,
    cobohl or hcei, choose where it is coexbo, never otherwise.
    """

    never: Mapping[str, Any] | None = None

    worth: WorthHandover | Mapping[str, Any] | None = None

    width: WidthHandover | Mapping[str, Any] | None = None

    choose: ChooseHandover | Mapping[str, Any] | None = None

    outcomes: OutcomesHandover | Mapping[str, Any] | None = None


@part(kw_only=True)
class HceiTrust(Part):
    """HCEI weighs the expected improvement with the probability that the expert accepts (Xu et
    al. 2024, Eq. 70).
    """

    confidence: float | None = None
    """Confidence is c in α₁ = c√(n+1): how far a belief may be from the likeliest one. Default
    0.1, with which beliefs stay wide enough for questions to arise (docs/results.md); with
    paper: 0.01, doubled with the norm bound.
    """

    max_norm: float | None = None
    """MaxNorm is the largest norm bound B_g of the belief. Default 4; with paper: no limit."""

    window: int | None = None
    """Window keeps only the most recent labels or comparisons, so many of them, for an expert
    who learns (Xu et al. 2024, App. I.1). Default: all.
    """

    feedback: str | None = None
    """Feedback is the form of the expert's answers: "label" (default), "comparison",
    "ranking", "pinpoint" or "gaussian" (Xu et al. 2024, App. H). With gaussian each expert
    states a belief and no questions are asked.
    """

    options: int | None = None
    """Options is how many compositions a ranking holds. Default 4."""


@part(kw_only=True)
class HttpInstrument(Part):
    """Settings of a device behind a REST interface (docs/bridges.md). Addresses and bodies may
    hold parts of the command: {id}, {name} (the identifier without slashes), {handle},
    {parameters.NAME} and the like. Places in answers are JSON Pointers (RFC 6901), as in
    /data/0/value.
    """

    device: DeviceSettings | Mapping[str, Any]
    """Device says what it is."""

    headers: Mapping[str, str] | None = None
    """Headers of each request."""

    headers_from: Mapping[str, str] | None = None
    """HeadersFrom are headers whose values are those of variables of campaignd's environment,
    by the header's name: {Authorization: ROBOT_TOKEN}. They are never recorded.
    """

    ca: str | None = None
    """CA is a file with certificates (PEM) that are trusted besides those of the system.
    Relative to the campaign file.
    """

    reply_within: str | None = None
    """ReplyWithin is how long the device may take to answer a request. Default "10s"."""

    describe: DescribeRequest | Mapping[str, Any] | None = None
    """Describe asks whether the device is there. Default: it is not asked."""

    start: StartRequest | Mapping[str, Any]
    """Start hands a command over."""

    find: FindRequest | Mapping[str, Any] | None = None
    """Find asks for a run by the command's identifier. It is needed where poll asks by
    {handle}: an answer that was lost has the only handle in it.
    """

    poll: PollRequest | Mapping[str, Any]
    """Poll asks how far a command is."""

    result: ResultRequest | Mapping[str, Any]
    """Result says where a measurement is."""

    cancel: Request | Mapping[str, Any] | None = None
    """Cancel calls a run off. Default: the device cannot."""

    ledger: str | None = None
    """Ledger is the folder that remembers which commands were handed over, relative to the
    campaign file. Default "http.ledger".
    """

    durable: bool | None = None
    """Durable declares that the ledger is durable and complete (docs/process-instrument.md)."""


@part(kw_only=True)
class Initial(Part):
    """Initial describes the experiments before the policy takes over."""

    experiments: int | None = None
    """Experiments is how many experiments the design holds. Default: the number of given
    points, else two for each parameter that is free, and one for each category without
    descriptors, where a quarter of the budget is enough; 3 at least, and as many as may be
    under way at once.
    """

    design: Literal["sobol", "covering", "random", "points"] | None = None
    """Design is "sobol" (default), "covering" (default where there are categories), "random"
    or "points". "covering" is "sobol" with every category at least once, or as many as
    there are experiments.
    """

    points: Sequence[Mapping[str, float | str]] | None = None
    """Points of the design "points"."""

    labels: int | None = None
    """Labels is how many labels each expert gives at first. Default 10 for policies that use
    labels, 0 for others.
    """

    comparisons: int | None = None
    """Comparisons is how many comparisons each expert gives at first. Default, for policies
    that use them: 100 where all experts are simulated, as in Adachi et al. 2024, 10 where
    not; 8 for duels on a utility; else 0.
    """

    balanced: bool | None = None
    """Balanced asks for as many accepted as rejected examples instead of labels at random
    points. Default true where there are experts and all are simulated, false otherwise.
    """

    estimates: int | None = None
    """Estimates is of how many compositions, spread evenly, each expert says at first what
    they expect, all in one sitting: 2 to 100. Absent: what the policy asks for; 0: none.
    """

    marks: bool | None = None
    """Marks asks for estimates in marks from 1, the worst, to 5, the best, instead of in the
    objective's unit.
    """

    wait: str | None = None
    """Wait is how long the campaign waits for what people are asked at first, where something
    is measured: until then, or until it is all answered, no experiment beyond the initial
    ones is chosen; then the questions expire and the campaign goes on, and a later answer
    still counts. Who has an AnswerWithin has as long for each of their questions, one after
    the other, but not beyond Wait. "0s" waits for nothing: the Meanwhile of the experts
    says how far the campaign goes on. Default "72h" where a person is asked; "0s" where
    nothing is measured. Absent: as it was before there was a Wait. People are asked one
    initial question at a time, and their Meanwhile says how far the campaign goes on.
    """


@part(kw_only=True)
class Instrument(Part):
    """Instrument names what measures, and how it is driven. Its JSON has the driver as one key
    among the others: {"process": {…}, "stall_after": "10m"}.
    """

    steps: Mapping[str, float] | None = None
    """Steps is the resolution the instrument can dose in, by parameter, in the parameter's
    unit: suggestions are multiples of it.
    """

    stall_after: str | None = None
    """StallAfter is how long the instrument may be silent before the campaign says so. Default
    "10m"; by hand: no limit.
    """

    give_up_after: str | None = None
    """GiveUpAfter is how long a silent experiment is waited for before its fate counts as
    unknown. Default "24h"; by hand: no limit.
    """

    draws: Mapping[str, Any] | None = None
    """Draws says how much each command uses up, by stock. Of an amount below 0 nothing."""

    by_hand: bool | None = None
    """ByHand says that a person carries the experiments out. It follows from the driver."""

    simulated: SimulatedInstrument | Mapping[str, Any] | str | None = None

    table: TableInstrument | Mapping[str, Any] | str | None = None

    manual: ManualInstrument | Mapping[str, Any] | None = None

    process: ProcessInstrument | Mapping[str, Any] | Sequence[str] | None = None

    http: HttpInstrument | Mapping[str, Any] | None = None

    folder: FolderInstrument | Mapping[str, Any] | None = None

    lab: str | None = None
    """The name of an instrument in lab.yaml. Further keys here hold in place of those there."""


@part(kw_only=True)
class Lab(Part):
    """What the names stand for that lab: refers to. A campaign is recorded with it; elsewhere
    lab.yaml says so.
    """

    instruments: Mapping[str, Mapping[str, Any]] | None = None
    """Instruments by name, as in lab.yaml."""

    experts: Mapping[str, Mapping[str, Any]] | None = None
    """Experts by name, as in lab.yaml."""


@part(kw_only=True)
class LcbNext(Part):
    """LCB is the lower confidence bound μ − βσ of a minimized objective (the upper one of a
    maximized objective).
    """

    beta: float | None = None
    """Beta is β. Default 1 (the reference implementation of Xu et al. 2024 arrives at 1.0004)."""

    beta_rule: Literal["fixed", "lemma", "growing"] | None = None
    """BetaRule is "fixed" (default) or "lemma": β_t = B + σ√(2(γ_{t−1} + 1 + ln(2/δ))), B = 1,
    δ = 0.01, σ = 1e-4 (Lemma 3.1), or "growing": β_t = √(0.2 d √(2(1 + t))) in d dimensions
    after t measurements (Adachi et al. 2024; default with trust: coexbo and pibo).
    """


@part(kw_only=True)
class LogneiNext(Part):
    """LogNEI is the logarithm of the noisy expected improvement: that on the best value so
    far, averaged over what that value may be. Once nothing has improved for five turns,
    every second one is chosen by a model with lengthscales half as long: a restart.
    """

    restarts: float | None = None
    """Restarts is the part of the budget of experiments after which there are no more of them,
    since too few are left to follow what they show: 0 for none, 1 for all. Default 0.8.
    Absent: as it was before there were Restarts, 1.
    """

    quantities: bool | None = None
    """Quantities seeks a formula or a desirability by the models of its quantities, which
    takes fewer experiments than a model of its values (Astudillo and Frazier 2019). Default
    true where one of at most four measured quantities is sought. Absent: as it was before
    there was the choice, by its values.
    """


@part(kw_only=True)
class ManualInstrument(Part):
    """Settings of a person who measures and enters the value."""

    instructions: str | None = None
    """Instructions shown with each experiment."""


@part(kw_only=True)
class MaxminLcbDuel(Part):
    """MaxMinLCB plays a leader that may be best against its strongest rival (Kayal et al.
    2025, App. D).
    """

    lengthscale: float | None = None
    """Lengthscale of the kernel in the unit cube. Default 0.1·√d in d dimensions."""

    lambda_: float | None = field(default=None, metadata={"key": "lambda"})
    """Lambda is the regularization λ. Default 0.05."""

    kappa: float | None = None
    """Kappa is κ of the noise λκ. Default 1."""

    loss: Literal["rkhs", "theta"] | None = None
    """Loss is "rkhs" (default) or "theta"."""

    beta: float | None = None
    """Beta is β, in place of the one that BetaRule gives."""

    beta_rule: Literal["calibrated", "paper", "eq14"] | None = None
    """BetaRule is "calibrated" (default of mr-lpf), "paper" (default of maxmin-lcb, which does
    not take calibrated) or "eq14".
    """

    norm: float | None = None
    """Norm bounds the norm B of the utility, for eq14. Default 1."""

    points: int | None = None
    """Points is how many Sobol points stand for a space that is not finite. Default 256."""


@part(kw_only=True)
class Model(Part):
    """Model configures the Gaussian process of the objective."""

    kernel: Literal["rbf", "matern52", "matern32"] | None = None
    """Kernel is "rbf" (default), "matern52" or "matern32", always with one lengthscale for
    each dimension.
    """

    free_output_scale: bool | None = None
    """FreeOutputScale fits the prior variance as well instead of fixing it at 1."""

    feasibility: bool | None = None
    """Feasibility learns from failed and infeasible experiments where the next would fail too,
    and keeps the policy away. Default true.
    """

    tails: Literal["compress", "keep"] | None = None
    """Tails is "compress" (default) or "keep": the treatment of results that are far worse
    than most. A few terrible ones make all differences among good ones small, and a model
    then takes those for noise. Compressed, a result worse than the median counts by its
    logarithm, once there are eight apart from one another, and the worst of those is more
    than 20 times as far from their median as the best. Absent: "keep", as before Tails were
    introduced.
    """

    intervals: Literal["marginal", "fitted"] | None = None
    """Intervals is "marginal" (default) or "fitted": the uncertainty that is reported with a
    prediction. The hyperparameters are fitted, and few measurements leave them open: an sd
    that takes them for known is too small. A marginal one averages over hyperparameters
    around the fitted ones. Only reported predictions differ; decisions rest on the fitted
    hyperparameters in any case. Absent: "fitted", as before Intervals were introduced.
    """

    utility: Utility | Mapping[str, Any] | None = None
    """Utility is known from comparisons, where policy.duel models one."""


@part(kw_only=True)
class MrLpfDuel(Part):
    """MRLPF eliminates candidates in rounds of the most informative comparisons (Kayal et al.
    2025, Alg. 1).
    """

    lengthscale: float | None = None
    """Lengthscale of the kernel in the unit cube. Default 0.1·√d in d dimensions."""

    lambda_: float | None = field(default=None, metadata={"key": "lambda"})
    """Lambda is the regularization λ. Default 0.05."""

    kappa: float | None = None
    """Kappa is κ of the noise λκ. Default 1."""

    loss: Literal["rkhs", "theta"] | None = None
    """Loss is "rkhs" (default) or "theta"."""

    beta: float | None = None
    """Beta is β, in place of the one that BetaRule gives."""

    beta_rule: Literal["calibrated", "paper", "eq14"] | None = None
    """BetaRule is "calibrated" (default of mr-lpf), "paper" (default of maxmin-lcb, which does
    not take calibrated) or "eq14".
    """

    norm: float | None = None
    """Norm bounds the norm B of the utility, for eq14. Default 1."""

    points: int | None = None
    """Points is how many Sobol points stand for a space that is not finite. Default 256."""


@part(kw_only=True)
class NamedStage(Part):
    """Stage is a step of the procedure that experiments go through: one act at one instrument."""

    on: str
    """On is the instrument that performs it, one of the campaign's instruments."""

    together: bool | None = None
    """Together is set where one act serves the whole batch: a plate that is loaded. Else each
    experiment has an act of its own.
    """

    after: Sequence[Edge | Mapping[str, Any] | str] | str | Mapping[str, Any] | None = None
    """After are the stages that must have been done before, with the time that has to pass. In
    a campaign file a name, or names with ranges of times: {load: 2h..3h}, {load: 2h..},
    {load: ..3h}.
    """

    holds: str | None = None
    """Holds is the place that the batch occupies from the dispatch of this act on."""

    frees: str | None = None
    """Frees is the place that the batch leaves with the end of this act."""

    draws: Mapping[str, Any] | None = None
    """Draws says how much it uses up for each experiment, by stock: see Instrument.Draws."""

    gives: Sequence[str] | str | None = None
    """Gives are the quantities that it measures."""

    repeatable: bool | None = None
    """Repeatable is set where an act that failed may be made again without harm."""

    tries: int | None = None
    """Tries is how often the act is made at most. Default 1; of a repeatable stage 2."""

    always: bool | None = None
    """Always is set where it is performed for each batch at its end, also where its
    experiments have failed: cleaning.
    """

    parameters: Sequence[str] | None = None
    """Parameters are those that the instrument is sent. Absent: all."""

    set: Mapping[str, float | str] | None = None
    """Set are further settings that the instrument is sent, the same for each experiment."""


@part(kw_only=True)
class Next(Part):
    """Next chooses a composition to measure: one acquisition and its settings. In a campaign
    file a bare name stands for the default settings. By default, the acquisition that the
    rule of trust was published with (lcb for cobol), and lognei where trust is "none".
    """

    lcb: LcbNext | Mapping[str, Any] | None = None

    logei: Mapping[str, Any] | None = None

    lognei: LogneiNext | Mapping[str, Any] | None = None

    lognehvi: Mapping[str, Any] | None = None

    thompson: Mapping[str, Any] | None = None

    sobol: Mapping[str, Any] | None = None

    random: Mapping[str, Any] | None = None

    prior: Mapping[str, Any] | None = None

    manual: Mapping[str, Any] | None = None

    eiuu: Mapping[str, Any] | None = None

    process: ProcessNext | Mapping[str, Any] | None = None


@part(kw_only=True)
class Objective(Part):
    """Objective is the quantity that is sought, the formula or the desirability of several,
    the trade-off between them, or what an expert prefers among them.
    """

    name: str | None = None
    """Name of the quantity as the instrument reports it. Default of a formula: its text; of a
    desirability: "desirability". That of a trade-off is the name of its first aim, that of
    a preference the first quantity that is measured.
    """

    formula: str | None = None
    """Formula of declared quantities and numeric parameters, whose value is sought:
    "conductivity / sqrt(viscosity)". It is computed from what was measured and never
    recorded, so that it can be changed over the past. Absent: the quantity Name is sought.
    """

    desirability: Sequence[Desire | Mapping[str, Any]] | None = None
    """Desirability is the weighted geometric mean of what several quantities are worth, from 0
    to 1, which is maximized (Derringer and Suich 1980). Like a formula it is computed from
    what was measured.
    """

    tradeoff: Sequence[Aim | Sought | Mapping[str, Any]] | None = None
    """Tradeoff are two to four quantities that are traded off against each other. The
    objective is the front: the compositions that no other one beats in all of the
    quantities.
    """

    preference: Preference | Mapping[str, Any] | None = None
    """Preference are quantities that an expert compares: the objective is the outcome that the
    expert values most.
    """

    unit: str | None = None
    """Unit the instrument must report it in; of a formula it follows from those of its names."""

    goal: Literal["maximize", "minimize"] | None = None
    """Goal is "maximize" or "minimize"."""

    noise: float | str | None = None
    """Noise is the standard deviation of one measurement, in Unit, where it is known. Absent:
    inferred from the measurements.
    """

    relative_noise: float | None = None
    """RelativeNoise is that as a part of each measured value. In a campaign file it stands as
    noise, in per cent: noise: 2%.
    """

    min: float | None = None
    """Min and Max are the range of plausible results: a measurement outside is refused and the
    experiment counts as failed. Absent: no limit.
    """

    max: float | None = None

    maximize: str | None = None
    """The quantity that is sought, by its name, or a formula of quantities."""

    minimize: str | None = None
    """The quantity that is sought, by its name, or a formula of quantities."""


@part(kw_only=True)
class OutcomeConstraint(Part):
    """OutcomeConstraint is a bound on what an experiment gives: a composition that keeps it is
    feasible.
    """

    require: str
    """Require compares two formulas of quantities and numeric parameters by <= or >=:
    "viscosity <= 5", "price <= 1.1*reference.price". reference.NAME is the value of NAME at
    the reference composition.
    """

    confidence: float | None = None
    """Confidence is the probability from which on a composition counts as one that keeps it.
    Default 0.9.
    """

    exact: bool | None = None
    """Exact takes a bound on one measured quantity with the other exact ones on it for one
    interval, whose probability is exact however small it is. Default true where several
    constraints bound one quantity, and where one bounds the quantity that is sought.
    Absent: as it was before there was this, each by itself.
    """


@part(kw_only=True)
class OutcomesHandover(Part):
    """Outcomes asks the expert which of two outcomes they would rather have."""

    first: int | None = None
    """First is how many comparisons are asked in one sitting after the initial experiments.
    Default 10.
    """

    worth: float | None = None
    """Worth is what a later comparison, of which there is at most one before each experiment,
    must be worth to be asked: so many prior standard deviations of the utility. Default
    0.05.
    """


@part(kw_only=True)
class Outliers(Part):
    """Outliers configures the check of each measurement against what the model expects without
    it.
    """

    action: Literal["repeat", "flag", "ignore"] | None = None
    """Action is "repeat" (default), "flag" or "ignore"."""

    threshold: float | None = None
    """Threshold is the deviation, in standard deviations of the prediction, from which a
    measurement is suspect. Default 4.
    """


@part(kw_only=True)
class Parameter(Part):
    """Parameter is one thing that may be varied: continuous (min and max), discrete numeric
    (values) or categorical (categories).
    """

    name: str

    unit: str | None = None
    """Unit as it is printed, for example "mol/kg". Empty for a pure number."""

    description: str | None = None
    """Description in free text."""

    min: float | None = None
    """Min and Max bound a continuous parameter, in Unit."""

    max: float | None = None

    values: Sequence[float] | None = None
    """Values lists the allowed values of a discrete numeric parameter, in Unit."""

    categories: Sequence[Category | Mapping[str, Any] | str] | None = None
    """Categories lists the values of a categorical parameter."""


@part(kw_only=True)
class ParameterSpec(Part):
    """ParameterSpec is a parameter an instrument takes."""

    name: str

    unit: str | None = None

    min: float | None = None
    """Min and Max are its limits, in Unit; absent: none."""

    max: float | None = None

    step: float | None = None
    """Step is the resolution it can dose in, in Unit; 0: any."""

    categories: Sequence[str] | None = None
    """Categories lists the values of a categorical parameter."""


@part(kw_only=True)
class PiboTrust(Part):
    """PiBO multiplies the acquisition with the expert's prior to the power γ/t (Hvarfner et
    al. 2022; Adachi et al. 2024, Eq. 10).
    """

    gamma: float | None = None
    """Gamma is γ. Default 10."""


@part(kw_only=True)
class Place(Part):
    """Place is something that matter occupies over several acts."""

    name: str

    room: int | None = None
    """Room is how many batches it has room for. Default 1. lab.yaml says it of a place of the
    lab.
    """

    lab: str | None = None
    """Lab is the name of a place of the lab that this one is, which the lab's campaigns share."""


@part(kw_only=True)
class Policy(Part):
    """Policy composes the three choices of each step; in a campaign without an instrument Duel
    takes their place. In a campaign file the name of a method stands for its composition:
    cobol, cobohl, hcei, coexbo, pibo, batch-ucb, mr-lpf, raeubo, …; `campaignd validate
    --explain` writes it out. The packages that own the rules have their settings.
    """

    next: Next | Mapping[str, Any] | str | None = None

    trust: Trust | Mapping[str, Any] | str | None = None

    handover: (
        Handover
        | Mapping[str, Any]
        | Literal["never", "worth", "width", "choose", "outcomes"]
        | None
    ) = None

    duel: Duel | Mapping[str, Any] | str | None = None

    process: ProcessNext | Mapping[str, Any] | None = None


@part(kw_only=True)
class PollRequest(Part):
    """PollRequest is the request for the state of a command. The answers 404 and 410 say that
    the device does not know it.
    """

    url: str

    every: str | None = None
    """Every is how often it is sent. Default "1s"."""

    state: State | Mapping[str, Any]
    """State says how far it is."""

    fraction: str | None = None
    """Fraction is the place of the part that is done, from 0 to 1, and Text that of a word on
    it.
    """

    text: str | None = None


@part(kw_only=True)
class Preference(Part):
    """Preference asks an expert to compare outcomes."""

    over: Sequence[str]
    """Over are the declared quantities that are compared."""


@part(kw_only=True)
class ProcessExpert(Part):
    """Settings of a program in an expert's place (docs/process-method.md). In a campaign file
    a bare list stands for the command.
    """

    command: Sequence[str]
    """Command is the program and its arguments. A relative path with a slash is relative to
    the campaign file.
    """

    dir: str | None = None
    """Dir is the working directory. Default: the folder of the campaign file."""

    env: Mapping[str, str] | None = None
    """Env holds further environment variables."""

    environment: Sequence[str] | None = None
    """Environment names variables of campaignd's own environment that the program gets besides
    the harmless ones (PATH, HOME, LANG, PYTHONPATH, …): what it needs of the shell's
    secrets is named here, and never recorded.
    """

    reply_within: str | None = None
    """ReplyWithin is how long the program may take to answer; AnswerWithin of the expert ends
    a question as well. Default "1m".
    """

    settings: Mapping[str, Any] | None = None
    """Settings are passed to the program with the handshake, in which it can give a schema of
    them.
    """


@part(kw_only=True)
class ProcessInstrument(Part):
    """Settings of a program that speaks JSON Lines on its standard input and output
    (docs/process-instrument.md). In a campaign file a bare list stands for the command.
    """

    command: Sequence[str]
    """Command is the program and its arguments. A relative path with a slash is relative to
    the campaign file.
    """

    dir: str | None = None
    """Dir is the working directory. Default: the folder of the campaign file."""

    env: Mapping[str, str] | None = None
    """Env holds further environment variables."""

    environment: Sequence[str] | None = None
    """Environment names variables of campaignd's own environment that the program gets besides
    the harmless ones (PATH, HOME, LANG, PYTHONPATH, …), whatever they hold: what it needs
    of the shell's secrets is named here, and never recorded.
    """

    reply_within: str | None = None
    """ReplyWithin is how long the program may take to answer anything but a measurement.
    Default "10s".
    """

    settings: Mapping[str, Any] | None = None
    """Settings are passed to the program with the handshake."""


@part(kw_only=True)
class ProcessNext(Part):
    """Settings of a program that proposes what to measure next (docs/process-method.md). In a
    campaign file a bare list stands for the command.
    """

    command: Sequence[str]
    """Command is the program and its arguments. A relative path with a slash is relative to
    the campaign file.
    """

    dir: str | None = None
    """Dir is the working directory. Default: the folder of the campaign file."""

    env: Mapping[str, str] | None = None
    """Env holds further environment variables."""

    environment: Sequence[str] | None = None
    """Environment names variables of campaignd's own environment that the program gets besides
    the harmless ones (PATH, HOME, LANG, PYTHONPATH, …): what it needs of the shell's
    secrets is named here, and never recorded.
    """

    reply_within: str | None = None
    """ReplyWithin is how long the program may take to propose. Default "1m"."""

    attempts: int | None = None
    """Attempts is how often it is asked for a decision at most, before the campaign chooses by
    itself. Default 3.
    """

    settings: Mapping[str, Any] | None = None
    """Settings are passed to the program with the handshake, in which it can give a schema of
    them.
    """


@part(kw_only=True)
class Quantity(Part):
    """QuantityDef is one of several quantities that an experiment gives. A campaign that
    declares some reads them from its instrument by name, in their own units, and goes on
    where one of them is missing.
    """

    name: str
    """Name of the quantity as the instrument reports it."""

    unit: str | None = None
    """Unit the instrument must report it in. Empty for a pure number."""

    description: str | None = None
    """Description in free text."""

    scale: Literal["log"] | None = None
    """Scale is "log" where the model is of the logarithm, for what spans orders of magnitude
    and is never 0 or less. Default: as measured.
    """

    noise: float | str | None = None
    """Noise is the standard deviation of one measurement, in Unit, where it is known. Absent:
    inferred from the measurements.
    """

    relative_noise: float | None = None
    """RelativeNoise is that as a part of each measured value, which is the standard deviation
    of the logarithm where Scale is "log". In a campaign file it stands as noise, in per
    cent: noise: 2%.
    """

    min: float | None = None
    """Min and Max are the range of plausible results: a value outside is missing from its
    experiment, with the reason; the others count. Absent: no limit.
    """

    max: float | None = None

    from_: str | None = field(default=None, metadata={"key": "from"})
    """From is a formula of numeric parameters that the quantity follows from, as a price does:
    it is exact, and never measured. Absent: an experiment gives it.
    """

    better: Literal["higher", "lower"] | None = None
    """Better is "higher" or "lower" where no one would say otherwise. It is for objectives by
    preference: the expert then need not be asked that.
    """

    record: bool | None = None
    """Record keeps the quantity and models nothing of it."""

    arrives: Literal["later"] | None = None
    """Arrives is "later" where the value comes after its experiment has ended, as a capacity
    after 100 cycles does: the experiment counts as measured without it, and awaits it.
    Default: it comes with the experiment's result.
    """

    answer_within: str | None = None
    """AnswerWithin is how long after the end of its experiment a late value is awaited. After
    that the value is missing, unless it still arrives. Absent: awaited without limit.
    """


@part(kw_only=True)
class RaeuboDuel(Part):
    """RAEUBO is EUBO that avoids where the expert's judgment is unreliable (Sinaga et al.
    2026, Eq. 11).
    """

    alpha: float | None = None
    """Alpha is the weight α of the noise. Default 1; with model.utility.paper 10, as in the
    paper, whose map of the noise is nearly flat.
    """


@part(kw_only=True)
class RahboDuel(Part):
    """RAHBO is a confidence bound less a multiple of the noise (Sinaga et al. 2026, Eq. 10)."""

    eta: float | None = None
    """Eta is the width η of the bound, Gamma the weight γ of the noise. Defaults 2 and 1; with
    model.utility.paper γ is 10.
    """

    gamma: float | None = None


@part(kw_only=True)
class Reading(Part):
    """Reading is the place of a quantity in an answer."""

    at: str
    """At is its place."""

    unit: str | None = None
    """Unit that the device gives it in, which has to be the campaign's."""

    sd: str | None = None
    """SD is the place of its standard deviation, in the same unit."""


@part(kw_only=True)
class Reference(Part):
    """Reference is the composition that constraints on outcomes compare with: that of an
    experiment, or a given one.
    """

    experiment: str | None = None
    """Experiment names an experiment of the campaign, "e7"."""

    composition: Mapping[str, float | str] | None = None
    """Composition gives every parameter."""


@part(kw_only=True)
class ReferenceExperiment(Part):
    """ReferenceExperiment is a composition that is measured again and again, a standard or a
    sample of known value, so that a drift of the instrument shows. It costs no budget and
    is in no model. The first is measured at the beginning, the others when they are due:
    Every or Within is set.
    """

    composition: Mapping[str, float | str]
    """Composition gives every parameter."""

    every: int | None = None
    """Every is the number of experiments after which it is measured again."""

    within: str | None = None
    """Within is the time after which it is measured again, whatever was measured since."""

    limits: Mapping[str, ControlLimits | Mapping[str, Any]] | None = None
    """Limits of its control charts that are known beforehand, by quantity. Absent: three
    standard deviations on both sides of the mean, from the first values of the campaign.
    """

    pause: bool | None = None
    """Pause the campaign where a value is outside its limits. Default: it goes on, with an
    alarm.
    """


@part(kw_only=True)
class Region(Part):
    """Region is a box of compositions. A parameter that is not named is unrestricted."""

    name: str | None = None
    """Name or reason, for messages."""

    where: Mapping[str, RegionSide | Mapping[str, Any]]
    """Where maps numeric parameters to closed intervals and categorical ones to names."""


@part(kw_only=True)
class RegionSide(Part):
    """RegionSide is one side of a region: an interval, or one category."""

    min: float | None = None

    max: float | None = None

    is_: str | None = field(default=None, metadata={"key": "is"})


@part(kw_only=True)
class Request(Part):
    """Request is one to the device."""

    method: str | None = None
    """Method of the request. Default POST to start, DELETE to cancel."""

    url: str
    """URL of the request."""

    body: Mapping[str, Any] | None = None
    """Body is sent as JSON."""


@part(kw_only=True)
class RequestColumn(Part):
    """RequestColumn is one of a request that is a table."""

    name: str

    value: str
    """Value with {id}, {name}, {parameters.NAME} and the like in it."""


@part(kw_only=True)
class RequestFile(Part):
    """RequestFile is the content of a request."""

    ending: str | None = None
    """Ending of its name. Default ".json", or ".csv" where there are columns."""

    body: Mapping[str, Any] | None = None
    """Body is the JSON of a request, with {id}, {name}, {parameters.NAME} and the like in
    place of the parts of the command. Default: id, campaign, experiment, replicate and
    parameters.
    """

    columns: Sequence[RequestColumn | Mapping[str, Any]] | None = None
    """Columns make it a table with a header and one row."""


@part(kw_only=True)
class ResultFile(Part):
    """ResultFile says how a result is read. Places in JSON are JSON Pointers (RFC 6901), as in
    /data/0/value; in a table they are names of columns.
    """

    ending: str | None = None
    """Ending of its name, which tells the form: ".csv" for a table with a header and one row,
    JSON otherwise. Default ".json".
    """

    marker: str | None = None
    """Marker is the ending of a file that the device writes when the result is whole, as in
    ".done".
    """

    unchanged_for: str | None = None
    """UnchangedFor is for how long a result without a marker is the same before it counts as
    whole. Default: 0 for JSON, which counts as soon as it can be read, and "5s" for a
    table.
    """

    id: str | None = None
    """ID is the place of the command's identifier, or of its name as a file: a result with
    another one is not taken for that of the command.
    """

    state: State | Mapping[str, Any] | None = None
    """State says whether it was measured. Default: every result is a measurement."""

    quantities: Mapping[str, Reading | Mapping[str, Any]]
    """Quantities are the places of the measured quantities, the objective among them, by name."""

    actual: Mapping[str, str] | None = None
    """Actual are the places of the parameters as they were really made, by name. Default: as
    they were asked for.
    """

    files: Sequence[str] | None = None
    """Files are patterns of those in the results that belong to it, as in "{name}*.png". They
    are complete when the result is.
    """


@part(kw_only=True)
class ResultRequest(Part):
    """ResultRequest says where a measurement is."""

    url: str | None = None
    """URL of the result. Default: it is in the answer to poll."""

    quantities: Mapping[str, Reading | Mapping[str, Any]]
    """Quantities are the places of the measured quantities, the objective among them, by name."""

    actual: Mapping[str, str] | None = None
    """Actual are the places of the parameters as they were really made, by name. Default: as
    they were asked for.
    """


@part(kw_only=True)
class SimulatedExpert(Part):
    """Settings of a simulated expert, who rejects a composition of rank ρ with probability
    S(aρ), where ρ scales the task's objective over the space to [−3, 3], good to bad (Xu et
    al. 2024, Example 2.2). Of two compositions it prefers the one of rank ρ to that of rank
    ρ' with probability S(a(ρ' − ρ)).
    """

    accuracy: float | None = None
    """Accuracy is a: 2 expert, 1 good, 0 guesses, −2 adversary. Default 1."""

    choice_noise: float | None = None
    """ChoiceNoise makes comparisons of the objective itself instead, each side with normal
    noise of this standard deviation, in the objective's unit (Adachi et al. 2024, §5); a
    negative Accuracy takes the other side.
    """

    anchored: bool | None = None
    """Anchored makes comparisons of the objective itself too, each side with normal noise
    whose variance, in the square of the objective's unit, is that of the campaign's
    model.utility around the expert's own anchors, a·exp(−q), whatever the link (Sinaga et
    al. 2026, Eq. 6): small near an anchor, a far from all. Not with ChoiceNoise.
    """

    correlation: float | None = None
    """Correlation makes estimates normal scores of the objective over the space instead, with
    normal noise, so that the two correlate so far: 1 knows the order of all compositions, 0
    guesses, negative the other way round. Absent: estimates are a times the rank with
    logistic noise; labels are their signs.
    """

    correlations: Mapping[str, float] | None = None
    """Correlations are those of single quantities, where the expert estimates several: they
    may know one of them and guess another. Absent: Correlation, or by Accuracy.
    """

    prejudice: float | None = None
    """Prejudice makes the errors of such estimates a smooth function of the composition, the
    same at every question, instead of noise: its lengthscale is this share of the
    parameters' ranges, times the root of their number. It may go with the truth by chance,
    or against it: Correlation is then the average over seeds. Labels and comparisons go by
    the same belief then, in place of the rank. 0: noise.
    """

    wrong_region: float | None = None
    """WrongRegion is how far from the optimum the expert takes everything for the worst of the
    space, in all answers: this share of the parameters' ranges, times the root of their
    number.
    """

    strictness: float | None = None
    """Strictness is added to the logit of a rejection: of a strict expert (5) only the best is
    accepted.
    """

    repeats: bool | None = None
    """Repeats makes the expert's answer about a composition depend on the composition alone:
    asked again, they say the same, errors included.
    """

    copies: float | None = None
    """Copies is the probability that an answer copies the expert's first instead of judging:
    the same label, the same number as the first of the sitting, or the order in which
    options are shown.
    """

    tires: float | None = None
    """Tires is the number of answers after which the expert is half as accurate, and so on;
    each composition of a sitting is one. Correlation falls likewise. 0: never.
    """

    utility: Sequence[Worth | Mapping[str, Any]] | None = None
    """Utility is the worth of outcomes to the expert, where they are to compare those: the sum
    over quantities. Such an expert knows no task.
    """

    utility_noise: float | None = None
    """UtilityNoise is the standard deviation of the normal noise with which they judge each
    outcome, in the unit of the weights. Default 0. A negative Accuracy says the opposite.
    """

    task: str | None = None
    """Task the expert knows. Default: the simulated instrument's."""

    table: str | None = None
    """Table is a CSV file whose rows the expert knows, in place of a task, relative to the
    campaign file. Its header names the parameters and the objective; what the expert judges
    is among its rows.
    """

    unsure_rate: float | None = None
    """UnsureRate is the probability of "can't tell", about each composition that is to be
    estimated. Default 0.
    """

    latency: str | None = None
    """Latency of each answer. Default 0."""


@part(kw_only=True)
class SimulatedInstrument(Part):
    """Settings of a test problem of internal/study/tasks behind an instrument's contract. What
    it answers is a function of the campaign's seed and the command. In a campaign file a
    bare text stands for the task.
    """

    task: str | None = None
    """Task is the test problem: "electrolyte", "ackley4", "branin", … Absent only at an
    instrument of a procedure that measures nothing: it takes its time and is done.
    """

    noise: float | None = None
    """Noise is the standard deviation added to each result, in its unit. Default 0."""

    noises: Mapping[str, float] | None = None
    """Noises are the standard deviations added to the further quantities of the task, by their
    names, in their units. Default 0.
    """

    relative_noises: Mapping[str, float] | None = None
    """RelativeNoises are standard deviations that are added as parts of the value, 0.02 for 2
    per cent, by the names of quantities, the objective among them. Default 0.
    """

    latency: str | None = None
    """Latency of each measurement, for example "50ms". Default 0."""

    failure_rate: float | None = None
    """FailureRate is the probability that an experiment fails. Default 0."""

    infeasible: Sequence[Region | Mapping[str, Any]] | None = None
    """Infeasible lists regions whose compositions cannot be measured."""

    outlier_rate: float | None = None
    """OutlierRate is the probability that a result is silently wrong. Default 0."""


@part(kw_only=True)
class Source(Part):
    """Source is a way to measure, and what an experiment in it costs."""

    name: str

    cost: float


@part(kw_only=True)
class Stage(Part):
    """Stage is a step of the procedure that experiments go through: one act at one instrument."""

    name: str
    """Name of the stage, unique in the procedure."""

    on: str
    """On is the instrument that performs it, one of the campaign's instruments."""

    together: bool | None = None
    """Together is set where one act serves the whole batch: a plate that is loaded. Else each
    experiment has an act of its own.
    """

    after: Sequence[Edge | Mapping[str, Any] | str] | str | Mapping[str, Any] | None = None
    """After are the stages that must have been done before, with the time that has to pass. In
    a campaign file a name, or names with ranges of times: {load: 2h..3h}, {load: 2h..},
    {load: ..3h}.
    """

    holds: str | None = None
    """Holds is the place that the batch occupies from the dispatch of this act on."""

    frees: str | None = None
    """Frees is the place that the batch leaves with the end of this act."""

    draws: Mapping[str, Any] | None = None
    """Draws says how much it uses up for each experiment, by stock: see Instrument.Draws."""

    gives: Sequence[str] | str | None = None
    """Gives are the quantities that it measures."""

    repeatable: bool | None = None
    """Repeatable is set where an act that failed may be made again without harm."""

    tries: int | None = None
    """Tries is how often the act is made at most. Default 1; of a repeatable stage 2."""

    always: bool | None = None
    """Always is set where it is performed for each batch at its end, also where its
    experiments have failed: cleaning.
    """

    parameters: Sequence[str] | None = None
    """Parameters are those that the instrument is sent. Absent: all."""

    set: Mapping[str, float | str] | None = None
    """Set are further settings that the instrument is sent, the same for each experiment."""


@part(kw_only=True)
class StartRequest(Part):
    """StartRequest is the request that hands a command over. It has the header Idempotency-Key
    with the command's identifier, and is sent once, whatever becomes of its answer.
    """

    method: str | None = None
    """Method of the request. Default POST to start, DELETE to cancel."""

    url: str
    """URL of the request."""

    body: Mapping[str, Any] | None = None
    """Body is sent as JSON."""

    handle: str | None = None
    """Handle is the place of the device's own name of the run, in the answer."""

    infeasible: Sequence[int] | None = None
    """Infeasible are the codes of answers that say that the composition cannot be made: [422]."""


@part(kw_only=True)
class State(Part):
    """State says where an answer tells how far a command is, and what its words mean. A word
    that is listed nowhere counts as under way, and as no sign of life.
    """

    at: str
    """At is the place of the state."""

    running: Sequence[str] | None = None
    """Running, Measured, Failed, Infeasible, Deferred and Cancelled list the words that stand
    for each (docs/process-instrument.md, outcomes). Deferred and cancelled say that nothing
    took place.
    """

    measured: Sequence[str]

    failed: Sequence[str] | None = None

    infeasible: Sequence[str] | None = None

    deferred: Sequence[str] | None = None

    cancelled: Sequence[str] | None = None

    cause: str | None = None
    """Cause is the place of the reason why a command was not measured."""


@part(kw_only=True)
class StatedBelief(Part):
    """StatedBelief is a normal distribution over the numeric parameters (Xu et al. 2024, App.
    H). In categorical parameters it says nothing.
    """

    mean: Mapping[str, float | str]
    """Mean is the composition that is expected to be best."""

    sd: Mapping[str, float]
    """SD is the standard deviation of each parameter, in its unit."""


@part(kw_only=True)
class Stock(Part):
    """Stock is something that commands to the instrument use up. Exactly one of Labels, Amount
    and Lab is set.
    """

    labels: str | None = None
    """Labels are handed out one by one, in this order, each once and never again: the tips of
    a rack, the wells of a plate, vials. Names and ranges, separated by commas: "A1-H12" is
    a plate, column by column; "v1-v40" are 40 vials.
    """

    amount: str | None = None
    """Amount is how much there is at first, with its unit: "2000 mL"."""

    lab: str | None = None
    """Lab is the name of a stock of the lab, which campaigns share: lab.yaml says what there
    is.
    """

    low: float | None = None
    """Low is the rest from which on people are told that it comes to an end: a number of
    labels, or an amount in the stock's unit. Default: a fifth of what there is at first.
    """


@part(kw_only=True)
class Stop(Part):
    """Stop describes when the campaign completes before its budget is spent."""

    target: Sequence[str] | float | str | None = None
    """Target completes the campaign once the posterior mean at the best measured composition
    is at least as good, in the objective's unit. Texts, one or a list, are bounds: see
    reach.
    """

    reach: Sequence[str] | None = None
    """Reach are bounds on quantities, "viscosity <= 5": they complete the campaign once one
    measured composition keeps all of them with a probability of 0.9 or more, by the models.
    In a campaign file they stand under target, one or a list.
    """

    window: int | None = None
    """Window and Improvement complete the campaign once the best of the last Window
    experiments improves on the best before them by less than Improvement times the
    interquartile range of all measurements. Default of Improvement 0.1; Window 0 (default)
    switches the rule off.
    """

    improvement: float | str | None = None

    hypervolume: Growth | Mapping[str, Any] | None = None
    """Hypervolume completes a trade-off once its front has hardly grown."""

    gain: float | str | None = None
    """Gain completes a trade-off once each of the last three experiments that the policy chose
    was expected to increase the hypervolume by less than this share of it: 0.001, in a
    campaign file also 0.1%.
    """


@part(kw_only=True)
class TableInstrument(Part):
    """Settings of a table: a CSV file of measured rows, whose compositions are the only
    candidates (backtesting). In a campaign file a bare text stands for the file.
    """

    file: str
    """File is the CSV file, relative to the campaign file. Its header names the parameters and
    the objective.
    """

    columns: Mapping[str, str] | None = None
    """Columns maps parameter and objective names to column names where they differ."""


@part(kw_only=True)
class Trust(Part):
    """Trust lets an expert's belief bend that choice. Default cobol where there are experts
    and the choice has a model, none otherwise.
    """

    none: Mapping[str, Any] | None = None

    answers: AnswersTrust | Mapping[str, Any] | None = None

    cobol: CobolTrust | Mapping[str, Any] | None = None

    cobohl: CobohlTrust | Mapping[str, Any] | None = None

    hcei: HceiTrust | Mapping[str, Any] | None = None

    coexbo: CoexboTrust | Mapping[str, Any] | None = None

    pibo: PiboTrust | Mapping[str, Any] | None = None


@part(kw_only=True)
class UcbDuel(Part):
    """UCB compares the point of the greatest upper confidence bound with the last winner."""

    beta: float | None = None
    """Beta is the width of the bound. Default 2."""


@part(kw_only=True)
class Utility(Part):
    """Utility configures the model of a utility that is known from comparisons alone, and of
    where the expert's judgment is reliable: near the anchors they name (Sinaga et al.
    2026).
    """

    link: Literal["probit", "logistic"] | None = None
    """Link is "probit" (default) or "logistic"."""

    posterior: Literal["laplace", "ep", "hallucinate"] | None = None
    """Posterior is "laplace", "ep" or "hallucinate". Default "ep"; with the logistic link
    "laplace".
    """

    noise: float | None = None
    """Noise is the amplitude a of the noise far from every anchor: the variance of a judged
    utility with the probit link, its scale with the logistic one. Default 1. With a learned
    output scale it is the unit that utilities are in: only rules that subtract a variance
    from a utility (raeubo, rahbo) then depend on it.
    """

    output_scale: Literal["learned", "fixed"] | None = None
    """OutputScale is "learned" (default): the prior variance of the utility and the
    lengthscales are fitted, each under a prior. "fixed" (default with Paper): the variance
    is 1, the lengthscales are in [0.1, 1] without a prior (Sinaga et al. 2026, App. G).
    Empty, as in the definitions of 0.1.0, means fixed.
    """

    strength: float | None = None
    """Strength is how much less noise there is at the densest anchor: a·exp(−strength).
    Default 4.
    """

    paper: bool | None = None
    """Paper takes a·exp(−q) with the density q of the anchors as printed (Eq. 6–8), bandwidth
    within [1, 2], in place of Strength.
    """

    refit_every: int | None = None
    """RefitEvery is the number of comparisons after which hyperparameters are fitted again.
    Default 5.
    """


@part(kw_only=True)
class WidthHandover(Part):
    """Width asks where the belief is still wide (Xu et al. 2024, Alg. 1 line 8)."""

    threshold: float | None = None
    """Threshold is g_thr: the expert is asked where the belief interval is wider, in logits.
    Default 0.1.
    """

    per_experiment: int | None = None
    """MaxPerExperiment is the largest number of questions before one experiment; past it the
    unaided candidate is taken. Default 10.
    """

    where_it_matters: bool | None = None
    """OnlyIfDecisive asks only where the interval contains 0, that is where the answer could
    change the action, and takes the unaided candidate where the expert is known to reject.
    Default true; false with cobol: {paper: true}.
    """

    gate: bool | None = None
    """Gate follows only experts whose labels predict what is measured. With cobol they have to
    earn it: in the first fifth of the experiments they are asked about the model's own
    compositions, then every second experiment may be theirs, and after seven tenths no one
    is asked (docs/results.md). Default true; false with cobol: {paper: true}.
    """


@part(kw_only=True)
class Worth(Part):
    """Worth is the worth of a value v of one quantity to an expert who compares outcomes,
    weight·S(6(v − from)/(to − from) − 3), with the logistic function S: next to nothing at
    From (0.05 of the weight), next to all at To (0.95), and hardly more beyond. Either may
    be the greater.
    """

    quantity: str
    """Quantity is one that the campaign's objective names."""

    from_: float = field(metadata={"key": "from"})
    """From and To are in the quantity's unit."""

    to: float

    weight: float | None = None
    """Weight among the other quantities. Default 1."""


@part(kw_only=True)
class WorthHandover(Part):
    """Worth asks the expert to accept or reject a composition where the answer is expected to
    improve the next experiment by enough. Least, the absolute threshold, is what hands over
    to the model: what an experiment is expected to bring shrinks in the course of a
    campaign, and with it what an answer can add.
    """

    least: float | None = None
    """Least is the improvement of the next experiment below which nothing is asked, in
    standard deviations of what has been measured. Default 0.002.
    """

    share: float | None = None
    """Share is the same relative to what the next experiment is expected to bring: a question
    may cost a fiftieth of it. Default 0.02.
    """

    per_experiment: int | None = None
    """MaxPerExperiment is the largest number of questions before one experiment. Default 2."""


@part(kw_only=True)
class Definition(Part):
    """Definition describes a campaign: the parameters, the objective, the method that chooses
    the next step, the experts and the instrument. It is the content of a campaign file;
    internal/files/campaignfile reads, completes and checks it. In an event every default is
    written out.
    """

    name: str
    """Name of the campaign: letters, digits, dot, dash and underscore. It names the stream of
    events and, with the ending .campaign, the default store.
    """

    description: str | None = None
    """Description in free text."""

    seed: int | None = None
    """Seed of everything random in the campaign. Default 1."""

    parameters: Sequence[Parameter | Mapping[str, Any]]
    """Parameters that may be varied, in the order they are shown."""

    constraints: Sequence[Constraint | Mapping[str, Any]] | None = None
    """Constraints that every composition satisfies."""

    candidates: Sequence[Mapping[str, float | str]] | None = None
    """Candidates lists the only compositions that may be measured. Absent: every composition
    of the space; with a table instrument: its rows.
    """

    excluded: Sequence[Region | Mapping[str, Any]] | None = None
    """Excluded regions, in which nothing is suggested."""

    objective: Objective | Sought | Mapping[str, Any]
    """Objective that is sought."""

    quantities: Sequence[Quantity | Mapping[str, Any]] | None = None
    """Quantities that an experiment gives, each by its name: with the objective among them, or
    apart from it. Absent: the objective alone is read, and what else the instrument reports
    is recorded as it comes.
    """

    constraints_on_outcomes: Sequence[OutcomeConstraint | Mapping[str, Any] | str] | None = None
    """ConstraintsOnOutcomes bound what an experiment gives. Only compositions that probably
    keep all of them count as the best. In a campaign file a bare text stands for a
    constraint with the default confidence.
    """

    reference: Reference | Mapping[str, Any] | None = None
    """Reference that constraints on outcomes compare with."""

    reference_experiments: Mapping[str, ReferenceExperiment | Mapping[str, Any]] | None = None
    """ReferenceExperiments are measured again and again, by name, so that a drift of the
    instrument shows: outside of the budget and of all models. Other than Reference, they
    are compared with themselves alone.
    """

    model: Model | Mapping[str, Any] | None = None
    """Model of the objective."""

    initial: Initial | Mapping[str, Any] | None = None
    """Initial design, before the policy takes over."""

    policy: Policy | Mapping[str, Any] | str | None = None
    """Policy that chooses the next step."""

    cost: Cost | Mapping[str, Any] | str | None = None
    """Cost of an experiment: of what it takes, not of what it makes."""

    fidelity: Fidelity | Mapping[str, Any] | None = None
    """Fidelity is the parameter by which an experiment becomes cheaper and tells less about
    the objective. Absent: all experiments tell the same.
    """

    budget: Budget | Mapping[str, Any]
    """Budget after which the campaign completes."""

    stop: Stop | Mapping[str, Any] | None = None
    """Stop is a rule by which the campaign completes before its budget is spent."""

    parallel: int | None = None
    """Parallel is how many experiments may be open at once; the instrument may limit it
    further. Default 1.
    """

    outliers: Outliers | Mapping[str, Any] | None = None
    """Outliers is the treatment of a measurement that contradicts the model."""

    replicates: int | None = None
    """Replicates is how often each composition is measured. Default 1."""

    instrument: Instrument | Mapping[str, Any] | Literal["manual"] | None = None
    """Instrument that measures. Absent where policy.duel is set: the experts' comparisons are
    the objective, and nothing is measured.
    """

    instruments: Mapping[str, Instrument | Mapping[str, Any] | Literal["manual"]] | None = None
    """Instruments take its place where an experiment needs several, by the names that the
    procedure uses.
    """

    procedure: (
        Sequence[Stage
        | Mapping[str, Any]]
        | Mapping[str, NamedStage
        | Mapping[str, Any]]
        | None
    ) = None
    """Procedure lists the stages of an experiment. In a campaign file a mapping, in the order
    in which it is written. Absent: one act, at the instrument.
    """

    batch: Batch | Mapping[str, Any] | None = None
    """Batch says which experiments go through the procedure together."""

    places: Sequence[Place | Mapping[str, Any] | str] | None = None
    """Places are what only so many batches can occupy at once, an oven or a press, in the
    order in which they may be held: a batch that holds one waits for later ones alone.
    """

    stocks: Mapping[str, Stock | Mapping[str, Any]] | None = None
    """Stocks are what commands to the instrument use up, by name: how much of each,
    instrument.draws says.
    """

    experts: Sequence[Expert | Mapping[str, Any] | str] | None = None
    """Experts who are asked. None: the campaign runs without questions. Several take turns,
    one for each experiment, and each has a belief and a trust of their own.
    """

    lab: Lab | Mapping[str, Any] | None = None
    """What the names stand for that lab: refers to. A campaign is recorded with it; elsewhere
    lab.yaml says so.
    """


class Keys(TypedDict, total=False):
    """The keys of a campaign file as keywords; the seed is one of its own."""

    name: str | None
    description: str | None
    parameters: Sequence[Parameter | Mapping[str, Any]] | None
    constraints: Sequence[Constraint | Mapping[str, Any]] | None
    candidates: Sequence[Mapping[str, float | str]] | None
    excluded: Sequence[Region | Mapping[str, Any]] | None
    objective: Objective | Sought | Mapping[str, Any] | None
    quantities: Sequence[Quantity | Mapping[str, Any]] | None
    constraints_on_outcomes: Sequence[OutcomeConstraint | Mapping[str, Any] | str] | None
    reference: Reference | Mapping[str, Any] | None
    reference_experiments: Mapping[str, ReferenceExperiment | Mapping[str, Any]] | None
    model: Model | Mapping[str, Any] | None
    initial: Initial | Mapping[str, Any] | None
    policy: Policy | Mapping[str, Any] | str | None
    cost: Cost | Mapping[str, Any] | str | None
    fidelity: Fidelity | Mapping[str, Any] | None
    budget: Budget | Mapping[str, Any] | None
    stop: Stop | Mapping[str, Any] | None
    parallel: int | None
    outliers: Outliers | Mapping[str, Any] | None
    replicates: int | None
    instrument: Instrument | Mapping[str, Any] | Literal["manual"] | None
    instruments: Mapping[str, Instrument | Mapping[str, Any] | Literal["manual"]] | None
    procedure: (
        Sequence[Stage
        | Mapping[str, Any]]
        | Mapping[str, NamedStage
        | Mapping[str, Any]]
        | None
    )
    batch: Batch | Mapping[str, Any] | None
    places: Sequence[Place | Mapping[str, Any] | str] | None
    stocks: Mapping[str, Stock | Mapping[str, Any]] | None
    experts: Sequence[Expert | Mapping[str, Any] | str] | None
    lab: Lab | Mapping[str, Any] | None
