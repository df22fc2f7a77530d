package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/memlog"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/ground/format"
	"github.com/campaignd/campaignd/internal/ground/lock"
	"github.com/campaignd/campaignd/internal/lab/lablog"
)

// Folder holds the observed facts about a lab in a folder.
type Folder struct {
	Services
	Path string
	Mode fs.FileMode
	// Free is the free space on its disk in bytes; FreeErr is the reason if it is unknown.
	Free    uint64
	FreeErr error
	// Stores are those of the folder, including the lab's log, each with the reason why it cannot
	// be read, or nil.
	Stores map[string]error
	// Stocks are those of the lab and of its campaigns, as far as the stores can be read.
	Stocks []Stock
	// Locks is the folder of this machine's locks of devices, and Hidden why other programs of the
	// machine may not see it.
	Locks, Hidden string
	// Served is the note of the process that serves the folder; empty without one.
	Served string
}

// LookAtFolder gathers the facts about a folder, whose lab file gives the services. The error is
// for a folder that cannot be read.
func LookAtFolder(path string, services Services) (*Folder, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	f := &Folder{Services: services, Path: path, Mode: info.Mode().Perm(), Stores: make(map[string]error)}
	f.Free, f.FreeErr = freeSpace(path)
	f.Locks, f.Hidden = lock.Look()
	stores, err := filepath.Glob(filepath.Join(path, "*"+store.Ending))
	if err != nil {
		return nil, err
	}
	own := lablog.Dir(path)
	if lablog.Exists(own) {
		stores = append(stores, own)
	} else {
		f.Stocks, _ = stocksOfLab(memlog.New(), services.Shared) // nothing was taken from them
	}
	for _, at := range stores {
		log, err := store.Open(at, store.Options{ReadOnly: true})
		if err == nil {
			var found []Stock
			if at == own {
				found, err = stocksOfLab(log, services.Shared)
			} else {
				found, err = stocksOfCampaigns(log)
			}
			f.Stocks = append(f.Stocks, found...)
			err = errors.Join(err, log.Close())
		}
		f.Stores[at] = err
	}
	text, err := os.ReadFile(filepath.Join(filepath.Dir(lablog.Dir(path)), "serving.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f.Served = string(text)
	return f, nil
}

// Findings returns the judgments on the facts.
func (f *Folder) Findings() []Finding {
	return slices.Concat(judge(storeRules, f), judge(serviceRules, f.Services), judge(folderRules, f))
}

// leastSpace is the usual growth of a folder of many campaigns in some months.
const leastSpace = 1 << 30

var storeRules = []rule[*Folder]{
	{"stores", func(f *Folder) Finding {
		for at, err := range f.Stores {
			switch {
			case errors.Is(err, events.ErrNewerFormat), errors.Is(err, events.ErrEarlierFormat):
				return unsafe(fmt.Sprintf("%s: %v", at, err), "use the campaignd that wrote it, or a newer one")
			case err != nil:
				return unsafe(fmt.Sprintf("%s cannot be read: %v", at, err), "`campaignd audit` says more; restore it from a copy")
			}
		}
		return safe(format.Count(len(f.Stores), "store") + " that can be opened; what is in them an audit checks")
	}},
}

var folderRules = []rule[*Folder]{
	{"stocks", func(f *Folder) Finding { return judgeStocks(f.Stocks, f.Services) }},
	{"permissions", func(f *Folder) Finding {
		switch {
		case f.Mode&0o022 != 0:
			return unsafe(fmt.Sprintf("%s has the mode %#o: others may write there, and so do what the server's user can", f.Path, f.Mode),
				"chmod go-w "+f.Path)
		case f.Mode&0o005 != 0:
			return unsafe(fmt.Sprintf("%s has the mode %#o: all users of the machine may read there", f.Path, f.Mode), "chmod o-rx "+f.Path)
		}
		return safe(fmt.Sprintf("the folder has the mode %#o", f.Mode))
	}},
	{"free space", func(f *Folder) Finding {
		switch {
		case f.FreeErr != nil:
			return unknown("how much room the disk has is not known: "+f.FreeErr.Error(), "look at it")
		case f.Free < leastSpace:
			return unsafe("the disk has "+bytes(int64(f.Free))+" left", "make room")
		}
		return safe("the disk has " + bytes(int64(f.Free)) + " left")
	}},
	{"locks of devices", func(f *Folder) Finding {
		if f.Hidden != "" {
			return unsafe(fmt.Sprintf("they are in %s, which other programs of this machine may not see: %s; no real device is "+
				"driven from here", f.Locks, f.Hidden), lock.Remedy())
		}
		return safe("they are in " + f.Locks + ", which the programs of this machine share, as far as is seen")
	}},
	{"server", func(f *Folder) Finding {
		if f.Served != "" {
			return safe("a process has noted that it serves the folder: " + f.Served)
		}
		return safe("no process has noted that it serves the folder")
	}},
	{"loss of the machine", func(*Folder) Finding {
		return unknown("what is acknowledged is on this machine's disk alone; whether there are copies elsewhere is not seen",
			"copy the folder regularly, or keep the lab in a database with standbys: campaignd docs machines")
	}},
}
