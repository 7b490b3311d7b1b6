package nodereport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"airgap.dev/airgap/internal/httpclient"
)

// EtcdMember is how to ask the member of this host.
type EtcdMember struct {
	Client *http.Client
	URL    string // of its API, which Client is admitted to
	Health string // URL that says how it is
}

// EtcdHealth is where kubeadm has etcd say how it is, to whoever asks.
const EtcdHealth = "http://127.0.0.1:2381/health"

// memberStatus and memberList are answers of etcd's JSON gateway (api/etcdserverpb/rpc.proto),
// which writes large numbers as strings.
type memberStatus struct {
	Header struct {
		MemberID string `json:"member_id"`
	} `json:"header"`
	Leader string   `json:"leader"` // "" or "0": none
	Size   int64    `json:"dbSize,string"`
	Quota  int64    `json:"dbSizeQuota,string"` // since 3.6
	Errors []string `json:"errors"`             // "memberID:1 alarm:NOSPACE ", "etcdserver: no leader"
}

type memberList struct {
	Members []struct {
		ID    string   `json:"ID"`
		Name  string   `json:"name"` // "" until it has started for the first time
		Peers []string `json:"peerURLs"`
	} `json:"members"`
}

// Ask asks what the member knows without asking the others, so that it answers
// without a quorum, and how it is.
func (m EtcdMember) Ask(ctx context.Context) *Etcd {
	defer m.Client.CloseIdleConnections()
	var status memberStatus
	var list memberList
	err := m.post(ctx, "/v3/maintenance/status", &status)
	if err == nil {
		err = m.post(ctx, "/v3/cluster/member/list", &list)
	}
	if err != nil {
		return &Etcd{Error: err.Error()}
	}
	e := etcdOf(status, list)
	e.Error = m.unhealthy(ctx)
	return e
}

// Answers reports whether the member said anything of itself.
func (e *Etcd) Answers() bool { return len(e.Members)+len(e.Unstarted) > 0 }

func etcdOf(s memberStatus, l memberList) *Etcd {
	e := &Etcd{HasLeader: s.Leader != "" && s.Leader != "0", Leads: s.Leader == s.Header.MemberID, Bytes: s.Size, Quota: s.Quota}
	for _, m := range l.Members {
		if m.Name == "" {
			e.Unstarted = append(e.Unstarted, strings.Join(m.Peers, ", "))
			continue
		}
		e.Members = append(e.Members, m.Name)
		if m.ID == s.Header.MemberID {
			e.Member = m.Name
		}
	}
	for _, text := range s.Errors {
		if _, alarm, is := strings.Cut(text, "alarm:"); is {
			e.Alarms = append(e.Alarms, strings.TrimSpace(alarm))
		}
	}
	slices.Sort(e.Members)
	slices.Sort(e.Unstarted)
	slices.Sort(e.Alarms)
	e.Alarms = slices.Compact(e.Alarms) // each member has its own
	return e
}

// unhealthy is etcd's own reason, "" when it is healthy.
func (m EtcdMember) unhealthy(ctx context.Context) string {
	body, err := get(ctx, httpclient.New(&http.Transport{DisableKeepAlives: true}), m.Health)
	var says struct{ Health, Reason string }
	if json.Unmarshal(body, &says) == nil {
		if says.Health == "true" {
			return ""
		}
		return "it is not healthy: " + says.Reason
	}
	if err == nil {
		err = errors.New("it answered something else")
	}
	return fmt.Sprintf("ask for its health: %v", err)
}

func (m EtcdMember) post(ctx context.Context, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	body, err := ask(m.Client, request)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}
