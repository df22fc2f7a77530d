package diagnose

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/policies"
	"github.com/campaignd/campaignd/projections/campaign"
	"github.com/campaignd/campaignd/projections/objective"
)

// Expert compares what an expert said with what was measured.
type Expert struct {
	Name string `json:"name"`
	// Accepted, Rejected and Unsure count the answers.
	Accepted int `json:"accepted"`
	Rejected int `json:"rejected"`
	Unsure   int `json:"unsure"`
	// Labels is how far the labels agree with the measurements; nil without a
	// model, or without an accepted and a rejected composition.
	Labels *Agreement `json:"labels"`
	// Measured compares the labels with measurements of the very composition.
	Measured Measured `json:"measured"`
	// Reading says it in words.
	Reading string `json:"reading"`
}

// Agreement is the probability that, of two compositions the expert told
// apart, the one the expert likes better is the better one. Half is guessing.
//
// For labels the two are an accepted and a rejected composition, and the share
// is the area under the curve of receiver operating characteristic (Hanley and
// McNeil 1982, Radiology 143:29), ties counting half. Most of these
// compositions are never measured, so the objective there is what the model says: the
// share is averaged over functions drawn from the posterior, and their scatter
// widens the interval. Where nothing was measured nearby the draws disagree,
// and the label counts for little.
type Agreement struct {
	// Pairs is how many pairs there are.
	Pairs int     `json:"pairs"`
	Share float64 `json:"share"`
	// Lower and Upper bound the share with 95 % confidence: all values that the
	// labels do not contradict, with the variance of Hanley and McNeil at that
	// value (Newcombe 2006, Stat. Med. 25:559, method 4) and the scatter of the draws.
	Lower float64 `json:"lower"`
	Upper float64 `json:"upper"`
}

// Measured counts labelled compositions that were measured. It speaks of the
// few compositions that were run, mostly because the model liked them:
// [Agreement] is the fairer measure.
type Measured struct {
	// Accepted were accepted and measured, AcceptedGood of them came out better
	// than half of all measurements; likewise Rejected and RejectedBad.
	Accepted     int `json:"accepted"`
	AcceptedGood int `json:"accepted_good"`
	Rejected     int `json:"rejected"`
	RejectedBad  int `json:"rejected_bad"`
}

// Readings of an expert.
const (
	ReadingNoModel  = "cannot be judged before there is a model"
	ReadingOneKind  = "cannot be judged before there is an accepted and a rejected composition"
	ReadingNoJudge  = "cannot be judged by a model that cannot be used"
	ReadingUnclear  = "cannot be told from guessing yet"
	ReadingAgrees   = "better than guessing"
	ReadingDisagree = "worse than guessing"
)

// Experts compares the labels of each expert of the definition with what was
// measured. It is a function of the view alone.
func Experts(v policies.View) []Expert {
	var out []Expert
	for _, e := range v.Campaign.Definition.Experts {
		out = append(out, expertOf(v, e.Name))
	}
	return out
}

func expertOf(v policies.View, name string) Expert {
	x := Expert{Name: name}
	var accepted, rejected [][]float64
	better := betterHalf(v)
	for i := range v.Campaign.Questions {
		q := &v.Campaign.Questions[i]
		if q.Expert != name || q.Status != campaign.Answered {
			continue
		}
		at, err := v.Space.Encode(q.Parameters)
		if err != nil {
			continue // an amendment has taken a parameter's value away
		}
		key, _ := v.Space.Key(q.Parameters)
		good, measured := better[key]
		switch q.Answer {
		case events.AnswerAccept:
			x.Accepted++
			accepted = append(accepted, at)
			if measured {
				x.Measured.Accepted++
				if good {
					x.Measured.AcceptedGood++
				}
			}
		case events.AnswerReject:
			x.Rejected++
			rejected = append(rejected, at)
			if measured {
				x.Measured.Rejected++
				if !good {
					x.Measured.RejectedBad++
				}
			}
		case events.AnswerUnsure:
			x.Unsure++
		}
	}
	switch {
	case v.Objective == nil:
		x.Reading = ReadingNoModel
		return x
	case len(accepted) == 0 || len(rejected) == 0:
		x.Reading = ReadingOneKind
		return x
	}
	x.Labels = agreementOfLabels(v.Objective, accepted, rejected)
	x.Reading = x.Labels.reading()
	return x
}

