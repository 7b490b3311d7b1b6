package etcd

import (
	"context"
	"slices"
	"strings"
	"testing"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"airgap.dev/airgap/verify/apitest"
)

// alarm has the member say that its database is full.
func (c *Client) alarm(t *testing.T) {
	t.Helper()
	c.must(t, func(ctx context.Context, client *clientv3.Client) error {
		raise := &pb.AlarmRequest{Action: pb.AlarmRequest_ACTIVATE, Alarm: pb.AlarmType_NOSPACE}
		_, err := pb.NewMaintenanceClient(client.ActiveConnection()).Alarm(ctx, raise)
		return err
	})
}

func (c *Client) must(t *testing.T, ask func(context.Context, *clientv3.Client) error) {
	t.Helper()
	if err := c.ask(t.Context(), ask); err != nil {
		t.Fatal(err)
	}
}

// TestSelf asks a real member, before and after it has an alarm.
func TestSelf(t *testing.T) {
	c := &Client{URL: apitest.Start(t).Etcd()}
	got, err := c.Self(t.Context())
	if err != nil || got.Name != "default" || !got.HasLeader || !got.Leads || got.Bytes == 0 || got.Quota != 2<<30 || !slices.Equal(got.Members, []string{"default"}) || len(got.Alarms) > 0 {
		t.Errorf("got %+v, %v", got, err)
	}
	// A learner, as kubeadm adds it, leaves the others their quorum.
	c.must(t, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberAddAsLearner(ctx, []string{"http://127.0.0.1:2"})
		return err
	})
	if got, err = c.Self(t.Context()); err != nil || !slices.Equal(got.Members, []string{"default"}) || !slices.Equal(got.Unstarted, []string{"http://127.0.0.1:2"}) {
		t.Errorf("with a member that has never started: %+v, %v", got, err)
	}
	c.alarm(t)
	if got, err = c.Self(t.Context()); err != nil || !slices.Equal(got.Alarms, []string{"NOSPACE"}) {
		t.Errorf("with an alarm: %+v, %v", got, err)
	}
}

// TestNobodyThere: the error names the cause in a second, not after the limit.
func TestNobodyThere(t *testing.T) {
	if _, err := (&Client{URL: "http://127.0.0.1:1"}).Self(t.Context()); err == nil || !strings.Contains(err.Error(), "connection refused") {
		t.Errorf("got %v", err)
	}
}
