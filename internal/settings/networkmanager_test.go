package settings

import (
	"testing"

	"airgap.dev/airgap/internal/host"
	"airgap.dev/airgap/internal/host/hosttest"
)

func TestNetworkManager(t *testing.T) {
	f, m := hosttest.New(t)
	links := []string{"flannel.1", "cni0"}
	f.Put(t, keyfile, "[keyfile]\nunmanaged-devices=interface-name:bank0\n")
	devices := "ens192:connected\nlo:connected (externally)\n"
	f.Answers["nmcli --terse --fields DEVICE,STATE device"] = func(host.Cmd) ([]byte, error) { return []byte(devices), nil }
	s := NetworkManagerStep(m, links)
	hosttest.MustBeDone(t, s.Done, false)
	hosttest.WantPlan(t, f, s, "write "+keyfile+" (changed)", "reload NetworkManager's configuration")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
	ours := "# Written by airgap: these belong to the pod network.\n[keyfile]\n" +
		"unmanaged-devices+=interface-name:kube-ipvs0;interface-name:flannel.1;interface-name:cni0;interface-name:veth*\n"
	if got := f.Get(keyfile); got != ours {
		t.Errorf("%s", got)
	}
	for name, list := range map[string]string{"cni0": "cni0:connected (externally)\n", "a pod's": "veth1a2b:disconnected\n"} {
		devices = list
		if done, err := s.Done(t.Context()); err != nil || done {
			t.Errorf("%s is managed, and it holds: %v, %v", name, done, err)
		}
	}
	devices = "cni0:unmanaged\nveth1a2b:unmanaged\nvethernet:connected\n"
	hosttest.MustBeDone(t, s.Done, false) // a name of that form is the pods'
	for range 2 {
		if err := s.Run(t.Context()); err != nil { // ours must not be taken for theirs
			t.Fatal(err)
		}
	}
	for range 2 {
		if err := s.Undo(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if got := f.Get(keyfile); got != "[keyfile]\nunmanaged-devices=interface-name:bank0\n" || f.Has(keyfileUndo) {
		t.Errorf("after the undo: %s", got)
	}
	if n := f.Ran("nmcli general reload conf"); n != 4 {
		t.Errorf("reloaded NetworkManager %d times, want 3 for the runs and 1 for the undo", n)
	}
}

// Killed between the file and the reload: NetworkManager knows nothing yet.
func TestNetworkManagerIsToldAgain(t *testing.T) {
	f, m := hosttest.New(t)
	s := NetworkManagerStep(m, nil)
	f.Fails("nmcli general reload conf", 1, "Error: Could not connect")
	if err := s.Run(t.Context()); err == nil || !f.Has(keyfile) {
		t.Fatalf("got %v", err)
	}
	hosttest.MustBeDone(t, s.Done, false)
	delete(f.Answers, "nmcli general reload conf")
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	hosttest.MustBeDone(t, s.Done, true)
}

func TestNetworkManagerThatIsNotThere(t *testing.T) {
	f, m := hosttest.New(t)
	f.Fails("systemctl", 4, "")
	s := NetworkManagerStep(m, nil)
	hosttest.MustBeDone(t, s.Done, true)
	if err := s.Undo(t.Context()); err != nil || f.Has(keyfile) || f.Ran("nmcli") > 0 {
		t.Errorf("%v, ran %v", err, f.Calls)
	}
}
