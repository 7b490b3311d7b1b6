package nodereport

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"airgap.dev/airgap/internal/httpclient"
)

// EtcdHealth is the health URL that kubeadm configures for etcd. It needs no credentials.
const EtcdHealth = "http://127.0.0.1:2381/health"

// HasMembers reports whether the member returned a member list.
func (e *Etcd) HasMembers() bool { return len(e.Members)+len(e.Unstarted) > 0 }

// EtcdHealthError returns the reason that etcd's health URL gives, or "" if etcd is healthy.
func EtcdHealthError(ctx context.Context, url string) string {
	body, err := get(ctx, httpclient.New(&http.Transport{DisableKeepAlives: true}), url)
	var answer struct{ Health, Reason string }
	if json.Unmarshal(body, &answer) == nil {
		if answer.Health == "true" {
			return ""
		}
		return "it is not healthy: " + answer.Reason
	}
	if err == nil {
		err = errors.New("the answer is not JSON")
	}
	return fmt.Sprintf("read its health: %v", err)
}
