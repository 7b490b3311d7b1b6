package etcd

import (
	"context"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/verify/apitest"
)

// TestMembers asks a real etcd of one member.
func TestMembers(t *testing.T) {
	c := &Client{URL: apitest.Start(t).Etcd()}
	all, err := c.Members(t.Context())
	if err != nil || len(all) != 1 || all[0].Name == "" || all[0].Err != nil || all[0].Learner {
		t.Fatalf("got %+v, %v", all, err)
	}
	if err := CanRemove(all, all[0]); err == nil {
		t.Error("the last member may go")
	}
	if err := c.Remove(t.Context(), Member{ID: 1, Name: "nobody"}); err == nil || !strings.Contains(err.Error(), "member not found") {
		t.Errorf("etcd's own words are not in %v", err)
	}
	if err := c.Full(t.Context()); err != nil {
		t.Error(err)
	}
	c.alarm(t)
	if err := c.Full(t.Context()); err == nil || !strings.Contains(err.Error(), "NOSPACE") || !strings.Contains(advice.Of(err), "defrag") {
		t.Errorf("with an alarm: %v, advice %q", err, advice.Of(err))
	}
	ended, cancel := context.WithTimeout(t.Context(), memberLimit)
	defer cancel()
	if _, err := (&Client{URL: "http://127.0.0.1:1"}).Members(ended); err == nil || advice.Of(err) == "" {
		t.Errorf("without an answer: %v", err)
	}
	if err := well(t.Context(), nil, Member{Name: "a"}); err == nil {
		t.Error("a member that has never started is well")
	}
}
