package store_test

import (
	"strings"
	"testing"

	"github.com/campaignd/campaignd/events/store"
)

// Law: the address of a store in a database is that of the database and a name,
// and both come back from it, also with several servers and parameters.
func TestAddresses(t *testing.T) {
	for _, database := range []string{
		"postgres://ada@db.example.org/lab",
		"postgresql://ada@db1:5432,db2:5433/lab?target_session_attrs=read-write&single=yes",
		"postgres:///lab?host=/var/run/postgresql",
	} {
		for _, name := range []string{"electrolyte", ".campaignd", "a b/c?d#e", "flüssig"} {
			address := store.In(database, name)
			gotDatabase, gotName, err := store.Split(address)
			if err != nil || gotDatabase != database || gotName != name {
				t.Errorf("%s is split to %q and %q, %v", address, gotDatabase, gotName, err)
			}
			if store.Name(address) != name || !store.InDatabase(address) {
				t.Errorf("%s is not known as the store %s of a database", address, name)
			}
		}
		if got, name, err := store.Split(database); err != nil || got != database || name != "" {
			t.Errorf("%s is split to %q and %q, %v", database, got, name, err)
		}
	}
	if _, _, err := store.Split("postgres://ada@db.example.org"); err == nil {
		t.Error("an address without a database is taken")
	}
	if got := store.Name("lab/electrolyte.campaign/"); got != "electrolyte" {
		t.Errorf("a folder's store is called %q", got)
	}
}

// Law: no address with a password is used or shown; what the environment gives is
// taken apart first.
func TestNoPasswordInAnAddress(t *testing.T) {
	for _, address := range []string{
		"postgres://ada:sesame@db.example.org/lab/s", "postgres://ada@db.example.org/lab?password=sesame",
	} {
		_, _, err := store.Split(address)
		if err == nil || strings.Contains(err.Error(), "sesame") || !strings.Contains(err.Error(), "PGPASSWORD") {
			t.Errorf("%s: %v", address, err)
		}
		if _, err := store.Open(address, store.Options{}); err == nil || strings.Contains(err.Error(), "sesame") {
			t.Errorf("%s is opened: %v", address, err)
		}
	}
	without, password := store.Unlocked("postgres://ada:open%20sesame@db.example.org/lab?single=yes")
	if without != "postgres://ada@db.example.org/lab?single=yes" || password != "open sesame" {
		t.Errorf("it is taken apart to %q and %q", without, password)
	}
	for _, plain := range []string{"electrolyte.campaign", "postgres://ada@db.example.org/lab"} {
		if without, password := store.Unlocked(plain); without != plain || password != "" {
			t.Errorf("%s is taken apart to %q and %q", plain, without, password)
		}
	}
}
