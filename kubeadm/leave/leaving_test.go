package leave

import (
	"errors"
	"testing"

	"airgap.dev/airgap/kubeadm/etcd"
)

func TestUnused(t *testing.T) {
	f, m := newMember(t)
	for _, want := range []string{"/var/etcd-1", "/var/etcd-1-2", "/var/etcd-1-3"} {
		if got := m.unused("/var/etcd-1"); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		f.Put(t, want+"/wal", "data")
	}
}

// TestMayLeave: a host cannot leave while another member is down. kubeadm would only warn.
func TestMayLeave(t *testing.T) {
	all := []etcd.Member{{ID: 1, Name: "a"}, {ID: 2, Name: "b"}, {ID: 3, Name: "c", Err: errors.New("no answer")}}
	for name, may := range map[string]bool{"a": false, "b": false, "c": true, "d": true} {
		if err := mayLeave(all, name); (err == nil) != may {
			t.Errorf("%s: got %v, want allowed %v", name, err, may)
		}
	}
}
