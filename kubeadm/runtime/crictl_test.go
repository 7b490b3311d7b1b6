package runtime

import (
	"testing"

	"airgap.dev/airgap/internal/host/hosttest"
)

func TestCrictl(t *testing.T) {
	for _, r := range []Config{{Name: "containerd"}, {Name: "crio"}} {
		f, m := hosttest.New(t)
		s := CrictlStep(m, r)
		hosttest.MustBeDone(t, s.Done, false)
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		hosttest.MustBeDone(t, s.Done, true)
		endpoint := "unix:///run/" + r.Name + "/" + r.Name + ".sock"
		if got, want := f.Get(crictlConfig), ours+"runtime-endpoint: "+endpoint+"\nimage-endpoint: "+endpoint+"\ntimeout: 10\n"; got != want {
			t.Errorf("%s: got\n%s", r.Name, got)
		}
		if err := s.Undo(t.Context()); err != nil || f.Has(crictlConfig) {
			t.Errorf("%s: the file remains after the undo: %v", r.Name, err)
		}
	}
}

// TestCrictlOfTheSite checks that the step does not change a file of CRI-O's package or of the site.
func TestCrictlOfTheSite(t *testing.T) {
	f, m := hosttest.New(t)
	const theirs = "runtime-endpoint: unix:///run/bank.sock\n"
	f.Put(t, crictlConfig, theirs)
	s := CrictlStep(m, Config{Name: "containerd"})
	hosttest.MustBeDone(t, s.Done, true)
	if err := s.Undo(t.Context()); err != nil || f.Get(crictlConfig) != theirs {
		t.Errorf("the file has changed: %v", err)
	}
}
