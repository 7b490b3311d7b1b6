package settings

import (
	"slices"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

// TestReadFirewall: a host's report shows openings that another program removed, in each view.
func TestReadFirewall(t *testing.T) {
	f, m := hosttest.New(t)
	w := newFirewalld(f)
	f.Put(t, vendorZones+"/public.xml", zoneXML())
	f.Put(t, vendorZones+"/trusted.xml", zoneXML())
	read := func() FirewallState {
		s, err := ReadFirewall(t.Context(), m, aFirewall())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := read(); !s.Running || s.Opened || len(s.Missing) > 0 {
		t.Errorf("before the installation: %+v", s)
	}
	hosttest.Do(t, func() error { return FirewalldStep(m, aFirewall()).Run(t.Context()) })
	if s := read(); !s.Running || !s.Opened || len(s.Missing) > 0 {
		t.Errorf("after it: %+v", s)
	}
	w.has["permanent"]["public"] = slices.DeleteFunc(w.has["permanent"]["public"], func(o string) bool { return o == apiRule })
	if s := read(); len(s.Missing) != 1 || s.Missing[0] != "permanent, zone public: "+apiRule {
		t.Errorf("without a rule: %+v", s)
	}
	w.has["runtime"] = map[string][]string{} // a reload, and all zones were reset
	if s := read(); len(s.Missing) != maxMissing || !strings.HasPrefix(s.Missing[0], "runtime, zone ") {
		t.Errorf("without a zone: %d openings %q", len(s.Missing), s.Missing)
	}
	f.Answers["systemctl is-active"] = func(host.Cmd) ([]byte, error) { return nil, &host.CommandError{ExitCode: 3} }
	if s := read(); s.Running || !s.Opened || !s.Later {
		t.Errorf("stopped, and enabled: %+v", s)
	}
	f.Answers["systemctl is-enabled"] = f.Answers["systemctl is-active"]
	if s := read(); s.Running || s.Later {
		t.Errorf("disabled: %+v", s)
	}
}
