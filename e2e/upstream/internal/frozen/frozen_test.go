package frozen

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	all, err := decode([]byte(`{"name": "podman", "epoch": 2, "version": "5.2.2", "release": "1.el9", "arch": "x86_64", "requires": ["(a if b)"], "installed": true}
{"name": "socat", "epoch": 0, "version": "1.7.4.1", "release": "6.el9", "arch": "x86_64", "installed": false}
`))
	if err != nil || len(all) != 2 || all[0].Epoch != 2 || all[0].Requires[0] != "(a if b)" || !all[0].Installed || all[1].Installed {
		t.Errorf("got %+v, %v", all, err)
	}
	if _, err := decode([]byte("{\"name\": \"podman\"}\nTraceback")); err == nil || !strings.Contains(err.Error(), "dnf's choice") {
		t.Errorf("got %v", err)
	}
}
