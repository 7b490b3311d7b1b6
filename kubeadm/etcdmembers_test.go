package kubeadm

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"airgap.dev/airgap/verify/apitest"
)

// TestEtcdMembers asks a real etcd of one member.
func TestEtcdMembers(t *testing.T) {
	server := apitest.Start(t)
	etcd := &EtcdMember{Client: http.DefaultClient, URL: server.Etcd()}
	all, err := etcd.Members(t.Context())
	if err != nil || len(all) != 1 || all[0].Name == "" || all[0].Err != nil || all[0].Learner {
		t.Fatalf("got %+v, %v", all, err)
	}
	if err := MayGo(all, all[0]); err == nil {
		t.Error("the last member may go")
	}
	if err := etcd.Remove(t.Context(), Member{ID: "1", Name: "nobody"}); err == nil || !strings.Contains(err.Error(), "member not found") {
		t.Errorf("etcd's own words are not in %v", err)
	}
	if err := etcd.Full(t.Context()); err != nil {
		t.Error(err)
	}
	if err := etcd.ask(t.Context(), "/v3/maintenance/alarm", map[string]any{"action": "ACTIVATE", "memberID": all[0].ID, "alarm": noSpace}, nil); err != nil {
		t.Fatal(err)
	}
	full := etcd.Full(t.Context())
	if f, is := errors.AsType[*Failure](full); !is || !strings.Contains(f.Error(), noSpace) || !strings.Contains(f.Hint(), "defrag") {
		t.Errorf("got %v", full)
	}
	d := &Departure{Name: "w1", etcd: etcd}
	if err := d.Allowed(t.Context(), false); err == nil || err.Error() != full.Error() {
		t.Errorf("a node leaves a cluster that takes no writes: %v", err)
	}
	gone := &EtcdMember{Client: http.DefaultClient, URL: "http://127.0.0.1:1"}
	if _, err := gone.Members(t.Context()); err == nil {
		t.Error("nobody answered, and there is no error")
	}
	if err := etcd.well(t.Context(), Member{Name: "a"}); err == nil {
		t.Error("a member that has never started is well")
	}
}
