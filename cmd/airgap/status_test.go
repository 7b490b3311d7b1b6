package main

import (
	"bytes"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"airgap.dev/airgap/internal/step"
)

func at(minute int, name, event string) step.Entry {
	return step.Entry{Time: time.Date(2026, 1, 2, 3, minute, 0, 0, time.UTC), Step: name, Event: event}
}

// TestStatusJudges joins journals with what the steps say now.
func TestStatusJudges(t *testing.T) {
	holds := func(name string, yes bool, changes ...string) step.Forecast {
		return step.Forecast{Step: step.Step{Name: name, Title: "Title of " + name}, Holds: yes, Changes: changes}
	}
	silent := holds("network", false)
	silent.Untold = errors.New("the API server is silent")
	ended := []step.Entry{at(1, "store", step.Began), at(2, "store", step.Ended), at(3, "sysctls", step.Began), at(4, "sysctls", step.Ended)}
	for name, tc := range map[string]struct {
		entries []step.Entry
		now     []step.Forecast
		busy    bool
		states  []string
		drifted []string
		says    string
	}{
		"a bare host": {says: "nothing was installed on this host"},
		"all is well": {ended, []step.Forecast{holds("store", true), holds("sysctls", true)}, false, []string{stepHolds, stepHolds}, nil, "all 2 steps hold"},
		"a parameter drifts": {ended, []step.Forecast{holds("store", true), holds("sysctls", false, "net.ipv4.ip_forward 0 → 1")}, false,
			[]string{stepHolds, stepDrifted}, []string{"sysctls"}, "drifted: sysctls; run the same command again"},
		"killed": {ended[:3], []step.Forecast{holds("store", true), holds("sysctls", false), holds("network", false)}, false,
			[]string{stepHolds, stepInterrupted, stepPending}, nil, "interrupted in step sysctls"},
		"killed after the last step": {ended[:3], []step.Forecast{holds("store", true), holds("sysctls", true)}, false, []string{stepHolds, stepHolds}, nil, "all 2 steps hold"},
		"at work":                    {ended[:3], []step.Forecast{holds("store", true), holds("sysctls", false)}, true, []string{stepHolds, stepInterrupted}, nil, "right now"},
		"failed": {append(slices.Clone(ended[:3]), step.Entry{Step: "sysctls", Event: step.Broke, Error: "read-only file system\nand more"}),
			[]step.Forecast{holds("store", true), holds("sysctls", false)}, false, []string{stepHolds, stepFailed}, nil, "read-only file system"},
		"cannot be told": {append(slices.Clone(ended), at(5, "network", step.Ended)), []step.Forecast{holds("store", true), holds("sysctls", true), silent}, false,
			[]string{stepHolds, stepHolds, stepUnknown}, nil, "the API server is silent"},
		"the bundle is gone": {ended[:3], nil, false, []string{stepUnknown, stepInterrupted}, nil, "interrupted in step sysctls"},
		"a reset was killed": {append(slices.Clone(ended), at(5, "sysctls", step.Undone)), []step.Forecast{holds("store", true), holds("sysctls", false)}, false,
			[]string{stepHolds, stepUndone}, nil, "taken back in part"},
	} {
		t.Run(name, func(t *testing.T) {
			st := &status{Busy: tc.busy}
			st.judge(tc.entries, tc.now)
			var states []string
			for _, s := range st.Steps {
				states = append(states, s.State)
			}
			if !slices.Equal(states, tc.states) || !slices.Equal(st.Drifted, tc.drifted) {
				t.Errorf("states %q, drifted %q; want %q, %q", states, st.Drifted, tc.states, tc.drifted)
			}
			var text bytes.Buffer
			if err := st.write(&text); err != nil || !strings.Contains(text.String(), tc.says) {
				t.Errorf("the screen lacks %q (%v):\n%s", tc.says, err, &text)
			}
		})
	}
}

// TestStatusFitsOnAScreen: what a step would change is cut in the text, never
// in the result for programs.
func TestStatusFitsOnAScreen(t *testing.T) {
	var changes []string
	for range 30 {
		changes = append(changes, "install a-package")
	}
	st := &status{}
	st.judge([]step.Entry{at(1, "packages", step.Ended)}, []step.Forecast{{Step: step.Step{Name: "packages"}, Changes: changes}})
	var text bytes.Buffer
	if err := st.write(&text); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(text.String(), "a-package"); n != shown || !strings.Contains(text.String(), "and 26 more") || len(st.Steps[0].Changes) != 30 {
		t.Errorf("%d lines shown:\n%s", n, &text)
	}
}
