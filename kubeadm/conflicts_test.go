package kubeadm

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/kubeadm/release"
	"airgap.dev/airgap/kubeadm/runtime"
)

// TestConflicts has for each rule a case that it reports and one that it accepts.
func TestConflicts(t *testing.T) {
	for name, tc := range map[string]struct {
		kubernetes, containerd, runc string
		says                         string // "" for none
		fatal                        bool
	}{
		"the defaults":                       {"1.36.3", "2.3.7", "1.5.2", "", false},
		"the line's own minimum":             {"1.35.2", "2.1.5", "1.3.6", "", false},
		"below the line's minimum":           {"1.35.2", "2.1.4", "1.3.6", "containerd 2.1.4 with Kubernetes 1.35.2", true},
		"a line that has no row":             {"1.36.3", "2.1.9", "1.3.6", "containerd 2.1.9 with Kubernetes 1.36.3", true},
		"between two lines with rows":        {"1.35.2", "2.0.10", "1.3.6", "containerd 2.0.10 with Kubernetes 1.35.2", true},
		"a newer line":                       {"1.35.2", "2.4.2", "1.5.2", "", false},
		"only assumed":                       {"1.37.0", "2.2.7", "1.3.6", "containerd 2.2.7 with Kubernetes 1.37.0", false},
		"the assumed minimum":                {"1.37.0", "2.3.4", "1.4.3", "", false},
		"runc older than containerd's tests": {"1.36.3", "2.3.7", "1.3.0", "runc 1.3.0 with containerd 2.3.7", false},
		"runc of containerd's tests":         {"1.36.3", "2.2.7", "1.3.6", "", false},
		"an untested line":                   {"1.36.3", "2.9.0", "1.5.2", "containerd 2.9.0", false},
	} {
		t.Run(name, func(t *testing.T) {
			got := Conflicts(Config{Version: tc.kubernetes}, runtime.Config{Version: tc.containerd, RuncVersion: tc.runc}, time.Date(2026, 6, 1, 0, 0, 0, 0, time.UTC))
			if tc.says == "" {
				if len(got) != 0 {
					t.Errorf("got %+v, want none", got)
				}
				return
			}
			if len(got) != 1 || got[0].Found != tc.says || got[0].Fatal != tc.fatal || got[0].Want == "" || got[0].Source == "" {
				t.Errorf("got %+v, want %q", got, tc.says)
			}
		})
	}
}

// TestCRIOFollowsKubernetes: CRI-O must have the minor version of Kubernetes, and the default
// version does.
func TestCRIOFollowsKubernetes(t *testing.T) {
	for _, release := range release.All() {
		c, r := Config{Version: release.Minor + ".1"}, runtime.Config{Name: "crio"}
		r.Default(c.Version)
		if got := Conflicts(c, r, time.Time{}); len(got) != 0 || r.Version == "" {
			t.Errorf("%s: got %+v, want none", r, got)
		}
		r.Version = "1.34.9"
		if got := Conflicts(c, r, time.Time{}); len(got) != 1 || !got[0].Fatal || got[0].Found != "CRI-O 1.34.9 with Kubernetes "+c.Version {
			t.Errorf("%s with %s: got %+v, want one fatal conflict", r, c.Version, got)
		}
	}
}

// TestLinesEnd: lines of containerd and minors of Kubernetes end after the last day of the month.
func TestLinesEnd(t *testing.T) {
	for _, tc := range []struct{ day, containerd, says string }{
		{"2026-11-30", "2.2.7", ""},
		{"2026-12-01", "2.2.7", "containerd 2.2.7: its line gets no fixes since 2026-11"},
		{"2027-06-30", "2.3.7", ""},
		{"2027-07-01", "2.3.7", "Kubernetes 1.36.3: its minor gets no fixes since 2027-06"},
	} {
		now, err := time.Parse(time.DateOnly, tc.day)
		if err != nil {
			t.Fatal(err)
		}
		got := Conflicts(Config{Version: "1.36.3"}, runtime.Config{Version: tc.containerd, RuncVersion: "1.5.2"}, now)
		if (len(got) == 1) != (tc.says != "") || len(got) == 1 && (got[0].Fatal || got[0].Found != tc.says) {
			t.Errorf("%s: got %+v, want %q", tc.day, got, tc.says)
		}
	}
}

// TestMinorsAreNamed: the schema and the error message list every supported minor.
func TestMinorsAreNamed(t *testing.T) {
	version, _ := reflect.TypeFor[Config]().FieldByName("Version")
	_, err := release.Of("1.34.0")
	for _, r := range release.All() {
		if about := version.Tag.Get("jsonschema_description"); !strings.Contains(about, r.Minor) {
			t.Errorf("got description %q for kubernetes.version, want it to contain %s", about, r.Minor)
		}
		if err == nil || !strings.Contains(err.Error(), r.Minor) {
			t.Errorf("got error %v for 1.34, want it to contain %s", err, r.Minor)
		}
	}
}

// TestRowsHaveSources: every row of the tables has a source and a valid month.
func TestRowsHaveSources(t *testing.T) {
	for _, r := range release.All() {
		if _, err := time.Parse("2006-01", r.Ends); err != nil || r.Source == "" || len(r.Containerd) == 0 || r.Etcd == "" || r.CoreDNS == "" || r.Pause == "" {
			t.Errorf("row %+v: %v", r, err)
		}
	}
	for _, l := range release.RuntimeLines() {
		if _, err := time.Parse("2006-01", l.Ends); l.Source == "" || l.Runc == "" || l.Ends != "" && err != nil {
			t.Errorf("row %+v: %v", l, err)
		}
	}
	def := runtime.Config{}
	def.Default("1.36.3")
	for _, r := range release.All() {
		if got := Conflicts(Config{Version: r.Minor + ".0"}, def, time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)); len(got) != 0 {
			t.Errorf("airgap's default runtime with %s: got %+v, want none", r.Minor, got)
		}
	}
}
