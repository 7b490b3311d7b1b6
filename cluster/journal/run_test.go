package journal

import (
	"testing"
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
