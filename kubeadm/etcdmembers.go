package kubeadm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// Member is one of etcd's, as the one that was asked knows it.
type Member struct {
	ID      string   `json:"ID"`   // a number; JSON has such large ones as strings
	Name    string   `json:"name"` // its host's; "" until it has started for the first time
	Peers   []string `json:"peerURLs"`
	Clients []string `json:"clientURLs"`
	Learner bool     `json:"isLearner"` // it has no vote yet

	Err error `json:"-"` // why it does not answer, or is not well; nil when it is
}

// Called is what to call the member: its name, else where it is to be.
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

// memberAnswers is how long a member may take to say how it is: one that is away
// says nothing, and there may be seven.
const memberAnswers = 5 * time.Second

// Members asks for all members, and each of them how it is. Without a quorum
// there is no list, only an error.
func (e *EtcdMember) Members(ctx context.Context) ([]Member, error) {
	var list struct{ Members []Member }
	if err := e.ask(ctx, "/v3/cluster/member/list", map[string]any{"linearizable": true}, &list); err != nil {
		return nil, &Failure{What: "ask etcd for its members", Err: err, Next: "does a majority of the control-plane hosts run? crictl ps -a --name etcd on each"}
	}
	var all sync.WaitGroup
	for i := range list.Members {
		all.Go(func() { list.Members[i].Err = e.well(ctx, list.Members[i]) })
	}
	all.Wait()
	slices.SortFunc(list.Members, func(a, b Member) int { return strings.Compare(a.Name, b.Name) })
	return list.Members, ctx.Err()
}

// well asks another member, by the way that it gives to clients.
func (e *EtcdMember) well(ctx context.Context, m Member) error {
	if len(m.Clients) == 0 {
		return errors.New("it has never started")
	}
	ctx, cancel := context.WithTimeout(ctx, memberAnswers)
	defer cancel()
	var status struct {
		Leader string
		Errors []string
	}
	other := &EtcdMember{Client: e.Client, URL: m.Clients[0]}
	if err := other.ask(ctx, "/v3/maintenance/status", struct{}{}, &status); err != nil {
		return err
	}
	if status.Leader == "" || status.Leader == "0" {
		return errors.New("it knows of no leader")
	}
	return nil
}

// Remove takes a member out, for good: its data is of no use any more.
func (e *EtcdMember) Remove(ctx context.Context, m Member) error {
	if err := e.ask(ctx, "/v3/cluster/member/remove", map[string]any{"ID": m.ID}, nil); err != nil {
		return fmt.Errorf("remove the member %s from etcd: %w", m.Called(), err)
	}
	return nil
}

// noSpace is the alarm of a database that has reached its quota.
const noSpace = "NOSPACE"

// Full is an error when a member has given the alarm that its database is as
// large as it may be: then etcd takes no writes until somebody makes room.
func (e *EtcdMember) Full(ctx context.Context) error {
	var answer struct {
		Alarms []struct{ Alarm string }
	}
	if err := e.ask(ctx, "/v3/maintenance/alarm", map[string]any{"action": "GET"}, &answer); err != nil {
		return fmt.Errorf("ask etcd for its alarms: %w", err)
	}
	for _, a := range answer.Alarms {
		if a.Alarm == noSpace {
			return &Failure{What: "change the cluster", Err: errors.New("etcd is full: it has given the alarm " + noSpace + " and takes no writes"), Next: fullNext}
		}
	}
	return nil
}

const fullNext = "find out what is stored so often, delete it, then compact, defrag on each host, and alarm disarm, by etcdctl, which is in the pod: airgap docs etcd has its line; airgap verify tells how large it is"

// ask posts a question to the JSON gateway and reads the answer, unless into is nil.
func (e *EtcdMember) ask(ctx context.Context, path string, question, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answers)
	defer cancel()
	text, err := json.Marshal(question)
	if err != nil {
		return err
	}
	body, err := e.post(ctx, path, text)
	if err != nil {
		return err
	}
	defer body.Close()
	answer, err := io.ReadAll(io.LimitReader(body, 1<<20))
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}
