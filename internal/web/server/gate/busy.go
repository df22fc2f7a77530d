package gate

import (
	"errors"
	"math"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab/accounts"
	"github.com/campaignd/campaignd/internal/web/server/problems"
)

// Bounds limit an account's concurrent requests. Connections are bounded by address ([Bounded]),
// but this machine and a trusted proxy have no such bound: so the requests of one account, or of
// one of its tokens, are bounded wherever they come from, to leave room for others.
type Bounds struct {
	// UnderWay is the maximum number of concurrent requests of an account, including its streams:
	// some wait for minutes, such as suggest.
	UnderWay int
	// Streams is the maximum number of its streams, each an open page or a program that follows,
	// and TokenStreams that of a single token.
	Streams, TokenStreams int
	// AllStreams is the maximum number of streams of all accounts.
	AllStreams int
}

// usualBounds leave room in [maxConnections].
var usualBounds = Bounds{UnderWay: 300, Streams: 250, TokenStreams: 100, AllStreams: 600}

// comeAgain is the delay suggested to a request that found no room.
const comeAgain = 10 * time.Second

// busy counts concurrent requests by owner.
type busy struct {
	mu   sync.Mutex
	open map[string]int
}

// place is a count with its bound, and the message when the bound is reached.
type place struct {
	of   string
	most int
	full string
}

// enter takes a place in each of the counts, or in none. leave gives them back.
func (b *busy) enter(places ...place) (leave func(), err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, p := range places {
		if b.open[p.of] >= p.most {
			return nil, problem.New(problem.TooMany, "%d %s, and no more at a time", p.most,
				p.full).With(problem.Remedy{
				Text: "close pages that show the lab, or end programs that follow it, and try again",
			})
		}
	}
	if b.open == nil {
		b.open = make(map[string]int)
	}
	for _, p := range places {
		b.open[p.of]++
	}
	return func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, p := range places {
			if b.open[p.of]--; b.open[p.of] == 0 {
				delete(b.open, p.of)
			}
		}
	}, nil
}

// ownerOf returns the owner of a request: the account or, for unknown callers, the address.
func ownerOf(who accounts.Identity) string {
	if !who.Known() {
		return "from " + who.From
	}
	return "account " + who.Account + " " + who.Actor()
}

// Room admits a request if there is room for it, and holds its place until it ends.
func (g *Gate) Room(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		who := IdentityOf(r.Context())
		if !who.Known() {
			who.From = g.Address(r)
		}
		owner := ownerOf(who)
		most := g.Bounds
		places := []place{{owner, most.UnderWay, "requests of yours are under way"}}
		if streams(r) {
			places = append(places,
				place{"streams of " + owner, most.Streams, "streams of yours are open"},
				place{"streams", most.AllStreams, "streams are open here"},
			)
			if who.Method == accounts.ByToken {
				places = append(places, place{"streams of token " + who.Credential,
					most.TokenStreams, "streams of this token are open"})
			}
		}
		leave, err := g.busy.enter(places...)
		if err != nil {
			RetryAfter(w, err)
			problems.Write(w, problems.Of(err))
			return
		}
		defer leave()
		next.ServeHTTP(w, r)
	})
}

// streams reports whether the answer to a request is a continuing stream: of a page, of the API's
// events, or of the protocol of a store.
func streams(r *http.Request) bool {
	return strings.Contains(r.Header.Get("Accept"), "text/event-stream") || r.URL.Path == "/live" ||
		r.URL.Query().Get("follow") != ""
}

// RetryAfter tells a caller that was refused for coming too soon or too often when to come again.
func RetryAfter(w http.ResponseWriter, err error) {
	if problem.CodeOf(err) != problem.TooMany {
		return
	}
	wait := comeAgain
	var soon *accounts.TooSoonError
	if errors.As(err, &soon) {
		wait = soon.Wait
	}
	w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(wait.Seconds()))))
}
