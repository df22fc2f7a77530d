package engine_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/campaignd/campaignd/internal/engine"
	"github.com/campaignd/campaignd/internal/ground/problem"
	"github.com/campaignd/campaignd/internal/tests/must"
)

// digests are requests as programs wrote them when a value was a plain number, with their
// digests.
var digests = []struct{ digest, text string }{
	{"a689c69b387bf4797c838d1e73f54c08",
		`{"actor":"","tell":{"experiment":"e2","value":0,"failed":"it leaked"}}`},
	{"523dcbce7fe9cef4d13e371a4e922fd3",
		`{"actor":"","tell":{"experiment":"e2","value":0,"infeasible":"it froze"}}`},
	{"68389c003730602c5621efff9da13cac",
		`{"actor":"","tell":{"experiment":"e2","value":0,"again":"no argon","notes":["cloudy"]}}`},
	{"d3ec667b67caa8b579aa940e47e0f945",
		`{"actor":"","tell":{"experiment":"e1","value":0,"unit":"mS/cm"}}`},
	{"119ea8c051de2a67c7a3e7677febf04d",
		`{"actor":"","tell":{"experiment":"e1","actual":{"dmc":1,"salt":"B"},"value":12.5,"unit":"mS/cm","sd":0.25,"further":[{"name":"pH","value":7,"unit":"one","sd":0.5}],"notes":["cloudy","warm"],"anyway":true}}`},
	{"b118d1ac42c35054c6d8aa7b26bf2730",
		`{"actor":"","tell":{"parameters":{"dmc":1,"salt":"B"},"value":-3.2}}`},
	{"adcb214da424982beaf542ca7ab97ba9",
		`{"actor":"","correct":{"experiment":"e1","outcome":"measured","value":0,"sd":0.25,"actual":{"dmc":1},"further":[{"name":"pH","value":7}],"exclude":true,"reason":"why","anyway":true}}`},
	{"d77eb619043cc9a7d2fde4565cc142e6",
		`{"actor":"","correct":{"experiment":"e1-e3","outcome":"not-performed","reason":"why"}}`},
	{"00f255cf47e17925ed1a073d35054527",
		`{"actor":"","resolve":{"experiment":"e1","resolution":"measured","value":0,"sd":0.25,"actual":{"dmc":1},"further":[{"name":"pH","value":7}],"repeat":true,"reason":"why","anyway":true}}`},
	{"98067fbcd703798817941f37a7582fc6",
		`{"actor":"","resolve":{"experiment":"e1,e3-e5","resolution":"failed"}}`},
	{"8647d6575b8436d543c2a16510240bad",
		`{"actor":"","exclude":{"point":{"dmc":1,"salt":"B"},"about":"e1","reason":"why"}}`},
	{"db6efcb684bd6f217456b45a61fc5e7d",
		`{"actor":"","exclude":{"region":{"dmc":{"min":0,"max":0.5},"salt":{"is":"B"}},"reason":"why"}}`},
	{"93fff63fefa3daec4ee00e09c555d905",
		`{"actor":"","allow":{"exclusion":"n1","reason":"why"}}`},
	{"2b9ae2570cc9ce395e45a69bd02bd63b",
		`{"actor":"","anchors":{"expert":"ada","points":[],"instead":true}}`},
	{"551f307846a2d1460e23f5db6578390b",
		`{"actor":"","anchors":{"expert":"ada","points":[{"dmc":1}],"reason":"why"}}`},
	{"4bd1a063777275ff9db7f68028146659",
		`{"actor":"","note":{"text":"cloudy","about":"e1"}}`},
	{"cd2819ed8d9c1682f601ba586e80cbc1",
		`{"actor":"","pause":{"reason":"why"}}`},
	{"76b825e1c0a049bf9faed47903368a57",
		`{"actor":"","resume":{}}`},
	{"e80f627d7a85b16dd3480483f4fb8a64",
		`{"actor":"","stop":{"reason":"why"}}`},
	{"246037a820f616932e726325238c79e3",
		`{"actor":"","answer":{"question":"q1","saw":"","answer":{"label":"reject"},"exclude":true,"comment":"c","took":2.5,"shown":{"at":3,"best":"e1","nearest":["e1"]}}}`},
	{"aa3677b79a2a645476c9e8f43bf5bafc",
		`{"actor":"","answer":{"question":"q1","answer":{"order":[1,0]}}}`},
	{"ebad8af59a8ce1e6cf288dead17c7e8e",
		`{"actor":"","answer":{"question":"q1","answer":{"point":{"dmc":1}}}}`},
	{"db7c68011e6c4a1add26ce8e02190f60",
		`{"actor":"","answer":{"question":"q1","answer":{"estimates":[{"option":0,"value":0},{"option":2,"value":9}]}}}`},
	{"65f2f4d391f9e8e1f025180576b38ae9",
		`{"actor":"","answer":{"question":"q1","answer":{}}}`},
	{"daf7aca3d158d8f78cbb1e63260c4f66",
		`{"actor":"","import":[{"parameters":{"dmc":1},"value":0},{"parameters":{"dmc":0.5},"value":0,"failed":"it leaked"}],"import_once":true}`},
}

