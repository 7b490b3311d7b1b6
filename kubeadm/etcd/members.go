package etcd

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"airgap.dev/airgap/internal/advice"
)

// Member is one of etcd's, as the member that was asked knows it.
type Member struct {
	ID      uint64
	Name    string // of its host; "" until it has started for the first time
	Peers   []string
	Clients []string
	Learner bool // it has no vote yet

	Err error // why it does not answer, or is not well; nil when it is
}

// Called returns the member's name, else its planned address.
func (m Member) Called() string {
	if m.Name != "" {
		return m.Name
	}
	return "at " + strings.Join(m.Peers, ", ") + ", which has never started"
}

// Of reports whether it is the member of the host with that name or address.
// One that has never started has no name.
func (m Member) Of(name, address string) bool {
	return name != "" && m.Name == name || slices.ContainsFunc(m.Peers, func(peer string) bool {
		at, err := url.Parse(peer)
		return err == nil && at.Hostname() == address
	})
}

// memberLimit is how long a member may take to say how it is: one that is away
// says nothing, and there may be seven.
const memberLimit = 5 * time.Second

// Members asks for all members, and each of them how it is. Without a quorum
// there is no list, only an error.
func (c *Client) Members(ctx context.Context) ([]Member, error) {
	var all []Member
	err := c.ask(ctx, func(ctx context.Context, client *clientv3.Client) error {
		list, err := client.MemberList(ctx)
		if err != nil {
			return err
		}
		all = make([]Member, len(list.Members))
		var asked sync.WaitGroup
		for i, m := range list.Members {
			all[i] = Member{ID: m.ID, Name: m.Name, Peers: m.PeerURLs, Clients: m.ClientURLs, Learner: m.IsLearner}
			asked.Go(func() { all[i].Err = well(ctx, client, all[i]) })
		}
		asked.Wait()
		return nil
	})
	if err != nil {
		err = fmt.Errorf("ask etcd for its members: %w", err)
		return nil, advice.Add(err, "does a majority of the control-plane hosts run? crictl ps -a --name etcd on each")
	}
	slices.SortFunc(all, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return all, ctx.Err()
}

// well asks another member, by the way that it gives to clients.
func well(ctx context.Context, client *clientv3.Client, m Member) error {
	if len(m.Clients) == 0 {
		return errors.New("it has never started")
	}
	ctx, cancel := context.WithTimeout(ctx, memberLimit)
	defer cancel()
	status, err := client.Status(ctx, m.Clients[0])
	if err != nil {
		return plain(err)
	}
	if status.Leader == 0 {
		return errors.New("it knows of no leader")
	}
	return nil
}

// Remove removes a member permanently: its data cannot be used again.
func (c *Client) Remove(ctx context.Context, m Member) error {
	err := c.ask(ctx, func(ctx context.Context, client *clientv3.Client) error {
		_, err := client.MemberRemove(ctx, m.ID)
		return err
	})
	if err != nil {
		return fmt.Errorf("remove the member %s from etcd: %w", m.Called(), err)
	}
	return nil
}

// Full returns an error if a member has raised the NOSPACE alarm: then etcd accepts no
// writes until the operator frees space.
func (c *Client) Full(ctx context.Context) error {
	var full bool
	err := c.ask(ctx, func(ctx context.Context, client *clientv3.Client) error {
		answer, err := client.AlarmList(ctx)
		if err == nil {
			full = slices.ContainsFunc(answer.Alarms, func(a *pb.AlarmMember) bool { return a.Alarm == pb.AlarmType_NOSPACE })
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("ask etcd for its alarms: %w", err)
	}
	if full {
		return advice.Add(errors.New("change the cluster: etcd is full: it has given the alarm NOSPACE and takes no writes"), "%s", MakeRoom)
	}
	return nil
}

// MakeRoom is the hint for a full etcd.
const MakeRoom = "find the objects that are written most often and delete them; then run etcdctl compact, defrag on each host, and alarm disarm. etcdctl is in the etcd pod: airgap docs etcd has the command; airgap verify reports the size"
