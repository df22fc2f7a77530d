package app

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"

	"github.com/campaignd/campaignd/events/definition"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/lab/stocks"
	"github.com/campaignd/campaignd/internal/view"
	"github.com/campaignd/campaignd/internal/web/server/api"
	"github.com/campaignd/campaignd/projections/campaign"
)

// labStock lists the stocks and places of a lab, counts a stock or frees a place: at a server, or in the
// log of a lab in a database or in a folder that nothing serves.
type labStock struct {
	*call
	folder string
	count  engine.Count
	free   string // CAMPAIGN/BATCH
}

// run is the command, whose arguments are [LAB] [STOCK WHAT], or [LAB] PLACE with --free.
func (l *labStock) run(args []string) error {
	where, words := l.store, 2
	if l.free != "" {
		words = 1
	}
	if len(args) > 0 && len(args) != words {
		where, args = args[0], args[1:]
	}
	switch {
	case l.campaign != "":
		return badInput("--lab is about a stock of the lab: leave --campaign out")
	case len(args) != words && (len(args) > 0 || l.free != ""):
		return badInput("give the stock and what there is of it, or --free with the place")
	}
	var answer api.LabStocks
	switch {
	case l.server != "" && where != "":
		return badInput("with --server, --lab is about the lab of that server: leave %s out", where)
	case l.server != "":
		if err := l.remote(args, &answer); err != nil {
			return err
		}
	default:
		if err := l.local(cmp.Or(where, "."), args, &answer); err != nil {
			return err
		}
	}
	return l.present(&answer, func() {
		if len(answer.Stocks)+len(answer.Places) == 0 {
			l.printf("The lab has no stocks: lab.yaml declares none.\n")
		}
		for _, s := range answer.Stocks {
			l.printf("%s\n", s.Words())
		}
		for _, p := range answer.Places {
			l.printf("%s: %s\n", p.Name, p.Words())
		}
	})
}

// counted completes the count by the stock's unit.
func (l *labStock) counted(args []string, unit string) engine.Count {
	n := l.count
	if n.Stock = args[0]; unit == "" {
		n.Labels = args[1]
	} else {
		n.Amount = args[1]
	}
	return n
}

// freed is the word on a place.
func (l *labStock) freed(place string) stocks.Free {
	name, batch, _ := strings.Cut(l.free, "/")
	return stocks.Free{Place: place, Campaign: name, Batch: batch, Reason: l.count.Reason}
}

func (l *labStock) remote(args []string, answer *api.LabStocks) error {
	if err := l.api().Get(l.ctx, "/stocks", answer); err != nil || len(args) == 0 {
		return err
	}
	actor, err := l.actor()
	if err != nil {
		return err
	}
	as := "?as=" + url.QueryEscape(actor)
	if l.free != "" {
		return l.api().Post(l.ctx, "/places"+as, l.freed(args[0]), answer)
	}
	unit := ""
	for _, s := range answer.Stocks {
		if s.Name == args[0] {
			unit = s.Unit
		}
	}
	return l.api().Post(l.ctx, "/stocks"+as, l.counted(args, unit), answer)
}

func (l *labStock) local(where string, args []string, answer *api.LabStocks) (err error) {
	folder, own, err := openLab(where, l.folder, len(args) > 0)
	if err != nil {
		return err
	}
	if own == nil {
		declared, err := lab.DeclaredIn(l.registry, folder)()
		answer.Stocks, answer.Places = view.StockStatuses(full(declared.Stocks)), stocks.NewShelf().Places(declared)
		return err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	s := stocks.New(own, lab.DeclaredIn(l.registry, folder))
	if len(args) > 0 {
		if err := l.say(s, args); err != nil {
			return err
		}
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	answer.Stocks = view.StockStatuses(all)
	answer.Places, err = s.Places()
	return err
}

// say records the word.
func (l *labStock) say(s *stocks.Stocks, args []string) error {
	actor, err := l.actor()
	if err != nil {
		return err
	}
	by := engine.Request{Actor: actor, Account: control.OwnAccount()}
	if l.free != "" {
		return s.Free(l.freed(args[0]), by)
	}
	all, err := s.List()
	if err != nil {
		return err
	}
	unit := ""
	for _, stock := range all {
		if stock.Name == args[0] {
			unit = stock.Unit
		}
	}
	return s.Count(l.counted(args, unit), by)
}

// openLab opens the log of a lab that nothing serves: of a folder, or of the database of an address, whose
// lab.yaml is in folder. A log that there is not is made where something is to be recorded, and else nil.
func openLab(where, folder string, records bool) (_ string, own *lablog.Log, err error) {
	if !store.InDatabase(where) {
		folder = where
		if !records && !lablog.Exists(lablog.Dir(where)) {
			return folder, nil, nil
		}
	} else if database, _, err := store.Split(where); err == nil {
		where = database
	}
	own, err = lablog.Open(lablog.Address(where), lablog.Options{})
	if errors.Is(err, lablog.ErrInUse) {
		err = problem.New(problem.Unavailable, "the lab in %s is served", where).With(problem.Remedy{
			Text: "say it on its page, or name the server: --server URL",
		})
	}
	return filepath.Clean(folder), own, err
}

// full are stocks that nothing was taken from.
func full(declared map[string]definition.Stock) (all []campaign.Stock) {
	for _, name := range slices.Sorted(maps.Keys(declared)) {
		all = append(all, campaign.FullStock(name, declared[name]))
	}
	return all
}