// Law: the JSON of a request and its digest are what they always were, also where a result has no
// value: a repeat of a request of an earlier program is known, and a process of an earlier version
// understands what it is sent.
func TestDigests(t *testing.T) {
	for _, d := range digests {
		var r engine.Request
		must.Do(t, json.Unmarshal([]byte(d.text), &r))
		r.Received()
		text, err := json.Marshal(r)
		if err != nil || string(text) != d.text {
			t.Errorf("%s is written %s, %v", d.text, text, err)
		}
		r.Actor = "person:ada"
		if got := r.Identified("once").Digest; got != d.digest {
			t.Errorf("%s has the digest %s", d.text, got)
		}
		if err := r.Check(); err != nil {
			t.Errorf("%s was taken: %v", d.text, err)
		}
	}
}

// Law: a value that is 0 is a value, in whichever way the request comes; one that is left out is
// none, and what stands in its place in JSON is not a value when it arrives.
func TestNoValueIsNotZero(t *testing.T) {
	for _, r := range []engine.Request{
		{Tell: &engine.Tell{Experiment: "e1", Failed: "it leaked"}},
		{Tell: &engine.Tell{Experiment: "e1", Infeasible: "it froze"}},
		{Tell: &engine.Tell{Experiment: "e1", Again: "no argon"}},
		{Tell: &engine.Tell{Experiment: "e1", Value: new(0.0)}},
		{Import: []engine.Tell{{Experiment: "e1", Failed: "it leaked"}, {Experiment: "e1", Value: new(0.0)}}},
	} {
		text := must.Get(json.Marshal(r))(t)
		var arrived engine.Request
		must.Do(t, json.Unmarshal(text, &arrived))
		arrived.Received()
		sent, got := r.Import, arrived.Import
		if r.Tell != nil {
			sent, got = []engine.Tell{*r.Tell}, []engine.Tell{*arrived.Tell}
		}
		for i := range sent {
			if (sent[i].Value == nil) != (got[i].Value == nil) {
				t.Errorf("%s arrives with the value %v", text, got[i].Value)
			}
		}
	}
	value := engine.Request{Tell: &engine.Tell{Experiment: "e1", Failed: "it leaked", Value: new(2.5)}}
	value.Received()
	if err := value.Check(); problem.CodeOf(err) != problem.Invalid {
		t.Errorf("a value beside a failure: %v", err)
	}
}

// Law: whatever part of a request is set, it is asked for; what only says how is
// none.
func TestEveryPartIsAskedFor(t *testing.T) {
	for i := range reflect.TypeFor[engine.Request]().NumField() {
		var r engine.Request
		field, set := reflect.ValueOf(&r).Elem().Field(i), 1
		switch field.Kind() {
		case reflect.Pointer:
			field.Set(reflect.New(field.Type().Elem()))
		case reflect.Slice:
			field.Set(reflect.MakeSlice(field.Type(), 1, 1))
		default:
			set = 0
		}
		if asked := engine.Asked(&r); asked != set {
			t.Errorf("a request with %s asks for %d things, want %d",
				reflect.TypeOf(r).Field(i).Name, asked, set)
		}
	}
}
