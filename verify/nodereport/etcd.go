package nodereport

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// EtcdMember is how to ask the member of this host.
type EtcdMember struct {
	URL               string // of its API
	Health            string // URL that says how it is
	CAFile            string
	CertFile, KeyFile string // that it admits
}

// LocalEtcd is the member that kubeadm sets up, asked with the certificate that
// kubeadm makes for such questions.
func LocalEtcd() EtcdMember {
	const pki = "/etc/kubernetes/pki/etcd"
	return EtcdMember{
		URL: "https://127.0.0.1:2379", Health: "http://127.0.0.1:2381/health",
		CAFile: pki + "/ca.crt", CertFile: pki + "/healthcheck-client.crt", KeyFile: pki + "/healthcheck-client.key",
	}
}

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
		ID   string `json:"ID"`
		Name string `json:"name"`
	} `json:"members"`
}

// Ask asks what the member knows without asking the others, so that it answers
// without a quorum, and how it is. A member that does not answer is no error
// but one of its own.
func (m EtcdMember) Ask(ctx context.Context) (*Etcd, error) {
	client, err := m.client()
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	var status memberStatus
	var list memberList
	err = m.post(ctx, client, "/v3/maintenance/status", &status)
	if err == nil {
		err = m.post(ctx, client, "/v3/cluster/member/list", &list)
	}
	if err != nil {
		return &Etcd{Error: err.Error()}, nil
	}
	e := etcdOf(status, list)
	e.Error = m.unhealthy(ctx)
	return e, nil
}

func etcdOf(s memberStatus, l memberList) *Etcd {
	e := &Etcd{HasLeader: s.Leader != "" && s.Leader != "0", Leads: s.Leader == s.Header.MemberID, Bytes: s.Size, Quota: s.Quota}
	for _, m := range l.Members {
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
	slices.Sort(e.Alarms)
	e.Alarms = slices.Compact(e.Alarms) // each member has its own
	return e
}

// unhealthy is etcd's own reason, "" when it is healthy.
func (m EtcdMember) unhealthy(ctx context.Context) string {
	body, err := get(ctx, &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}, m.Health)
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

func (m EtcdMember) client() (*http.Client, error) {
	if m.CAFile == "" {
		return &http.Client{Transport: &http.Transport{}}, nil
	}
	trust, err := Upstream{CAFile: m.CAFile}.trust()
	if err != nil {
		return nil, err
	}
	pair, err := tls.LoadX509KeyPair(m.CertFile, m.KeyFile)
	if err != nil {
		return nil, fmt.Errorf("read the certificate for etcd: %w", err)
	}
	trust.Certificates = []tls.Certificate{pair}
	return &http.Client{Transport: &http.Transport{TLSClientConfig: trust}}, nil
}

func (m EtcdMember) post(ctx context.Context, client *http.Client, path string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, m.URL+path, strings.NewReader("{}"))
	if err != nil {
		return err
	}
	body, err := ask(client, request)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("read the answer to %s: %w", path, err)
	}
	return nil
}
