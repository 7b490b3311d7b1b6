package agents

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestFind: an agent is known by a unit, a program or a module, and other modules from outside the
// kernel are listed.
func TestFind(t *testing.T) {
	for _, tc := range []struct {
		name    string
		host    Host
		known   []Agent
		modules []string
	}{
		{"a clean host", Host{Units: "sshd.service loaded active running x\n", Programs: "sshd\nsystemd\n", Modules: "xfs 1 2 - Live 0x0\n"}, nil, nil},
		{"units", Host{Units: "illumio-ven.service loaded active running x\ncsw-agent.service loaded active\n"},
			[]Agent{{"Illumio VEN", "unit illumio-ven.service", true, false}, {"Cisco Secure Workload (Tetration)", "unit csw-agent.service", true, false}}, nil},
		{"programs", Host{Programs: "tet-enforcer\nfalcon-sensor\n"},
			[]Agent{{"Cisco Secure Workload (Tetration)", "program tet-enforcer", true, false}, {"CrowdStrike Falcon", "program falcon-sensor", false, false}}, nil},
		{"modules", Host{Modules: "falcon_lsm_serviceable 1 0 - Live 0x0 (PE)\nmystery 1 0 - Live 0x0 (OE)\nnvidia 1 0 - Live 0x0 (POE)\nsigned 1 0 - Live 0x0\n"},
			[]Agent{{"CrowdStrike Falcon", "kernel module falcon_lsm_serviceable", false, false}}, []string{"mystery"}},
		{"stopped, and enabled", Host{Units: "sshd.service loaded active\n", Enabled: "sshd.service\nillumio-ven.service\n"}, []Agent{{"Illumio VEN", "unit illumio-ven.service", true, true}}, nil},
		{"running, and enabled", Host{Units: "falcon-sensor.service loaded active\n", Enabled: "falcon-sensor.service\n"}, []Agent{{"CrowdStrike Falcon", "unit falcon-sensor.service", false, false}}, nil},
		{"similar names", Host{Units: "console-getty.service\nmandb.service\nv4l.service\n", Programs: "pmdaproc\n(sd-pam)\n", Modules: ""}, nil, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			found := Find(tc.host)
			assert.Equal(t, tc.known, found.Known)
			assert.ElementsMatch(t, tc.modules, found.Modules)
		})
	}
}

// TestOwnerAndClass: chains have owners, and the class of a fanotify group says whether it decides.
func TestOwnerAndClass(t *testing.T) {
	assert.Equal(t, "Cisco Secure Workload (Tetration)", OwnerOf("filter", "TA_INPUT"))
	assert.Equal(t, "Guardicore (Akamai) agent", OwnerOf("filter", "GC-IN"))
	assert.Empty(t, OwnerOf("filter", "INPUT"))
	assert.True(t, Blocks("pos:\t0\nfanotify flags:15 event-flags:8002\n"))
	assert.True(t, Blocks("fanotify flags:8 event-flags:0"))
	assert.False(t, Blocks("fanotify flags:2 event-flags:0"))
	assert.False(t, Blocks(""))
}

func FuzzFind(f *testing.F) {
	f.Add("a.service x\n", "pmd\n", "m 1 - (OE)\n")
	f.Fuzz(func(t *testing.T, units, programs, modules string) {
		if found := Find(Host{units, programs, modules, units}); len(found.Modules) > 100 {
			t.Errorf("%d modules", len(found.Modules))
		}
	})
}
