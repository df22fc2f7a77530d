package app

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"path/filepath"
	"slices"

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

// labStock lists the stocks of a lab, or counts one of them: at a server, or in the log of a lab in a
// database or in a folder that nothing serves.
type labStock struct {
	*call
	folder string
	count  engine.Count
}

// run is the command, whose arguments are [LAB] [STOCK WHAT].
func (l *labStock) run(args []string) error {
	where := l.store
	if len(args)%2 == 1 {
		where, args = args[0], args[1:]
	}
	if l.campaign != "" {
		return badInput("--lab is about a stock of the lab: leave --campaign out")
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
		all, err := l.local(cmp.Or(where, "."), args)
		if err != nil {
			return err
		}
		answer.Stocks = view.StockStatuses(all)
	}
	return l.present(&answer, func() {
		if len(answer.Stocks) == 0 {
			l.printf("The lab has no stocks: lab.yaml declares none.\n")
		}
		for _, s := range answer.Stocks {
			l.printf("%s\n", s.Words())
		}
	})
}

// said completes the count by the stock's unit.
func (l *labStock) said(args []string, unit string) engine.Count {
	n := l.count
	if n.Stock = args[0]; unit == "" {
		n.Labels = args[1]
	} else {
		n.Amount = args[1]
	}
	return n
}

func (l *labStock) remote(args []string, answer *api.LabStocks) error {
	if err := l.api().Get(l.ctx, "/stocks", answer); err != nil || len(args) == 0 {
		return err
	}
	actor, err := l.actor()
	if err != nil {
		return err
	}
	unit := ""
	for _, s := range answer.Stocks {
		if s.Name == args[0] {
			unit = s.Unit
		}
	}
	return l.api().Post(l.ctx, "/stocks?as="+url.QueryEscape(actor), l.said(args, unit), answer)
}

func (l *labStock) local(where string, args []string) (all []campaign.Stock, err error) {
	folder, own, err := openLab(where, l.folder, len(args) > 0)
	if err != nil {
		return nil, err
	}
	if own == nil {
		declared, err := lab.DeclaredIn(l.registry, folder)()
		return full(declared), err
	}
	defer func() { err = errors.Join(err, own.Close()) }()
	s := stocks.New(own, lab.DeclaredIn(l.registry, folder))
	if all, err = s.List(); err != nil || len(args) == 0 {
		return all, err
	}
	unit := ""
	for _, stock := range all {
		if stock.Name == args[0] {
			unit = stock.Unit
		}
	}
	actor, err := l.actor()
	if err != nil {
		return nil, err
	}
	if err := s.Count(l.said(args, unit), engine.Request{Actor: actor, Account: control.OwnAccount()}); err != nil {
		return nil, err
	}
	return s.List()
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