// betterHalf tells, for each composition that was asked for and measured,
// whether its mean is better than the median of all measurements.
func betterHalf(v policies.View) map[string]bool {
	sum, count := make(map[string]float64), make(map[string]float64) // only looked up
	var values []float64
	var keys []string
	for i := range v.Campaign.Experiments {
		x := &v.Campaign.Experiments[i]
		if x.Measurement == nil || x.Excluded {
			continue
		}
		key, err := v.Space.Key(x.Parameters)
		if err != nil {
			continue
		}
		y := x.Measurement.Objective.Value
		sum[key], count[key] = sum[key]+y, count[key]+1
		values, keys = append(values, y), append(keys, key)
	}
	slices.Sort(values)
	better := make(map[string]bool, len(keys))
	for _, key := range keys {
		mean, median := sum[key]/count[key], (values[(len(values)-1)/2]+values[len(values)/2])/2
		better[key] = mean > median == (v.Campaign.Definition.Objective.Goal == events.Maximize) && mean != median
	}
	return better
}

// draws is how many functions are drawn from the posterior.
const draws = 256

// agreementOfLabels is the probability that an accepted composition is better
// than a rejected one.
func agreementOfLabels(m *objective.Model, accepted, rejected [][]float64) *Agreement {
	joint := m.GP().Joint(slices.Concat(accepted, rejected))
	rng := rand.New(rand.NewPCG(0x64696167, 0x6e6f7365)) // always the same draws: equal logs, equal diagnoses
	f := make([]float64, len(joint.Mean))
	na := len(accepted)
	mean, squares := 0.0, 0.0
	for k := range draws {
		if joint.Sample(f, rng) != nil {
			copy(f, joint.Mean) // numerically one point: the mean has to do
		}
		share := shareBelow(f[:na], f[na:]) // inside, smaller is better
		step := share - mean
		mean += step / float64(k+1)
		squares += step * (share - mean)
	}
	return newAgreement(mean, squares/(draws-1), na, len(rejected))
}

// shareBelow is the share of pairs with a below b, ties counting half.
func shareBelow(a, b []float64) float64 {
	sorted := slices.Sorted(slices.Values(b))
	count := 0.0
	for _, v := range a {
		from, _ := slices.BinarySearch(sorted, v)
		to := from
		for to < len(sorted) && sorted[to] == v {
			to++
		}
		count += float64(len(sorted)-to) + float64(to-from)/2
	}
	return count / float64(len(a)*len(b))
}

// newAgreement returns the agreement of a share with the given variance of the
// model, over m times n pairs.
func newAgreement(share, variance float64, m, n int) *Agreement {
	a := &Agreement{Pairs: m * n, Share: share}
	contradicted := func(theta float64) bool {
		return math.Abs(share-theta) > 1.959963984540054*math.Sqrt(hanleyMcNeil(theta, m, n)+variance)
	}
	bound := func(outside float64) float64 {
		inside := share
		if !contradicted(outside) {
			return outside
		}
		for range 60 {
			if middle := (inside + outside) / 2; contradicted(middle) {
				outside = middle
			} else {
				inside = middle
			}
		}
		return inside
	}
	a.Lower, a.Upper = bound(0), bound(1)
	return a
}

// hanleyMcNeil is the variance of the area under the curve where its true value
// is theta, for m and n values of the two kinds (Hanley and McNeil 1982, Eq. 2).
func hanleyMcNeil(theta float64, m, n int) float64 {
	q1, q2 := theta/(2-theta), 2*theta*theta/(1+theta)
	return (theta*(1-theta) + float64(m-1)*(q1-theta*theta) + float64(n-1)*(q2-theta*theta)) / float64(m*n)
}

// reading says what an agreement means.
func (a *Agreement) reading() string {
	switch {
	case a.Lower > 0.5:
		return ReadingAgrees
	case a.Upper < 0.5:
		return ReadingDisagree
	}
	return ReadingUnclear
}
