package lab

import (
	"maps"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/engine/drive"
	"github.com/campaignd/campaignd/internal/files/campaignfile"
	"github.com/campaignd/campaignd/internal/files/labfile"
	"github.com/campaignd/campaignd/internal/files/registry"
	"github.com/campaignd/campaignd/internal/lab/devices"
)

// InstrumentsIn returns the names of the instruments in a folder's lab file, in order.
func InstrumentsIn(reg registry.Registry, folder string) ([]string, error) {
	file, err := labfile.ReadFolder(reg, folder)
	if file == nil {
		return nil, err
	}
	return slices.Sorted(maps.Keys(file.Instruments)), nil
}

// Services returns the service of the lab's instruments, in the order of their names.
func (l *Lab) Services() ([]engine.Service, error) {
	names, err := InstrumentsIn(l.options.Registry, l.options.Folder)
	if err != nil {
		return nil, err
	}
	return l.services.List(names)
}

// Serve records a person's word on an instrument of the lab.
func (l *Lab) Serve(word engine.Serviced, by engine.Request) error {
	names, err := InstrumentsIn(l.options.Registry, l.options.Folder)
	if err != nil {
		return err
	}
	err = l.services.Say(word, names, by)
	l.announce()
	return err
}

// services knows the service of the instruments of a campaign.
type services struct {
	of     *devices.Services
	source string
	names  map[string]string // those of the lab, by the campaign's, in source
}

// Serviced implements [drive.Services]. The loop of the campaign alone calls it.
func (s *services) Serviced(source string, fresh bool) (map[string]engine.Service, <-chan struct{}) {
	if s.names == nil || s.source != source {
		s.source, s.names = source, campaignfile.LabInstruments(source)
	}
	if len(s.names) == 0 {
		return nil, nil
	}
	return s.of.Of(s.names, fresh)
}

// servicesOf returns the service of the instruments of a campaign that is about to be run; nil where no
// lab's log is held.
func (h *Local) servicesOf() drive.Services {
	if h.options.Services != nil {
		return &services{of: h.options.Services}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	own := h.devices // opened by queue
	if own == nil {
		return nil
	}
	if own.services == nil {
		own.services = devices.NewServices(own.log)
		own.follow(events.ServiceStream, own.services.Hear)
	}
	return &services{of: own.services}
}
