package app

import (
	"context"
	"io"
	"net/url"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/filestore"
	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/input"
	"github.com/campaignd/campaignd/projections/campaign"
)

// attachedFile is the description of a file on the command line.
type attachedFile struct {
	location string // a path here, or a URI
	events.Attachment
}

// add adds the flags for the description of the file.
func (f *attachedFile) add(flags *pflag.FlagSet) {
	flags.StringVar(&f.Name, "name", "", "what to call it (default: the end of its path or URI)")
	flags.StringVar(&f.MediaType, "media-type", "", "its media type, such as `text/csv` (default: by the ending of its name)")
	flags.StringVar(&f.Quantity, "quantity", "", "the `quantity` that it belongs to, as in viscosity")
	flags.StringVar(&f.Comment, "comment", "", "what to say of it")
	flags.StringVar(&f.Digest, "digest", "", "of a file that stays elsewhere: the hash of its bytes, as in `sha256:9f86…`")
	flags.Int64Var(&f.Size, "size", 0, "of a file that stays elsewhere: how many `bytes` it has")
}

// attachCommand is `campaignd attach`.
var attachCommand = command{
	name: "attach",
	args: cobra.RangeArgs(1, 3),
	new: func(flags *pflag.FlagSet) runner {
		var f attachedFile
		f.add(flags)
		return func(c *call, args []string) error {
			f.location, args = args[len(args)-1], args[:len(args)-1]
			args, experiment, err := lastExperiment(c, args)
			if err != nil {
				return err
			}
			if err := f.complete(); err != nil {
				return err
			}
			if err := f.readable(); err != nil {
				return err
			}
			t, err := c.optionalTarget(args)
			if err != nil {
				return err
			}
			return c.recordAll(c.ctx, t, f.step(c.ctx, &experiment))
		}
	},
}

// lastExperiment takes the experiment, if any, from the end of arguments that begin with an
// optional target.
func lastExperiment(c *call, args []string) (rest []string, experiment string, err error) {
	if n := len(args); n > 0 && events.ExperimentNumber(args[n-1]) > 0 {
		experiment, args = args[n-1], args[:n-1]
	}
	if len(args) > 1 {
		err = badInput("%q is not an experiment (e7); usage: %s", args[1], c.cmd.UseLine())
	}
	return args, experiment, err
}

// complete fills in the parts of the description that were not typed, and refuses contradictions.
func (f *attachedFile) complete() error {
	if isURI(f.location) {
		f.URI = f.location
	} else if f.Digest != "" || f.Size != 0 {
		return badInput("%s is kept: its digest and size are those of its bytes", f.location)
	}
	if f.Name == "" {
		f.Name = events.FileName(f.location)
	}
	if f.MediaType == "" {
		f.MediaType = events.MediaTypeOf(f.Name)
	}
	return nil
}

// isURI reports whether a location is a URI and no path: a drive of Windows has
// one letter.
func isURI(location string) bool {
	u, err := url.Parse(location)
	return err == nil && len(u.Scheme) > 1 && (u.Host != "" || strings.HasPrefix(location, u.Scheme+":/") || u.Opaque != "")
}

// open opens a file that is to be kept.
func (f *attachedFile) open() (io.ReadCloser, error) {
	content, err := input.Open(f.location, filestore.MaxSize)
	if err != nil {
		return nil, inputError{err}
	}
	return content, nil
}

// readable refuses a file that cannot be kept, before a store is opened.
func (f *attachedFile) readable() error {
	if !f.Kept() {
		return nil
	}
	content, err := f.open()
	if err != nil {
		return err
	}
	return content.Close()
}

// step is the request that attaches the file to an experiment, which is known
// when the request is built.
func (f attachedFile) step(ctx context.Context, experiment *string) step {
	build := func(s *session) (engine.Request, error) {
		if *experiment != "" {
			core, err := s.core(ctx)
			if err == nil {
				err = known(core.State(), *experiment)
			}
			if err != nil {
				return engine.Request{}, err
			}
		}
		return engine.Request{Attach: &engine.Attach{Experiment: *experiment, Attachment: f.Attachment}}, nil
	}
	if !f.Kept() {
		return step{build: build}
	}
	send := func(ctx context.Context, s *session, r engine.Request) ([]events.Event, error) {
		content, err := f.open()
		if err != nil {
			return nil, err
		}
		defer content.Close()
		return s.Attach(ctx, s.name, r, content)
	}
	return step{build, send}
}

// withdrawCommand is `campaignd withdraw`.
var withdrawCommand = command{
	name: "withdraw",
	args: cobra.RangeArgs(1, 2),
	new: func(flags *pflag.FlagSet) runner {
		var r engine.Withdraw
		flags.StringVar(&r.Reason, "reason", "", "why; it is required")
		return askingOf(1, func(s *campaign.State, args []string) (engine.Request, error) {
			r.File = args[0]
			return engine.Request{Withdraw: &r}, knownFile(s, r.File)
		})
	},
}

// knownFile refuses the identifier of a file that does not exist.
func knownFile(s *campaign.State, id string) error {
	if s.File(id) == nil {
		return badInput("there is no file %s; %s", id, upTo('f', len(s.Files)))
	}
	return nil
}

// filesAt returns the files at paths or URIs. What cannot be kept is found
// before anything is recorded.
func filesAt(locations []string) ([]attachedFile, error) {
	var files []attachedFile
	for _, location := range locations {
		f := attachedFile{location: location}
		if err := f.complete(); err != nil {
			return nil, err
		}
		if err := f.readable(); err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}
