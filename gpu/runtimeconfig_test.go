package gpu

import (
	"strings"
	"testing"

	"github.com/pelletier/go-toml/v2"
)

func TestRuntimeConfig(t *testing.T) {
	for name, before := range map[string]string{"the package's": "[nvidia-container-runtime]\nmode = \"auto\"\n", "none": ""} {
		t.Run(name, func(t *testing.T) {
			m, s := newMachine(t)
			if before != "" {
				m.put(t, runtimeFile, before)
			}
			st := RuntimeConfigStep(s, "/opt/airgap/bin/runc")
			holds(t, st.Done, false)
			for range 2 { // the second run must not save airgap's file as the original
				if err := st.Run(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			holds(t, st.Done, true)
			var has struct {
				Env     bool `toml:"accept-nvidia-visible-devices-envvar-when-unprivileged"`
				Runtime struct {
					Mode     string
					Runtimes []string
				} `toml:"nvidia-container-runtime"`
			}
			if err := toml.Unmarshal([]byte(m.get(runtimeFile)), &has); err != nil || has.Env || has.Runtime.Mode != "cdi" || strings.Join(has.Runtime.Runtimes, " ") != "/opt/airgap/bin/runc" {
				t.Errorf("parsed as %+v, %v", has, err)
			}
			for range 2 {
				if err := RuntimeConfigStep(s, "").Undo(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if m.has(runtimeFile) != (before != "") || before != "" && m.get(runtimeFile) != before || m.has(runtimeUndo) {
				t.Errorf("after the undo: %q", m.get(runtimeFile))
			}
		})
	}
}

// TestRuntimeConfigOfTheSite checks that undo does not change a file that was written later.
func TestRuntimeConfigOfTheSite(t *testing.T) {
	m, s := newMachine(t)
	st := RuntimeConfigStep(s, "/opt/airgap/bin/runc")
	if err := st.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	m.put(t, runtimeFile, "# mine\n")
	if err := st.Undo(t.Context()); err != nil || m.get(runtimeFile) != "# mine\n" || m.has(runtimeUndo) {
		t.Errorf("%v, remaining: %q", err, m.get(runtimeFile))
	}
}
