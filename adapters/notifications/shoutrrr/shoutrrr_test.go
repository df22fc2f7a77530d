package shoutrrr

import "testing"

// Law: any address but that of a web page is one of a service, and all leave by campaignd-forward;
// those services that show a title have it apart.
func TestChannels(t *testing.T) {
	for address, titled := range map[string]bool{
		"smtp://h": true, "ntfy://h/x": true, "generic+https://h/x": true, "slack://x": false, "telegram://x": false,
		"matrix://h": false, "of-a-later-release://x": false,
	} {
		row, ok := Channels.Of(address)
		if !ok || row.Titled != titled || !row.Forwarded || row.Send == nil {
			t.Errorf("%s: %+v", address, row)
		}
		if row.Check != nil {
			if fault, _ := row.Check(address); fault != "" {
				t.Errorf("%s: %s", address, fault)
			}
		}
	}
	row, _ := Channels.Of("https://h/x")
	if fault, remedy := row.Check("https://h/x"); fault == "" || remedy == "" {
		t.Error("a web page is taken for an address")
	}
}
