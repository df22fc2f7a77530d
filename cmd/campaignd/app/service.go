package app

import (
	"cmp"
	"errors"
	"net/url"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/control"
	"github.com/campaignd/campaignd/internal/ground/clock"
	"github.com/campaignd/campaignd/internal/lab"
	"github.com/campaignd/campaignd/internal/lab/devices"
	"github.com/campaignd/campaignd/internal/web/server/api"
)

// serviceCommand is `campaignd service`: it lists the instruments of a lab, or records a person's word
// on one of them, at a server or in the log of a lab in a database or in a folder that nothing serves.
var serviceCommand = command{
	name: "service",
	args: cobra.MaximumNArgs(1),
	new: func(flags *pflag.FlagSet) runner {
		s := new(service)
		flags.BoolVar(&s.word.Out, "out", false, "it is out of service from here on")
		flags.BoolVar(&s.back, "back", false, "it is in service again, or was calibrated")
		flags.StringVar(&s.word.Reason, "reason", "", forTheRecord)
		flags.StringVar(&s.word.CalibratedUntil, "calibrated-until", "",
			"with --back: the last `day` of its calibration, such as 2027-03-01; none if that does not expire")
		flags.StringArrayVar(&s.word.Files, "file", nil, "where a file about it can be fetched, such as a certificate: `URL`; may be repeated")
		flags.StringVar(&s.lab, "lab", "", "the `folder` of the lab, or its database (default: this folder)")
		flags.StringVar(&s.folder, "folder", ".", "with a database: the `folder` of lab.yaml")
		return func(c *call, args []string) error {
			s.call = c
			return s.run(args)
		}
	},
}

// service is a call of the command.
type service struct {
	*call
	word        engine.Serviced
	back        bool
	lab, folder string
}

func (s *service) run(args []string) error {
	says := s.word.Out || s.back
	switch {
	case s.campaign != "":
		return badInput("it is about an instrument of the lab: leave --campaign out")
	case s.server != "" && s.lab != "":
		return badInput("with --server it is about the lab of that server: leave --lab out")
	case s.word.Out && s.back:
		return badInput("--out and --back exclude each other")
	case says && len(args) == 0:
		return badInput("name the instrument, as lab.yaml does; `campaignd service` lists them")
	case !says && (s.word.Reason != "" || s.word.CalibratedUntil != "" || s.word.Files != nil):
		return badInput("say --out or --back with it")
	}
	if len(args) > 0 {
		s.word.Resource = args[0]
	}
	var answer api.LabInstruments
	var err error
	if s.server != "" {
		err = s.remote(says, &answer)
	} else {
		answer.Instruments, err = s.local(says)
	}
	if err != nil {
		return err
	}
	return s.present(&answer, func() {
		if len(answer.Instruments) == 0 {
			s.printf("The lab has no instruments: lab.yaml names none.\n")
		}
		for _, of := range answer.Instruments {
			if s.word.Resource != "" && s.word.Resource != of.Resource {
				continue
			}
			text := of.Words(clock.Now())
			if of.Soon(clock.Now()) {
				text += "; its calibration expires soon"
			}
			s.printf("%s\n", text)
		}
	})
}

func (s *service) remote(says bool, answer *api.LabInstruments) error {
	if !says {
		return s.api().Get(s.ctx, "/instruments", answer)
	}
	actor, err := s.actor()
	if err != nil {
		return err
	}
	return s.api().Post(s.ctx, "/instruments?as="+url.QueryEscape(actor), s.word, answer)
}

func (s *service) local(says bool) (all []engine.Service, err error) {
	folder, own, err := openLab(cmp.Or(s.lab, s.store, "."), s.folder, says)
	if err != nil {
		return nil, err
	}
	if own != nil {
		defer func() { err = errors.Join(err, own.Close()) }()
	}
	names, err := lab.InstrumentsIn(s.registry, folder)
	if own == nil || err != nil {
		return devices.Service{}.List(names), err
	}
	of := devices.NewServices(own)
	if says {
		actor, err := s.actor()
		if err != nil {
			return nil, err
		}
		if err := of.Say(s.word, names, engine.Request{Actor: actor, Account: control.OwnAccount()}); err != nil {
			return nil, err
		}
	}
	return of.List(names)
}
