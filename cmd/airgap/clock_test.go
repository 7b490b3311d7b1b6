package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/cluster/hostcheck"
	"airgap.dev/airgap/cluster/site"
	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/config"
	"airgap.dev/airgap/internal/exitcode"
	"airgap.dev/airgap/preflight"
	"airgap.dev/airgap/registry/trust"
)

func TestClockAgrees(t *testing.T) {
	lenient := preflight.Config{Checks: preflight.Settings{"clock-registry": {"fail": "4h"}}}
	for name, tc := range map[string]struct {
		ahead time.Duration
		site  preflight.Config
		skip  []string
		says  string // "" for no error
	}{
		"the same":           {time.Second, preflight.Config{}, nil, ""},
		"hours behind":       {3 * time.Hour, preflight.Config{}, nil, "3 h 0 min behind 10.0.0.11:5000"},
		"hours ahead":        {-90 * time.Minute, preflight.Config{}, nil, "1 h 30 min ahead of 10.0.0.11:5000"},
		"the site allows it": {3 * time.Hour, lenient, nil, ""},
		"skipped":            {3 * time.Hour, preflight.Config{}, []string{"clock-registry"}, ""},
	} {
		s := &site.Site{Config: &config.Cluster{Preflight: tc.site}, Peer: preflight.Peer{Name: "10.0.0.11:5000", Ahead: tc.ahead}}
		err := hostcheck.ClockAgrees(s, tc.skip)
		if (err == nil) != (tc.says == "") || err != nil && !strings.Contains(err.Error(), tc.says) {
			t.Errorf("%s: %v, want %q", name, err, tc.says)
		}
		if err != nil && (codeOf(err) != exitcode.Preflight || !strings.Contains(advice.Of(err), "chronyc")) {
			t.Errorf("%s: exit code or hint is missing: %#v", name, err)
		}
	}
	err := hostcheck.Apart("10.0.0.11:5000", &trust.ClockError{Ahead: 100 * time.Hour, Err: errors.New("not yet valid")})
	if !strings.Contains(err.Error(), "4 d 4 h behind 10.0.0.11:5000") {
		t.Errorf("got %v", err)
	}
}
