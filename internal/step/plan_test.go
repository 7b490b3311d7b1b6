package step_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"airgap.dev/airgap/internal/step"
)

var errNoServer = errors.New("there is no API server")

// planned is a step that must not run.
func planned(t *testing.T, name string, holds bool, told error, changes ...string) step.Step {
	return step.Step{
		Name: name,
		Done: func(context.Context) (bool, error) { return holds, told },
		Plan: func(context.Context) ([]string, error) { return changes, nil },
		Run:  func(context.Context) error { t.Errorf("step %s ran", name); return nil },
	}
}

func TestPlan(t *testing.T) {
	got, err := step.Plan(t.Context(), []step.Step{
		planned(t, "record", true, nil, "never asked for"),
		planned(t, "sysctls", false, nil, "net.ipv4.ip_forward 0 → 1"),
		planned(t, "network", false, errNoServer, "apply Namespace kube-flannel"),
	})
	if err != nil || len(got) != 3 {
		t.Fatalf("%d forecasts, %v", len(got), err)
	}
	if !got[0].UpToDate || got[0].Changes != nil {
		t.Errorf("a step that holds: %+v", got[0])
	}
	if got[1].UpToDate || !slices.Equal(got[1].Changes, []string{"net.ipv4.ip_forward 0 → 1"}) {
		t.Errorf("a step that would run: %+v", got[1])
	}
	if got[2].UpToDate || !errors.Is(got[2].Incomplete, errNoServer) || len(got[2].Changes) != 1 {
		t.Errorf("a step that needs one before it: %+v", got[2])
	}
}

// A run would stop there, so a plan does.
func TestPlanStopsWhereARunWould(t *testing.T) {
	_, err := step.Plan(t.Context(), []step.Step{planned(t, "store", true, nil), planned(t, "network", false, errNoServer)})
	if !errors.Is(err, errNoServer) || !strings.Contains(err.Error(), "step network: check: ") {
		t.Errorf("got %v", err)
	}
}

func TestPlanThatCannotBeMade(t *testing.T) {
	s := planned(t, "sysctls", false, nil)
	s.Plan = func(context.Context) ([]string, error) { return nil, errNoServer }
	if _, err := step.Plan(t.Context(), []step.Step{s}); !errors.Is(err, errNoServer) {
		t.Errorf("got %v", err)
	}
	got, err := step.Plan(t.Context(), []step.Step{planned(t, "modules", false, nil), s})
	if err != nil || !errors.Is(got[1].Incomplete, errNoServer) {
		t.Errorf("after a step that would run: %v, %v", got, err)
	}
}

// TestCheck asks a step that hangs and ignores its context: Check returns after the limit, with
// the results of the other steps.
func TestCheck(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hangs := planned(t, "runtime", true, nil)
		release := make(chan struct{})
		hangs.Done = func(context.Context) (bool, error) { <-release; return true, nil }
		began := time.Now()
		got := step.Check(t.Context(), []step.Step{planned(t, "record", true, nil), hangs, planned(t, "mirror", false, nil, "write hosts.toml")}, 5*time.Second)
		if took := time.Since(began); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if !got[0].UpToDate || got[1].Incomplete == nil || got[1].Step.Name != "runtime" || got[2].UpToDate || len(got[2].Changes) != 1 {
			t.Errorf("got %+v", got)
		}
		close(release)
	})
}
