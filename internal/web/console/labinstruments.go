package console

import (
	"cmp"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/view"
)

// labInstrumentsPage shows the instruments of the lab.
type labInstrumentsPage struct {
	*shell
	Instruments []labInstrument
	Chosen      string          // the one that the form is about
	Said        engine.Serviced // as it was typed
	CanSay      bool
}

// labInstrument is an instrument of the lab, in words.
type labInstrument struct {
	engine.Service
	Text           string
	Withheld, Soon bool
}

// labInstruments are the instruments of the lab as of now.
func (v *visit) labInstruments() (all []labInstrument, err error) {
	services, err := v.lab.Services()
	now := clock.Now()
	for _, s := range services {
		all = append(all, labInstrument{s, view.Stop(s.Words(now)), s.Withheld(now) != "", s.Soon(now)})
	}
	return all, err
}

// showLabInstruments lists the instruments of the lab, with the form for a word on one of them.
func showLabInstruments(v *visit) error {
	p := labInstrumentsPage{shell: v.shell("Instruments of the lab"), Said: saidOf(v)}
	p.Chosen = cmp.Or(p.Said.Resource, v.r.URL.Query().Get("resource")) // typed, or from the link of a campaign
	p.Watch = "*"
	if err := p.Visitor.may(See, ""); err != nil {
		return err
	}
	p.CanSay = p.Visitor.may(Run, "") == nil
	var err error
	if p.Instruments, err = v.labInstruments(); err != nil {
		return err
	}
	for _, s := range p.Instruments {
		if p.Chosen == "" && (s.Withheld || s.Soon) {
			p.Chosen = s.Resource
		}
	}
	return v.write(drawInstruments(p))
}

// saidOf reads the form.
func saidOf(v *visit) engine.Serviced {
	said := engine.Serviced{
		Resource: text(v.r, "resource"), Out: text(v.r, "state") == "out", Reason: text(v.r, "reason"),
		CalibratedUntil: text(v.r, "until"),
	}
	if file := text(v.r, "file"); file != "" {
		said.Files = []string{file}
	}
	return said
}

// sayLabInstrument records a person's word on an instrument of the lab.
func sayLabInstrument(v *visit) error {
	if err := v.mayInLab(Run); err != nil {
		return err
	}
	if err := v.r.ParseForm(); err != nil {
		return problem.New(problem.Invalid, "the form cannot be read: %w", err)
	}
	if v.refusal = v.lab.Serve(saidOf(v), requested(v.r, engine.Request{})); v.refusal != nil {
		return showLabInstruments(v)
	}
	return v.redirect("/instruments", "serviced")
}

// unserviced are the instruments of the lab that are withheld or soon will be, in words. Their own page says
// why they cannot be read.
func (v *visit) unserviced() (texts []string, instruments bool) {
	all, err := v.labInstruments()
	for _, s := range all {
		if s.Withheld || s.Soon {
			texts = append(texts, s.Text)
		}
	}
	return texts, err != nil || len(all) > 0
}
