//go:build unix

package lablog_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/campaignd/campaignd/events"
	"github.com/campaignd/campaignd/events/store"
	"github.com/campaignd/campaignd/internal/lab/lablog"
	"github.com/campaignd/campaignd/internal/tests/must"
	"github.com/campaignd/campaignd/internal/tests/pgtest"
)

// Law: the log of a lab in a database begins once, though several processes open it at the
// same time, is open in all of them, and needs no file. What one appends another reads, and
// who decides without that is refused.
func TestOpenShared(t *testing.T) {
	database := pgtest.URL(t)
	t.Chdir(t.TempDir())
	logs := make([]*lablog.Log, 4)
	var opening sync.WaitGroup
	for i := range logs {
		opening.Go(func() {
			// An address of its own is a process to the others.
			address := lablog.Address(fmt.Sprintf("%s&application_name=p%d", database, i))
			l, err := lablog.Open(address, lablog.Options{})
			if err != nil {
				t.Error(err)
				return
			}
			logs[i] = l
			t.Cleanup(func() { _ = l.Close() })
		})
	}
	if opening.Wait(); t.Failed() {
		t.FailNow()
	}
	for _, l := range logs {
		if !l.Shared() {
			t.Error("a log in a database is not shared")
		}
		if got := kindsOf(t, storeOf(t, l)); len(got) != 1 || got[0] != events.KindLabBegun {
			t.Errorf("the log holds %v", got)
		}
	}
	filed, err := events.Lab.New(events.FilingStream, events.KindCampaignFiled, &events.CampaignFiled{Campaign: "a"})
	if err != nil {
		t.Fatal(err)
	}
	filed.Actor = "person:ada"
	must.Get(storeOf(t, logs[0]).Append(t.Context(), events.FilingStream, 0, filed))(t)
	if got := kindsOf(t, storeOf(t, logs[1])); len(got) != 2 {
		t.Errorf("another process reads %v", got)
	}
	var late *events.ConflictError
	if _, err := storeOf(t, logs[2]).Append(t.Context(), events.FilingStream, 0, filed); !errors.As(err, &late) {
		t.Errorf("a process that has not read it: %v", err)
	}
	if files, err := os.ReadDir("."); err != nil || len(files) > 0 {
		t.Errorf("files were made: %v, %v", files, err)
	}
}

// Law: a process that finds a log empty, which another one begins before it does, goes on with that.
func TestBegunElsewhere(t *testing.T) {
	address := lablog.Address(pgtest.URL(t))
	l, err := lablog.Open(address+"&application_name=late", lablog.Options{Open: func(address string) (events.Store, error) {
		log, err := store.Open(address, store.Options{Shared: true})
		if err != nil {
			return nil, err
		}
		first, err := lablog.Open(strings.TrimSuffix(address, "&application_name=late"), lablog.Options{})
		if err != nil {
			return nil, errors.Join(err, log.Close())
		}
		return log, first.Close()
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got := kindsOf(t, storeOf(t, l)); len(got) != 1 {
		t.Errorf("the log holds %v", got)
	}
}

// Law: the log of a lab is known from the stores of campaigns by its address.
func TestAddress(t *testing.T) {
	for address, is := range map[string]bool{
		lablog.Address("postgres://ada@db/lab"):                 true,
		lablog.Address("postgres://ada@db/lab?sslmode=disable"): true,
		"postgres://ada@db/lab/lfp":                             false,
		"postgres://ada@db/lab":                                 false,
		lablog.Address(t.TempDir()):                             false, // it is not there
	} {
		if lablog.Is(address) != is {
			t.Errorf("%s is a lab's log: %v", address, !is)
		}
	}
}
