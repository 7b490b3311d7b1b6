package journal

import (
	"context"
	"net/url"
	"path/filepath"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"airgap.dev/airgap/internal/step"
	"airgap.dev/airgap/internal/ui"
	"airgap.dev/airgap/internal/ui/uitest"
)

// TestRunningStepIsShown looks at the terminal while a step runs and afterwards.
func TestRunningStepIsShown(t *testing.T) {
	tty := uitest.New(t)
	p := ui.New(tty.File, ui.Auto)
	s := step.Step{Name: "runtime", Title: "Start containerd"}
	Show(p, step.Event{Step: s})
	tty.Await(t, "Start containerd")
	Show(p, step.Event{Step: s, Outcome: step.Changed, Took: 2 * time.Second})
	Show(p, step.Event{Step: step.Step{Name: "kubeadm", Title: "Join the cluster"}})
	Show(p, step.Event{Step: step.Step{Name: "kubeadm", Title: "Join the cluster"}, Outcome: step.Failed})
	p.Close()
	want := "  changed   runtime          Start containerd                                    2.0 s\n" +
		"  failed    kubeadm          Join the cluster                                    0.0 s\n"
	if screen := tty.Screen(); screen != want {
		t.Errorf("left on the screen:\n%s\nwant\n%s", screen, want)
	}
}

// TestUnansweredRequest: a step goes on after a request that the API server did not answer.
func TestUnansweredRequest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		runs := 0
		s := step.Step{
			Name: "grant", Done: func(context.Context) (bool, error) { return runs == 2, nil },
			Run: func(context.Context) error {
				if runs++; runs == 2 {
					return nil
				}
				return &url.Error{Op: "Delete", URL: "https://10.0.0.5:6443/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/auto", Err: syscall.ECONNREFUSED}
			},
		}
		if got, err := run(t.Context(), step.OpenJournal(filepath.Join(t.TempDir(), "journal.jsonl")), []step.Step{s}, ui.Discard()); err != nil || got.Changed != 1 {
			t.Errorf("%+v after %d runs: %v", got, runs, err)
		}
	})
}
