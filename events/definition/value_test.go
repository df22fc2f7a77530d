package definition_test

import (
	"encoding/json"
	"testing"

	"github.com/campaignd/campaignd/events/definition"
)

// Law: a value is a finite number or the name of a category, and written it reads the same;
// nothing else is a value.
func TestValueJSON(t *testing.T) {
	for _, text := range []string{"1.5", "-3", "0", "1e-9", `"EC"`, `"1.5"`} {
		var v definition.Value
		if err := json.Unmarshal([]byte(text), &v); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if written, err := json.Marshal(v); err != nil || string(written) != text {
			t.Errorf("%s is written %s, %v", text, written, err)
		}
	}
	for _, text := range []string{`""`, "null", "true", "[]", "{}", "1e400"} {
		var v definition.Value
		if err := json.Unmarshal([]byte(text), &v); err == nil {
			t.Errorf("%s is read as %v", text, v)
		}
	}
}

// Law: an empty text is not the number 0: it is neither a number nor the name of a category, and
// cannot be written.
func TestEmptyCategory(t *testing.T) {
	empty := definition.Category("")
	if x, ok := empty.Float(); ok {
		t.Errorf("it is the number %v", x)
	}
	if empty == definition.Number(0) {
		t.Error("it equals the number 0")
	}
	if written, err := json.Marshal(empty); err == nil {
		t.Errorf("it is written %s", written)
	}
	if empty.String() == definition.Number(0).String() {
		t.Errorf("it reads %q", empty)
	}
}
