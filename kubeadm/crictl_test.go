package kubeadm

import "testing"

func TestCrictl(t *testing.T) {
	for _, r := range []Runtime{{Name: "containerd"}, {Name: "crio"}} {
		f, m := newFake(t)
		s := CrictlStep(m, r)
		mustHold(t, s.Done, false)
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		mustHold(t, s.Done, true)
		endpoint := "unix:///run/" + r.Name + "/" + r.Name + ".sock"
		if got, want := f.get(crictlConfig), ours+"runtime-endpoint: "+endpoint+"\nimage-endpoint: "+endpoint+"\ntimeout: 10\n"; got != want {
			t.Errorf("%s: got\n%s", r.Name, got)
		}
		if err := s.Undo(t.Context()); err != nil || f.has(crictlConfig) {
			t.Errorf("%s: undo left it: %v", r.Name, err)
		}
	}
}

// TestCrictlOfTheSite: CRI-O's package brings the file, and an administrator may.
func TestCrictlOfTheSite(t *testing.T) {
	f, m := newFake(t)
	const theirs = "runtime-endpoint: unix:///run/bank.sock\n"
	f.put(t, crictlConfig, theirs)
	s := CrictlStep(m, Runtime{Name: "containerd"})
	mustHold(t, s.Done, true)
	if err := s.Undo(t.Context()); err != nil || f.get(crictlConfig) != theirs {
		t.Errorf("it is not as it was: %v", err)
	}
}
