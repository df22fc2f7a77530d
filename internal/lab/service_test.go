package lab_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/campaignd/campaignd/adapters/instruments"
	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/equip"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: while an instrument of the lab is out of service no campaign of the lab hands it a command, one at another
// instrument goes on, and those that wait say who took it out and what helps; they go on by themselves with a
// person's word: in a folder, and between processes that share a database. A calibration that expires ends it too.
func TestServiced(t *testing.T) {
	for _, place := range []string{"folder", "database"} {
		t.Run(place, func(t *testing.T) {
			t.Parallel()
			r := new(rack)
			o := lab.Options{Folder: t.TempDir(), Registry: tipping(r), Log: t.Logf}
			if place == "database" {
				o.Database = pgtest.URL(t)
			}
			text := "instruments: {robot: {tipper: {}, capacity: 2}, other: {tipper: {}}}\n"
			must.Do(t, os.WriteFile(filepath.Join(o.Folder, "lab.yaml"), []byte(text), 0o600))
			l := must.Get(lab.Open(t.Context(), o))(t)
			t.Cleanup(l.Close)
			saying := l // the process that hears of the word
			if o.Database != "" {
				o.Watches = true
				saying = must.Get(lab.Open(t.Context(), o))(t)
				t.Cleanup(saying.Close)
			}
			ada := engine.Request{Actor: "person:ada"}
			must.Do(t, saying.Serve(engine.Serviced{Resource: "robot", Out: true, Reason: "lamp exchanged"}, ada))
			at := func(name, instrument string) *lab.Campaign {
				return define(t, l, strings.Replace(pumping(name, 2), "{pump: {}}", "{lab: "+instrument+"}", 1))
			}
			both := []*lab.Campaign{at("first", "robot"), at("second", "robot")}
			third := at("third", "other")
			const since = "a person: robot is out of service since "
			eventually(t, "both wait for the robot, and the third has ended", func() bool {
				return strings.HasPrefix(both[0].Standing().WaitingFor, since) && third.Standing().Status == "completed" &&
					strings.HasSuffix(both[1].Standing().WaitingFor, ": lamp exchanged (person:ada)")
			})
			s := both[0].Standing()
			if s.Run.Remedies == nil || s.Run.Remedies[0].Action != problem.Service ||
				s.Run.Remedies[0].Subject != "robot" {
				t.Errorf("it is %+v, and what helps is %v", s.Summary, s.Run.Remedies)
			}
			soon := time.Now().Add(2 * time.Second)
			must.Do(t, saying.Serve(engine.Serviced{Resource: "robot", CalibratedUntil: soon.Format(time.RFC3339Nano)}, ada.Identified("k")))
			eventually(t, "both have ended", func() bool {
				return both[0].Standing().Status == "completed" && both[1].Standing().Status == "completed"
			})
			time.Sleep(time.Until(soon))
			late := at("late", "robot")
			eventually(t, "the calibration has expired", func() bool {
				return strings.HasPrefix(late.Standing().WaitingFor, "a person: the calibration of robot expired on ")
			})
			all := must.Get(l.Services())(t)
			if len(all) != 2 || all[0].Resource != "other" || all[1].By != "person:ada" || all[1].Withheld(time.Now()) == "" {
				t.Errorf("they are %+v", all)
			}
			if err := l.Serve(engine.Serviced{Resource: "rob"}, ada); problem.CodeOf(err) != problem.NotFound {
				t.Errorf("an instrument that is not there: %v", err)
			}
		})
	}
}

// Law: a program that runs one store of a lab in a database hears of what is said at a server there.
func TestServicedOneStore(t *testing.T) {
	r := new(rack)
	o := lab.Options{Folder: t.TempDir(), Database: pgtest.URL(t), Registry: tipping(r), Log: t.Logf, Watches: true}
	must.Do(t, os.WriteFile(filepath.Join(o.Folder, "lab.yaml"), []byte("instruments: {robot: {tipper: {}}}\n"), 0o600))
	l := must.Get(lab.Open(t.Context(), o))(t)
	t.Cleanup(l.Close)
	ada := engine.Request{Actor: "person:ada"}
	must.Do(t, l.Serve(engine.Serviced{Resource: "robot", Out: true}, ada))
	text := strings.Replace(pumping("one", 2), "{pump: {}}", "{lab: robot}\nlab: {instruments: {robot: {tipper: {}}}}", 1)
	file := must.Get(campaignfile.Parse(o.Registry, "one.yaml", []byte(text)))(t)
	h := must.Get(lab.OpenLocal(t.Context(), store.In(o.Database, "one"), lab.LocalOptions{Registry: o.Registry}))(t)
	t.Cleanup(func() { _ = h.Close() })
	must.Do(t, h.Define(t.Context(), events.CampaignDefined{Definition: file.Definition, Source: file.Source}, ada))
	equipment := must.Get(equip.Open(t.Context(), o.Registry, file.Definition, instruments.Environment{Folder: o.Folder}))(t)
	t.Cleanup(func() { _ = equipment.Close() })
	waits := make(chan string, 100)
	run := must.Get(h.Start(t.Context(), "one", equipment, lab.Hooks{Observe: func(_ *engine.Core, wait engine.Wait) {
		waits <- wait.For
	}}))(t)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	over := make(chan error, 1)
	go func() { over <- run.Run(ctx) }()
	for wait := range waits {
		if strings.HasPrefix(wait, "a person: robot is out of service since ") {
			break
		}
	}
	must.Do(t, l.Serve(engine.Serviced{Resource: "robot"}, ada))
	must.Do(t, <-over)
}
