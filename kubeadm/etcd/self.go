package etcd

import (
	"context"
	"slices"
	"strings"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
)

// Self is how a member is, by its own word.
type Self struct {
	Name      string
	HasLeader bool
	Leads     bool
	Bytes     int64    // of its database
	Quota     int64    // bytes; 0: it does not say (before 3.6)
	Alarms    []string // of all members: "NOSPACE"
	Members   []string // names of those that have started
	Unstarted []string // where the others are to be
}

// Self returns the member's local state, which is available
// without a quorum.
func (c *Client) Self(ctx context.Context) (Self, error) {
	var self Self
	err := c.ask(ctx, func(ctx context.Context, client *clientv3.Client) error {
		status, err := client.Status(ctx, c.URL)
		if err != nil {
			return err
		}
		list, err := client.MemberList(ctx, clientv3.WithSerializable())
		if err == nil {
			self = selfOf(status, list.Members)
		}
		return err
	})
	return self, err
}

func selfOf(status *clientv3.StatusResponse, members []*pb.Member) Self {
	own := status.Header.MemberId
	s := Self{HasLeader: status.Leader != 0, Leads: status.Leader == own, Bytes: status.DbSize, Quota: status.DbSizeQuota}
	for _, m := range members {
		if m.Name == "" {
			s.Unstarted = append(s.Unstarted, strings.Join(m.PeerURLs, ", "))
			continue
		}
		s.Members = append(s.Members, m.Name)
		if m.ID == own {
			s.Name = m.Name
		}
	}
	for _, text := range status.Errors { // "memberID:1 alarm:NOSPACE ", "etcdserver: no leader"
		if _, alarm, is := strings.Cut(text, "alarm:"); is {
			s.Alarms = append(s.Alarms, strings.TrimSpace(alarm))
		}
	}
	slices.Sort(s.Members)
	slices.Sort(s.Unstarted)
	slices.Sort(s.Alarms)
	s.Alarms = slices.Compact(s.Alarms) // each member has its own
	return s
}
